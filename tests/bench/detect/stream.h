// Visits in, slices out, for made-up jobs of days: a slice is told, and forgotten, when every resource is
// beyond it. As the slicer does it (durations, visits ended, longest visits, open states), to the nanosecond.
//
// Cost: O(slices touched) a visit. Memory: the slices between the slowest resource and the fastest. Thread
// safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "margay/model/slice_column.h"

namespace margay::bench {

class Stream {
 public:
  using Each = std::function<void(const model::SliceColumn&)>;
  Stream(std::uint32_t leaves, std::uint32_t states, DurationNs slice, Each each);

  // The leaf is in this state (of the run's table) for so long, or until then (s), after what it did before.
  void spend(std::uint32_t leaf, std::uint16_t state, double seconds);
  void until(std::uint32_t leaf, std::uint16_t state, double t);
  // By its true clock, in seconds.
  double now(std::uint32_t leaf) const { return static_cast<double>(now_[leaf]) * 1e-9; }
  // The leaf's clock says so much more than the true one from now on, in seconds. Time never goes back: what
  // a clock that was put back says again is squeezed into nothing.
  void set_clock(std::uint32_t leaf, double offset) { offset_[leaf] = to_ns(offset); }
  // Tells the slices that all are beyond. To be called now and then.
  void tell();
  std::int64_t told() const { return first_; }

 private:
  static std::int64_t to_ns(double s) { return static_cast<std::int64_t>(s * 1e9); }
  model::SliceColumn& slice(std::int64_t k);

  std::uint32_t leaves_, states_;
  std::int64_t width_;
  Each each_;
  std::vector<std::int64_t> now_, offset_, shown_;  // shown: until when its clock has been told
  std::int64_t first_ = 0;
  std::deque<model::SliceColumn> open_;
};

}  // namespace margay::bench
