// Which processes are stopped (SIGSTOP, a debugger, a tool that limits their CPU), as the node's sampler has
// seen it, and whose stop is news. Pure: the same slices give the same answers.
//
// A stop is a fact of one process, and needs no history. It is *whole* after `whole_slices` slices; stops
// that begin within `same_cause_slices` have one cause. Samples and slices have periods of their own: a slice
// without a sample says what the last one said, for a second at most.
//
// Cost per slice: O(leaves), and of the stopped ones O(n log n). Memory: 150 bytes a leaf. Thread safety:
// none.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "margay/model/slice_column.h"

namespace margay::detect {

class Stops {
 public:
  // Slices in which a stop that comes back is the one before.
  static constexpr std::uint32_t kAgainSlices = 10;

  struct Options {
    DurationNs slice{};
    std::uint32_t whole_slices{};       // until it is news
    std::uint32_t same_cause_slices{};  // that begin within so many of each other
  };
  explicit Stops(Options options) : options_(options) {}

  // The newest slice. All that follows is of it, but where it says otherwise.
  void on_slice(const model::SliceColumn& column);

  // The sampler's last word on the leaf's process. `leaf`: one of the newest slice's.
  const model::NodeEvidence& sampled(std::uint32_t leaf) const { return sampled_[leaf].last; }
  // Leaves whose stop is whole.
  const std::set<std::uint32_t>& whole() const { return whole_; }
  // Some process was stopped at the end of the slice; and of the one before.
  bool some() const { return some_; }
  bool some_before() const { return some_before_; }
  // Who is stopped at the end of the slice, and since when: of that, the time since its last event.
  struct Stopped {
    std::uint32_t leaf = 0;
    TimeNs since{};
  };
  const std::vector<Stopped>& stopped() const { return stopped_; }

  // Whole stops of leaves that `known` does not know of, those with one cause together, the earliest first.
  // With them goes who has stopped at that time, if for less than a whole slice.
  struct News {
    TimeNs onset{};
    std::set<std::uint32_t> leaves;
  };
  std::vector<News> news(SliceIndex slice, const std::function<bool(std::uint32_t leaf)>& known) const;
  // Is a stop that was news not over? Once its leaves are `back`, in a slice before, who is stopped for a
  // good part of the slice is not.
  bool goes_on(const model::SliceColumn& column, const std::set<std::uint32_t>& leaves, bool back) const;
  // The stop of these, which was news, is over with the slice.
  void let_go(const std::set<std::uint32_t>& leaves, SliceIndex slice);
  // One of these was let go within the last kAgainSlices: as limiters of CPU do, again and again.
  bool again(const std::set<std::uint32_t>& leaves, SliceIndex slice) const;

 private:
  struct Sampled {
    model::NodeEvidence last;
    SliceIndex at{};  // in which it was said
  };
  void sample(const model::SliceColumn& column);
  void look_for_stopped(const model::SliceColumn& column);
  bool is_whole(const Stopped& stopped, SliceIndex slice) const;

  Options options_;
  std::vector<Sampled> sampled_;  // by leaf
  std::vector<Stopped> stopped_;  // by leaf
  std::set<std::uint32_t> whole_;
  std::set<std::uint32_t> still_;  // also for less, where the leaf has done nothing since
  bool some_ = false, some_before_ = false;
  std::vector<SliceIndex> let_go_;  // by leaf: when its last stop that was news was over; -1 for none
};

}  // namespace margay::detect
