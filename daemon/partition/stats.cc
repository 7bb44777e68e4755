#include "margay/partition/stats.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace margay::partition {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr int kMaxTerms = 1'000'000;

bool domain(double a, double x) {
  return a > 0 && std::isfinite(a) && x >= 0;
}

// ln of x^a e^-x / Gamma(a).
double log_front(double a, double x) {
  return a * std::log(x) - x - log_gamma(a);
}

// ln P(a,x) by its series, for 0 < x < a+1.
double log_p_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < kMaxTerms && term > sum * kEps; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return log_front(a, x) + std::log(sum);
}

// ln Q(a,x) by its continued fraction, for x >= a+1.
double log_q_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / kTiny, d = 1 / b, h = d;
  for (int n = 1; n < kMaxTerms; ++n) {
    const double an = -n * (n - a);
    b += 2;
    d = an * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + an / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    h *= d * c;
    if (std::abs(d * c - 1) < kEps) break;
  }
  return log_front(a, x) + std::log(h);
}

// ln(1 - e^y) for y < 0.
double log_one_minus_exp(double y) {
  return y > -std::numbers::ln2 ? std::log(-std::expm1(y)) : std::log1p(-std::exp(y));
}

double log_gamma_p(double a, double x) {
  if (x == 0) return -kInf;
  return x < a + 1 ? log_p_series(a, x) : log_one_minus_exp(log_q_fraction(a, x));
}

// Finds x with f(x) = target for a monotone f by doubling and halving: slow, and it cannot fail.
template <class F>
double solve(F f, double target, bool rising, double start) {
  const auto below = [&](double x) { return rising ? f(x) < target : f(x) > target; };
  double lo = 0, hi = start;
  while (below(hi)) {
    lo = hi;
    hi *= 2;
    if (!std::isfinite(hi)) return kInf;
  }
  for (int step = 0; step < 1100 && hi - lo > 4 * kEps * hi; ++step) {
    const double mid = lo + (hi - lo) / 2;
    if (mid <= lo || mid >= hi) break;
    (below(mid) ? lo : hi) = mid;
  }
  return lo + (hi - lo) / 2;
}

}  // namespace

double log_gamma(double a) {
  if (!(a > 0)) return kNan;
  constexpr std::array<double, 9> kCoefficients = {
      0.99999999999980993,  676.5203681218851,     -1259.1392167224028,
      771.32342877765313,   -176.61502916214059,   12.507343278686905,
      -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7};
  if (a < 0.5) {  // reflection
    return std::log(std::numbers::pi / std::sin(std::numbers::pi * a)) - log_gamma(1 - a);
  }
  const double z = a - 1;
  double sum = kCoefficients[0];
  for (std::size_t i = 1; i < kCoefficients.size(); ++i)
    sum += kCoefficients[i] / (z + static_cast<double>(i));
  const double t = z + 7.5;
  return 0.5 * std::log(2 * std::numbers::pi) + (z + 0.5) * std::log(t) - t + std::log(sum);
}

double gamma_p(double a, double x) {
  if (!domain(a, x)) return kNan;
  return std::isinf(x) ? 1 : std::exp(log_gamma_p(a, x));
}

double log_gamma_q(double a, double x) {
  if (!domain(a, x)) return kNan;
  if (x == 0) return 0;
  if (std::isinf(x)) return -kInf;
  return x < a + 1 ? log_one_minus_exp(log_p_series(a, x)) : log_q_fraction(a, x);
}

double gamma_q(double a, double x) {
  return std::exp(log_gamma_q(a, x));
}

double chi2_cdf(double x, double k) {
  return gamma_p(k / 2, x / 2);
}
double chi2_survival(double x, double k) {
  return gamma_q(k / 2, x / 2);
}
double chi2_log_survival(double x, double k) {
  return log_gamma_q(k / 2, x / 2);
}

double chi2_quantile(double probability, double k) {
  if (!(probability >= 0 && probability <= 1) || !domain(k, 0)) return kNan;
  if (probability == 0) return 0;
  if (probability > 0.5) return chi2_upper_quantile(1 - probability, k);
  return solve([k](double x) { return log_gamma_p(k / 2, x / 2); }, std::log(probability), true, k);
}

double chi2_upper_quantile(double tail, double k) {
  if (!(tail >= 0 && tail <= 1) || !domain(k, 0)) return kNan;
  if (tail == 0) return kInf;
  if (tail > 0.5) return chi2_quantile(1 - tail, k);
  return solve([k](double x) { return log_gamma_q(k / 2, x / 2); }, std::log(tail), false, k);
}

}  // namespace margay::partition
