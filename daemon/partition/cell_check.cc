#include "cell_check.h"

#include <algorithm>
#include <string>

namespace margay::partition::internal {
namespace {

std::string place(std::size_t leaf, std::int64_t slice) {
  return "leaf " + std::to_string(leaf) + ", slice " + std::to_string(slice);
}

// nullptr if x is a proper weight or proportion.
const char* what_is_wrong(double x) {
  if (std::isnan(x)) return "is not a number";
  if (std::isinf(x)) return "is infinite";
  if (x < 0) return "is negative";
  return nullptr;
}

}  // namespace

Status check_p(double p) {
  if (!(p >= 0 && p <= 1)) {
    return fail(ErrorCode::kInvalidArgument, "partition: p is " + std::to_string(p) + ", not in [0, 1]");
  }
  return {};
}

Status check_options(std::size_t states, std::size_t window, std::span<const double> p,
                     std::optional<double> tie_bits) {
  if (states == 0 || states > kMaxStates) {
    return fail(ErrorCode::kInvalidArgument,
                "partition: " + std::to_string(states) + " states, not 1 to " + std::to_string(kMaxStates));
  }
  if (window == 0 || window > kMaxWindow) {
    return fail(ErrorCode::kInvalidArgument, "partition: window of " + std::to_string(window) +
                                                 " slices, not 1 to " + std::to_string(kMaxWindow));
  }
  if (p.empty() || p.size() > kMaxP) {
    return fail(ErrorCode::kInvalidArgument,
                "partition: " + std::to_string(p.size()) + " values of p, not 1 to " + std::to_string(kMaxP));
  }
  for (const double value : p) {
    if (auto ok = check_p(value); !ok) return ok;
  }
  if (tie_bits && what_is_wrong(*tie_bits) != nullptr) {
    return fail(ErrorCode::kInvalidArgument, std::string("partition: tie_bits ") + what_is_wrong(*tie_bits));
  }
  return {};
}

Status check_budget(std::uint64_t need, std::uint64_t budget) {
  if (need <= budget) return {};
  return fail(ErrorCode::kLimit, "partition: the tables need " + std::to_string(need) +
                                     " bytes, the memory budget is " + std::to_string(budget) + " bytes");
}

Status check_cell(std::span<const double> v, double w, std::size_t leaf, std::int64_t slice) {
  // Most cells are fine: what is wrong is looked for only where something is. (No comparison with NaN holds.)
  bool fine = w >= 0 && w <= 1 + kSumTolerance;
  double all = 0;
  for (const double x : v) {
    fine = fine && x >= 0;
    all += x;
  }
  if (fine && all <= w + kSumTolerance) return {};
  if (const char* wrong = what_is_wrong(w)) {
    return fail(ErrorCode::kInvalidArgument, "partition: " + place(leaf, slice) + ": weight " + wrong);
  }
  if (w > 1 + kSumTolerance) {
    return fail(ErrorCode::kInvalidArgument,
                "partition: " + place(leaf, slice) + ": weight " + std::to_string(w) + " is over 1");
  }
  double sum = 0;
  std::size_t largest = 0;
  for (std::size_t x = 0; x < v.size(); ++x) {
    if (const char* wrong = what_is_wrong(v[x])) {
      return fail(ErrorCode::kInvalidArgument,
                  "partition: " + place(leaf, slice) + ", state " + std::to_string(x) + ": value " + wrong);
    }
    sum += v[x];
    if (v[x] > v[largest]) largest = x;
  }
  if (sum > w + kSumTolerance) {
    return fail(ErrorCode::kInvalidArgument, "partition: " + place(leaf, slice) + ": the states sum to " +
                                                 std::to_string(sum) + ", over the weight " +
                                                 std::to_string(w) + " (largest: state " +
                                                 std::to_string(largest) + ")");
  }
  return {};
}

Status check_column(const Column& column, std::size_t leaves, std::size_t states, std::int64_t slice) {
  if (column.w.size() != leaves || column.v.size() != leaves * states) {
    return fail(ErrorCode::kInvalidArgument,
                "partition: slice " + std::to_string(slice) + ": " + std::to_string(column.w.size()) +
                    " weights and " + std::to_string(column.v.size()) + " values, expected " +
                    std::to_string(leaves) + " and " + std::to_string(leaves * states));
  }
  for (std::size_t s = 0; s < leaves; ++s) {
    if (auto ok = check_cell(column.v.subspan(s * states, states), column.w[s], s, slice); !ok) return ok;
  }
  return {};
}

Status check_weights(std::span<const double> leaf_weights, std::size_t leaves, double longest_slice) {
  if (!leaf_weights.empty() && leaf_weights.size() != leaves)
    return fail(ErrorCode::kInvalidArgument, "partition: " + std::to_string(leaf_weights.size()) +
                                                 " leaf weights for " + std::to_string(leaves) + " leaves");
  for (std::size_t s = 0; s < leaf_weights.size(); ++s)
    if (!(leaf_weights[s] > 0 && leaf_weights[s] <= kLargestFactor))
      return fail(ErrorCode::kInvalidArgument, "partition: leaf " + std::to_string(s) + ": leaf weight " +
                                                   std::to_string(leaf_weights[s]) +
                                                   " is not positive and at most " +
                                                   std::to_string(kLargestFactor));
  if (!(longest_slice > 0 && longest_slice <= kLargestFactor))
    return fail(ErrorCode::kInvalidArgument,
                "partition: the longest slice is " + std::to_string(longest_slice) +
                    ", not positive and at most " + std::to_string(kLargestFactor));
  return {};
}

Status check_duration(double duration, double longest, std::int64_t slice) {
  if (duration > 0 && duration <= longest * (1 + kSumTolerance)) return {};
  return fail(ErrorCode::kInvalidArgument, "partition: slice " + std::to_string(slice) + ": duration " +
                                               std::to_string(duration) + " is not positive and at most " +
                                               std::to_string(longest));
}

double default_tie(double n, std::size_t states) {
  n = std::max(n, 1.0);
  return std::ldexp(n * (1 + std::log2(n) + std::log2(static_cast<double>(states))), -38);
}

void sum_up(Partition& partition) {
  partition.loss = 0;
  partition.gain = 0;
  for (const Part& part : partition.parts) {
    partition.loss += part.loss;
    partition.gain += part.gain;
  }
  partition.pIC = partition.p * partition.gain - (1 - partition.p) * partition.loss;
}

}  // namespace margay::partition::internal
