// A coupled job that goes on as before, but slower, for all wait longer. Pure.
//
// What all ranks do alike is no departure of anybody. But where they do what they did (job_activity.h), their
// work takes what it took, and yet less of the time goes into work than ever, by `min_effect` at least, and
// nobody works as much as usual meanwhile, for whom the others might wait, something keeps the whole job
// waiting: a network, or who is beyond it. Where what they wait in is no part of what they did, as the end of
// MPI is not, they do something else. Evidence beyond half as much again as the limit of its span
// (statistics/tail_limit.h) begins an episode; as long as CPUs are short nothing is tested, for how long
// ranks wait is then a matter of who is let. Blamed are those whose waits have grown most, of waits for
// single others, or in collectives where these have not. It is over when half of the work that was missing is
// back.
//
// Nothing is learned while it goes on, nor, for some slices, when it may have begun; but what was over as
// soon as it was told counts as one maximum in the limits. What lasts for `usual_slices` is usual, and over.
//
// Cost per slice: O(leaves * columns). Memory: 52 bytes a leaf and column. Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "contrast.h"
#include "episode.h"
#include "grid.h"
#include "job_activity.h"
#include "margay/statistics/tail_limit.h"
#include "recurrence.h"

namespace margay::detect {

class JobSlowdown {
 public:
  struct Options {
    DurationNs slice{};
    double min_effect{};            // share of the work
    double false_alarms_per_day{};  // of all other departures; these have a part of it
    std::uint32_t back_slices{};    // slices back in order until an episode is over
    std::uint32_t usual_slices{};   // slices after which it is taken for usual, and is over
  };
  explicit JobSlowdown(Options options);

  // The newest slice, which `contrast` has measured, and which nothing else explains. `recurrence` knows what
  // comes back by the clock.
  void on_slice(const model::SliceColumn& slice, const Contrast& contrast, const Columns& columns,
                Recurrence& recurrence);
  // Something else explains the newest slice: what was seen lately, and an episode, end before it.
  void restart(SliceIndex now);
  bool any_open() const { return episode_ && !episode_->over; }
  // That which goes on, or that the newest slice has ended.
  const std::optional<Episode>& episode() const { return episode_; }
  // That which the newest slice has ended went on for so long that it is the usual.
  bool is_usual() const;
  void drop_over();

 private:
  // Others are counted from less (departures.h, small_shifts.h).
  static constexpr std::uint64_t kFirst = std::uint64_t{1} << 62;
  static constexpr auto& kSpans = JobActivity::kSpans;
  struct Seen {
    JobSlices job;
    Grid spent;  // leaves x columns
  };
  struct Alarm {
    std::size_t span;
    JobActivity::Less less;
    double limit;
  };
  void add_up_spans();
  Grid sum_of_last(std::size_t slices) const;
  bool recognise(const Columns& columns, SliceIndex now);
  std::optional<Alarm> test(const Columns& columns);
  bool somebody_works(std::size_t slices, const Columns& columns) const;
  void begin(const Alarm& alarm, const Contrast& contrast, const Columns& columns, SliceIndex now);
  void blame(const Contrast& contrast, const Columns& columns);
  void follow(const Contrast& contrast, const Columns& columns, SliceIndex now);
  void learn(const Contrast& contrast, const Columns& columns);

  struct Known {
    JobActivity activity;
    SliceIndex used{};
  };
  Options options_;
  std::vector<Known> known_;
  std::size_t doing_ = 0;                         // of known_: what the job does
  std::uint32_t unlike_ = 0;                      // slices in which it does nothing known
  std::deque<Seen> recent_;                       // the newest last
  std::array<JobSlices, kSpans.size()> of_span_;  // the newest, of as many slices
  std::size_t spans_ = 0;                         // of these, as far as there are so many
  std::vector<statistics::TailLimit> limits_;
  std::array<double, kSpans.size()> nats_{}, begun_by_{};  // of this slice; of the one that began the episode
  std::uint32_t suspicious_ = 0;
  std::optional<Episode> episode_;
  Grid since_;                              // time of its slices: leaves x columns
  std::size_t slices_ = 0;                  // so many
  double usual_work_ = 0, least_work_ = 0;  // shares of the time: before the episode, in it
  std::uint32_t back_ = 0;
  std::uint64_t begun_ = 0;
};

}  // namespace margay::detect
