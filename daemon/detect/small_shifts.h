// Small shifts that last: leaves and nodes of a coupled job whose work takes a few hundredths longer than
// ever before, and than their peers' does. Pure.
//
// How much longer visits of work take than usual (work_lengths.h) is compared among peers, which are the
// items of the same depth below the nearest node that holds four of them or more: what most of them show is
// nobody's. The rest is summed up in blocks of slices (shift_sums.h). Evidence beyond the limit of its depth
// and scale (statistics/tail_limit.h), of a shift that makes work take a tenth of `min_effect` longer at
// least, begins an episode. Blamed are the items of that depth that show half of the evidence and half of the
// shift. What begins beside an episode that goes on, within the doubt of either onset, is of the same cause.
// It is over when as much evidence says so as half of its limit. Nothing is learned of leaves that are
// blamed, nor how much those vary that are nearly.
//
// Cost per slice: O(leaves * columns), and every eight slices that of ShiftSums. Thread safety: none.
#pragma once

#include <set>
#include <vector>

#include "contrast.h"
#include "episode.h"
#include "margay/statistics/tail_limit.h"
#include "node_items.h"
#include "node_means.h"
#include "shift_sums.h"
#include "work_lengths.h"

namespace margay::detect {

class SmallShifts {
 public:
  struct Options {
    DurationNs slice{};
    double min_effect{};            // share of the time
    double false_alarms_per_day{};  // of all other departures; these have a tenth of it
  };
  explicit SmallShifts(Options options) : options_(options) {}

  // Items from `keep` on are new ones.
  void set_items(const NodeItems& items, std::size_t keep);
  // What a slice shows, that `contrast` has measured, of a job that does what it usually does.
  struct Look {
    const Contrast& contrast;
    const NodeItems& items;
    const Columns& columns;
    SliceIndex now{};
    const std::set<std::uint32_t>& explained;  // leaves of which nothing is tested
  };
  void on_slice(const Look& look);
  // These leaves are blamed for something else.
  void restart(const NodeItems& items, const std::set<std::uint32_t>& leaves);
  // What is usual of these leaves has become another: it is learned anew.
  void forget(const NodeItems& items, const std::set<std::uint32_t>& leaves);
  // Those that are going on, and those that the newest slice has ended.
  const std::vector<Episode>& episodes() const { return episodes_; }
  void drop_over();

 private:
  // Where an episode was seen, and its evidence since.
  struct Course {
    std::vector<LeafIndex> leaves;  // of the item: inner ones may become others
    std::uint32_t item = 0;
    std::size_t channel = 0, scale = 0;
    float evidence = 0, most = 0;
    SliceIndex most_at{};
    std::uint32_t silent = 0;  // blocks in which nothing was known of it
  };
  struct Alarm {
    std::uint32_t item;
    std::size_t channel, scale;
    double limit, tests;
  };
  static std::uint32_t place(const NodeItems& items, const std::vector<LeafIndex>& leaves);
  void mark_blamed(const NodeItems& items);
  void lay_out(const NodeItems& items, const Columns& columns);
  void add_up(const NodeItems& items);
  void take_off_peers();
  void take_block(const Look& look);
  void follow(const NodeItems& items, SliceIndex now);
  double asked(std::size_t scale) const;
  double limit(std::size_t group, std::size_t scale, double tests) const;
  void test(const NodeItems& items, const Columns& columns, SliceIndex now);
  void begin(const NodeItems& items, const Columns& columns, const Alarm& alarm, SliceIndex now);
  void learn(const NodeItems& items);
  bool worth_telling(const ShiftSums::Score& score) const;
  std::set<std::uint32_t> blamed(const NodeItems& items, const Alarm& alarm) const;

  // Others are counted from 1.
  static constexpr std::uint64_t kFirst = std::uint64_t{1} << 63;

  Options options_;
  WorkLengths lengths_;
  ShiftSums sums_;
  struct Peers {
    std::vector<std::uint32_t> of;   // items that are compared
    std::vector<std::uint32_t> all;  // with these, themselves among them
  };
  std::vector<Peers> peers_;
  std::size_t depths_ = 1;             // that have any
  std::vector<std::size_t> channels_;  // columns that are work
  // Of the block that goes on, leaves first.
  ShiftSums::Block block_;
  std::vector<float> there_;  // by leaf: slices of it in which something was known of it
  std::uint32_t slices_ = 0;
  SliceIndex first_{};
  std::uint64_t blocks_ = 0;
  std::vector<char> blamed_;                   // by item: all its leaves are
  std::vector<char> except_;                   // by item: it is, or nearly
  std::vector<statistics::TailLimit> limits_;  // by group * kScales + scale
  std::vector<float> greatest_;                // the same: of the period that goes on
  std::vector<Episode> episodes_;
  std::vector<Course> courses_;
  std::uint64_t begun_ = 0;
};

}  // namespace margay::detect
