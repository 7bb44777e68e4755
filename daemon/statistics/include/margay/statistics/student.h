// Student's t distribution, for limits and intervals that rest on few observations. Pure. Cost: some dozen
// terms of a continued fraction; of the quantile, a hundred times that.
//
// Source: the regularised incomplete beta function by its continued fraction (Abramowitz and Stegun, 26.5.8),
// evaluated by Lentz's method; P(T > t) = I_x(df / 2, 1 / 2) / 2 with x = df / (df + t^2) for t >= 0.
#pragma once

namespace margay::statistics {

// P(T > t), df > 0. Relative error below 1e-9 for df of 1 to 1000 and probabilities above 1e-12.
double student_survival(double t, double df);
// The t with P(T > t) = `survival`, which is in (0, 1); |t| at most 1e8.
double student_quantile(double survival, double df);

}  // namespace margay::statistics
