// What a coupled job does, and how much of its time goes into work while it does that. Pure.
//
// What a program does shows in how often it does what (same_visits(), distribution.h) and in how long its
// work takes: an *activity*, of all leaves together. How long ranks wait for each other is no part of it, so
// that an activity which is disturbed is still the same.
//
// Cost: of a slice O(leaves * columns). Memory: 4 bytes a leaf and column. Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "contrast.h"
#include "grid.h"
#include "margay/model/slice_column.h"
#include "state_kind.h"

namespace margay::detect {

// Of slices that follow each other.
struct JobSlices {
  // By column: visits that ended, but for polls, and their time, in slices.
  std::vector<double> visits, lengths;
  std::vector<double> spent;           // by column: time of all leaves
  double work = 0;                     // of it, in states that are work
  double leaves = 0, most_leaves = 0;  // leaf-slices; leaves of a slice, the most
  double denied = 0;                   // time in which they were ready to run, and were not let
  // A slice, that `seen` is of.
  static JobSlices of(const model::SliceColumn& slice, const VisitsSeen& seen, const Columns& columns);
  void add(const JobSlices& other);
  void fade(double keep);
  // Of all visits, those to work.
  double visits_to_work(const Columns& columns) const;
  // Enough of it is seen to tell what it is.
  bool tell(const Columns& columns) const;
  double work_share() const { return leaves > 0 ? work / leaves : 0; }
};

class JobActivity {
 public:
  // Numbers of slices over which it is known how much of the time is work.
  static constexpr std::array<std::size_t, 4> kSpans = {1, 2, 4, 8};

  // These slices are the first of it that are known.
  explicit JobActivity(const JobSlices& first) : slices_(first) {}
  // Is this what the job does in these slices?
  bool is(const JobSlices& slices, const Columns& columns) const;
  // Of slices that are as many as the span: how improbable it is that so little is work, in nats, and the
  // share of the usual work that is missing; and what is usual, a share of the time. 0 while little is known.
  struct Less {
    double nats = 0, missing = 0, usual = 0;
  };
  Less less_work(std::size_t span, const JobSlices& slices) const;
  // The share of the visits to work that is missing among all visits: of other calls there are more then.
  double fewer_work(const JobSlices& slices, const Columns& columns) const;
  // The share of the time that goes into what is no part of it: states, but polls, no visit to which has
  // ended in it.
  double elsewhere(const JobSlices& slices, const Columns& columns) const;
  // The newest slice is a usual one of it.
  void learn(const JobSlices& newest, const VisitsSeen& seen, const Columns& columns);
  // The newest slices, as many as the span, are usual ones of it.
  void learn(std::size_t span, const JobSlices& slices);
  // The mean share of time that a leaf is in a state.
  float share(std::size_t leaf, std::size_t column) const {
    return leaf < share_.rows() && column < share_.columns() ? share_[leaf][column] : 0.0f;
  }

 private:
  // How far work takes otherwise: mean logarithm.
  double apart(const JobSlices& slices, const Columns& columns) const;
  // Logarithms of the share of time that is work.
  struct Usual {
    double n = 0, mean = 0, square = 0;
  };
  JobSlices slices_;  // forgets
  double learned_ = 0, usually_apart_ = Contrast::kNear;
  Grid share_;
  std::array<Usual, kSpans.size()> usual_;
};

}  // namespace margay::detect
