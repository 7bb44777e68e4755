// The standard normal distribution. Pure. Cost: O(1).
//
// Source: rational approximations in three parts (Acklam, An algorithm for computing the inverse normal
// cumulative distribution function, 2003). Relative error below 1.2e-9.
#pragma once

namespace margay::statistics {

// The z with P(Z > z) = `survival`, which is taken within 1e-9 and 1 - 1e-9.
double normal_quantile(double survival);

}  // namespace margay::statistics
