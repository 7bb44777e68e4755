// Waits that nobody gets away from: for a lock that is never let go, for a service that answers no more.
// Pure.
//
// Where work comes in requests and tasks others go on meanwhile, so that this is no standstill of the job
// (margay/detect/standstill.h), and each of them waits in but one visit, however long. A *hold-up* of a state
// that is no work is a run of slices in which somebody was in it all along and no visit to it ended. It is
// *news* after `least_slices` of them and twice the second longest before (margay/detect/habit.h), of several
// leaves, once the job has been seen for 20 slices. One that was told is no habit, but what lasts for
// `usual_slices` is over, and is.
//
// Cost per slice: O(leaves * columns). Memory: 16 numbers a column. Thread safety: none.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "margay/detect/habit.h"
#include "visits_seen.h"

namespace margay::detect {

class HoldUps {
 public:
  HoldUps(std::uint32_t least_slices, std::uint32_t usual_slices)
      : least_slices_(least_slices), usual_slices_(usual_slices) {}

  // The newest slice. `work`, by column: the states that are no waits.
  void on_slice(const VisitsSeen& seen, const std::vector<char>& work);
  // What follows is of a column that the newest slice had.
  std::size_t columns() const { return waits_.size(); }
  bool goes_on(std::size_t column) const {
    return waits_[column].slices > 0 && waits_[column].slices < usual_slices_;
  }
  bool is_news(std::size_t column) const;
  void tell(std::size_t column) { waits_[column].told = true; }
  // So many slices, the newest among them.
  std::uint32_t slices(std::size_t column) const { return waits_[column].slices; }
  // Leaves that have been in it for a slice or longer.
  const std::set<std::uint32_t>& held(std::size_t column) const { return waits_[column].held; }
  // The hold-up, in mean lengths of visits at other times.
  double times_as_long(std::size_t column) const;
  void forget() { waits_.clear(), known_ = 0; }

 private:
  struct Wait {
    std::uint32_t slices = 0;  // of the hold-up
    bool told = false;
    std::set<std::uint32_t> held;
    Habit before;
    double spent = 0, ended = 0;  // slices; visits: when nobody was held up
    struct {
      float spent = 0, ended = 0, oldest = 0;
    } now;  // the newest slice
  };
  void end_slice(Wait& w) const;
  std::uint32_t least_slices_, usual_slices_;
  std::size_t known_ = 0;  // slices
  std::vector<Wait> waits_;
};

}  // namespace margay::detect
