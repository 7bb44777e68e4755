// The chi-square distribution, for p-values and noise floors. Pure functions of their arguments.
//
// The regularised incomplete gamma functions P(a,x) + Q(a,x) = 1 are summed as a power series for x < a+1 and
// as Legendre's continued fraction (modified Lentz) above (Abramowitz and Stegun 6.5.29, 6.5.31), with ln
// Gamma by Lanczos' approximation (g = 7, 9 terms). Both are computed as logarithms, so that a tail of 1e-300
// or far less keeps its digits. Relative accuracy of P, Q about 1e-12 for a up to 1e5; quantiles to 1e-11.
//
// Arguments: degrees of freedom k > 0, statistics x >= 0, probabilities in [0,1]. Anything else gives NaN.
// Thread safety: yes (no lgamma(), which writes a global). Cost: O(sqrt(k)) terms; a quantile some 100 times
// that.
#pragma once

namespace margay::partition {

// ln Gamma(a) for a > 0.
double log_gamma(double a);
// The regularised lower and upper incomplete gamma functions and the logarithm of the upper.
double gamma_p(double a, double x);
double gamma_q(double a, double x);
double log_gamma_q(double a, double x);

// P(chi-square with k degrees of freedom <= x), > x, and ln of the latter.
double chi2_cdf(double x, double k);
double chi2_survival(double x, double k);
double chi2_log_survival(double x, double k);
// The x with chi2_cdf(x, k) = probability; infinity for 1. For small tails use the next one: 1 - 1e-20 is 1.
double chi2_quantile(double probability, double k);
// The x with chi2_survival(x, k) = tail; infinity for 0.
double chi2_upper_quantile(double tail, double k);

}  // namespace margay::partition
