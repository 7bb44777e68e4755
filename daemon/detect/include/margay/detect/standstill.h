// Does the job get on? It does as long as visits end. Pure: the same slices give the same answers.
//
// A *standstill* is a run of slices in which no visit to any state has ended, where of the phase's slices no
// more than one in twenty had few that did. It is *news* after `slices` of them, while somebody is in a state
// that is not Compute; not before it lasts twice as long as the job has stood still before (the second
// longest of the last 16 times, habit.h), and four times that where nobody waits for another: all have much
// to do, as when they write a checkpoint, or storage hangs.
//
// Cost per slice: O(leaves * states) for those that end, memory 600 numbers. Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <set>

#include "margay/detect/habit.h"
#include "margay/detect/topology.h"
#include "margay/model/slice_column.h"

namespace margay::detect {

class Standstill {
 public:
  struct Options {
    DurationNs slice{};
    std::uint32_t slices = 3;         // whole ones without progress
    std::uint32_t least_visits = 10;  // that end in a slice of the phase
  };
  explicit Standstill(Options options) : options_(options) {}

  // The newest slice. `explained`: a stopped process is why nobody gets on, which is no habit of the job.
  void on_slice(const model::SliceColumn& column, const Topology& topology,
                const std::set<std::uint16_t>& idle, bool explained);
  // The newest slice is in order, and of the phase that goes on: how much progress is usual.
  void learn();
  void begin_phase() { usual_.clear(); }

  // Slices without progress, the newest among them; 0 where it has some.
  std::uint32_t slices() const { return slices_; }
  // Enough has been seen to say that slices of this phase have visits that end.
  bool is_unusual() const;
  // It lasts for longer than a standstill of this kind may.
  bool too_long() const { return slices_ > patience_; }
  bool is_news() const { return slices_ >= patience_ && somebody_waits_ && is_unusual(); }

 private:
  Options options_;
  std::deque<std::uint64_t> usual_;  // visits ended, of slices in order
  std::uint64_t ended_ = 0;          // of the newest slice
  Habit before_;                     // standstills
  std::uint32_t slices_ = 0, patience_ = 0;
  bool somebody_waits_ = false;
};

}  // namespace margay::detect
