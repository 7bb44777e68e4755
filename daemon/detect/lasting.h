// Episodes that have gone on for so long that they have been taken for usual: what comes on top of them is
// looked for again. Pure.
//
// Such a one is over when those that departed do as they did before it, all at once, or are gone. Cost per
// slice: O(leaves of them * cells). Thread safety: none.
#pragma once

#include <set>
#include <vector>

#include "contrast.h"
#include "episode.h"

namespace margay::detect {

struct Lasting : Episode {
  std::set<std::uint32_t> depart;    // leaves that go the way: those that are blamed, or who wait for them
  std::vector<float> way;            // cells (contrast.h)
  std::uint32_t back = 0, gone = 0;  // slices in a row
  float way_back = 0;                // gone in them, each as a share of the whole
};

class LastingEpisodes {
 public:
  static constexpr std::size_t kMost = 16;

  // Oldest first; `over` are those that the newest slice has ended.
  const std::vector<Lasting>& all() const { return all_; }
  void forget_over() {
    std::erase_if(all_, [](const Lasting& l) { return l.over; });
  }
  // The oldest is over where there are too many.
  void add(const Episode& episode, const std::set<std::uint32_t>& depart, const std::vector<float>& way);
  // Looks whether leaves do as before; true if any does. Those whose leaves came back are over after
  // `back_slices`.
  bool look(const Contrast& contrast, SliceIndex now, std::uint32_t back_slices);
  // Leaves that do less of it than has become usual.
  const std::set<std::uint32_t>& returning() const { return returning_; }
  // Of the newest slice: leaves that have come back for good, and are learned anew.
  const std::set<std::uint32_t>& returned() const { return returned_; }
  bool any_over() const {
    return std::any_of(all_.begin(), all_.end(), [](const Lasting& l) { return l.over; });
  }
  void widen(std::size_t before, std::size_t columns);

 private:
  std::vector<Lasting> all_;
  std::set<std::uint32_t> returning_, returned_;
};

}  // namespace margay::detect
