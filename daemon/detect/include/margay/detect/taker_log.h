// Who had the CPU while leaves were not let on it, over the last slices. Pure.
//
// Cost: O(takers) a slice, none where nobody was told. Memory: kKept slices of kMostTakers at most. Thread
// safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "margay/alert/alert.h"
#include "margay/detect/topology.h"
#include "margay/model/slice_column.h"

namespace margay::detect {

class TakerLog {
 public:
  static constexpr std::int64_t kKept = 64;    // slices
  static constexpr std::size_t kMostTold = 4;  // in an alert
  static constexpr double kLeastShare = 0.05;  // of a CPU
  // A slice, in order.
  void on_slice(const model::SliceColumn& column);
  // Who had the CPU instead of these leaves since `from`: first who is not of the job, the most first; each
  // once, beside the leaf from which it took most. Empty where nobody was told.
  std::vector<alert::Taker> most(const std::set<std::uint32_t>& leaves, SliceIndex from,
                                 const Topology& topology) const;

 private:
  std::deque<std::pair<SliceIndex, std::vector<model::Taker>>> slices_;
};

// "python3 (pid 4242, not of this job) takes 92 % of CPU 1".
std::string told(const alert::Taker& taker);

}  // namespace margay::detect
