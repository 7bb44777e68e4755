#include "margay/statistics/student.h"

#include <algorithm>
#include <cmath>

namespace margay::statistics {
namespace {

constexpr double kTiny = 1e-300;
constexpr int kMostTerms = 500;
constexpr double kPrecision = 1e-15;

double continued_fraction(double a, double b, double x) {
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  if (std::abs(d) < kTiny) d = kTiny;
  d = 1 / d;
  double value = d;
  const auto step = [&](double term) {
    d = 1 + term * d;
    if (std::abs(d) < kTiny) d = kTiny;
    c = 1 + term / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    value *= d * c;
    return d * c;
  };
  for (int m = 1; m <= kMostTerms; ++m) {
    const double n = m;
    step(n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n)));
    const double last = step(-(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1)));
    if (std::abs(last - 1) < kPrecision) break;
  }
  return value;
}

// I_x(a, b), of which 1 - x is given as well, for it may be small.
double incomplete_beta(double a, double b, double x, double rest) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
  if (x < (a + 1) / (a + b + 2)) return front * continued_fraction(a, b, x) / a;
  return 1 - front * continued_fraction(b, a, rest) / b;
}

}  // namespace

double student_survival(double t, double df) {
  const double sum = df + t * t;
  const double tail = 0.5 * incomplete_beta(df / 2, 0.5, df / sum, t * t / sum);
  return t >= 0 ? tail : 1 - tail;
}

double student_quantile(double survival, double df) {
  // Over asinh t, so that far tails take no more steps than the middle.
  double low = -std::asinh(1e8), high = -low;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (student_survival(std::sinh(middle), df) > survival ? low : high) = middle;
  }
  return std::sinh((low + high) / 2);
}

}  // namespace margay::statistics
