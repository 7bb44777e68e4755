// What both engines check before they take anything: options, columns, cells. Private to the module.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "margay/base/result.h"
#include "margay/partition/partition.h"

namespace margay::partition::internal {

// x*log2(x), continued to 0.
inline double xlog2x(double x) {
  return x > 0 ? x * std::log2(x) : 0.0;
}

// I of one cell: sum_x v*log2(v/w).
inline double cell_information(std::span<const double> v, double w) {
  double sum = 0;
  for (const double x : v) {
    if (x > 0 && w > 0) sum += x * std::log2(x / w);
  }
  return sum;
}

inline constexpr std::size_t kMaxStates = 65536;
inline constexpr std::size_t kMaxWindow = 1u << 20;
inline constexpr std::size_t kMaxP = 64;
inline constexpr double kLargestFactor = 1e6;  // of leaf weights and durations

Status check_options(std::size_t states, std::size_t window, std::span<const double> p,
                     std::optional<double> tie_bits);
Status check_p(double p);
Status check_budget(std::uint64_t need, std::uint64_t budget);
// The cell (leaf, slice): every value finite and >= 0, w <= 1, sum_x v <= w, each to within kSumTolerance.
Status check_cell(std::span<const double> v, double w, std::size_t leaf, std::int64_t slice);
Status check_column(const Column& column, std::size_t leaves, std::size_t states, std::int64_t slice);

// Weights of leaves (empty: 1 each) and the longest slice: finite and positive.
Status check_weights(std::span<const double> leaf_weights, std::size_t leaves, double longest_slice);
Status check_duration(double duration, double longest, std::int64_t slice);

// The default price per aggregate (see TIE RULE in partition.h); n: leaves * slices, weighted.
double default_tie(double n, std::size_t states);
inline double cells_of(std::size_t leaves, std::size_t slices) {
  return static_cast<double>(leaves) * static_cast<double>(slices);
}
// What is equal to within this is decided by order of preference.
inline double tie_slack(double tie) {
  return tie / 16;
}

// A loss that is the difference of two large sums: what is left of nothing may be just beside 0.
inline double real_loss(double difference, double tie) {
  return difference > tie_slack(tie) ? difference : 0.0;
}

// Sets loss and gain of the whole, and pIC, from the parts.
void sum_up(Partition& partition);

// a*b and a+b that stop at 2^64-1.
inline std::uint64_t sat_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t r = 0;
  return __builtin_mul_overflow(a, b, &r) ? ~std::uint64_t{0} : r;
}
inline std::uint64_t sat_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t r = 0;
  return __builtin_add_overflow(a, b, &r) ? ~std::uint64_t{0} : r;
}

}  // namespace margay::partition::internal
