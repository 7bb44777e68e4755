// Who departs from what is usual, together, and for how long: perturbations of resources that go on. Pure.
//
// 1. What each leaf does otherwise than usual and otherwise than the others (contrast.h); of each node (all
//    but the root) and of the last slices, in each state, how improbable that is (node_means.h).
// 2. How surprisingly long its visits have been (long_visits.h). Where work comes in requests or tasks this
//    alone tells, but for what the machine does.
// 3. Evidence beyond the limit of its depth, span and state (statistics/tail_limit.h), whose effect is of
//    `min_effect` at least, is an alarm. While the whole job moves, two slices in a row are; while all work
//    otherwise than usual, or do work that they seldom do, none is for some slices.
// 4. Time that the machine takes from a process is an alarm by itself (machine.h).
// 5. Blamed are the leaves that explain it (blame.h).
// 6. Where nobody departs, and yet the job goes on slower than ever, that is told (job_slowdown.h).
// What is found is followed as one *episode* until its leaves are back. Nothing is learned meanwhile; but an
// episode that was over as soon as it was told counts as one maximum in its limit.
//
// Cost per slice: O(nodes * columns). Memory: nodes * columns * 170 bytes, and 3 KiB at most for each depth,
// span and cell. Thread safety: none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "contrast.h"
#include "episode.h"
#include "idle_wave.h"
#include "job_slowdown.h"
#include "lasting.h"
#include "long_visits.h"
#include "machine.h"
#include "margay/detect/topology.h"
#include "margay/statistics/tail_limit.h"
#include "node_items.h"
#include "node_means.h"
#include "open_episode.h"
#include "recurrence.h"
#include "small_shifts.h"
#include "state_kind.h"

namespace margay::detect {

class Departures {
 public:
  struct Options {
    DurationNs slice = milliseconds(100);
    double min_effect = 0.1;           // share of the time
    double false_alarms_per_day = 1;   // expected, over all nodes
    std::uint32_t back_slices = 2;     // slices back in order until an episode is over
    std::uint32_t usual_slices = 600;  // slices after which what an episode does is taken for usual
    std::uint32_t stall_slices = 3;    // whole ones in which nobody gets away from a wait (hold_ups.h)
    // Of a coarser level (levels.h), whose slices are long and vary little: deviations and effects that count
    // are so many times smaller, and nothing is told before two slices in a row are alarming.
    float finer = 1;
    bool two_in_a_row = false;
  };
  explicit Departures(Options options);

  void set_topology(std::shared_ptr<const Topology> topology);
  enum class Look : std::uint8_t {
    kNormal,
    kHeld,     // nobody makes progress: goes on with what has begun to be seen, and begins nothing
    kNothing,  // something else explains this slice: nothing is tested or learned
  };
  // The newest slice of the window.
  // Returns the episodes that are going on, and those that have just ended (`over`).
  std::vector<Episode> on_slice(const Window& window, const model::SliceColumn& column,
                                const std::set<std::uint16_t>& idle, Look look);
  // This episode, if it goes on, is somebody else's: it ends unsaid.
  void drop(std::uint64_t number);
  // Of these leaves an alert of an episode that lasts fires: small shifts and long visits are theirs.
  void explained(std::set<std::uint32_t> leaves) { explained_ = std::move(leaves); }
  // It fires no more: how long their work takes is learned anew.
  void returned(const std::set<std::uint32_t>& leaves) {
    small_shifts_.forget(items_, leaves);
    long_visits_.forget(leaves);
  }
  // What they did until now was no more usual than what they go back to: it is learned from here on.
  void learn_anew(const std::set<std::uint32_t>& leaves);
  // Leaves that take turns on too few CPUs (crowd.h).
  std::size_t short_of_cpus() const;
  // Episodes that last.
  const std::vector<Lasting>& lasting() const { return lasting_.all(); }

 private:
  // Of all nodes of a depth over a span: the evidence of a cell. Each is tested by itself: the tails of one
  // do not raise the limit of another (how long a checkpoint takes varies by much, how long ranks compute
  // hardly), nor what is strong for an instant that of what is weak and lasts.
  struct Test {
    std::size_t group, span, cell;
  };
  struct Greatest {
    float nats = 0;
    bool told = false;  // if it were beyond the limit: its effect is large enough
  };
  // Of each test: by group * spans + span, then by column * measures + measure, which stays as columns come.
  template <typename T>
  using OfTests = std::vector<std::vector<T>>;
  struct Alarm {
    std::uint32_t item;
    Test test;
    std::uint32_t slices;  // since when
    double nats, limit;
    double effect;  // share of the time; 0 where the machine tells it
    bool machine = false;
  };
  void learn_columns(const Window& window, const std::set<std::uint16_t>& idle);
  void restart();
  void another_mode();
  void reach_limits(std::size_t tests, std::size_t cells);
  void score(bool by_request);
  template <typename T>
  T& at(OfTests<T>& of, const Test& test) const;
  void for_each_test(const std::function<void(const Test&)>& see) const;
  double chance() const;
  double limit(const Test& test);
  std::vector<Alarm> alarmed();
  bool most_work(const model::SliceColumn& column, const std::set<std::uint16_t>& idle) const;
  void hold_back(const Window& window, std::vector<Alarm>& alarms, bool held);
  void machine_alarms(std::vector<Alarm>& alarms) const;
  void leave_out_returning(std::vector<Alarm>& alarms) const;
  bool others_together(const std::set<std::uint32_t>& leaves) const;
  enum class Begun : std::uint8_t {
    kYes,
    kNotYet,  // the next slice may tell who it is
    kNobody,  // nobody does what would explain it
  };
  Begun begin(const Window& window, const std::vector<Alarm>& alarms, bool held);
  bool by_crowd(const std::set<std::uint32_t>& leaves, std::size_t column, std::size_t slices) const;
  void follow(const Window& window);
  void last(const Episode& episode, const std::set<std::uint32_t>& depart, const std::vector<float>& way);
  void long_visits_that_last(SliceIndex now);
  std::set<std::uint32_t> become_others() const;
  void test(const Window& window, bool by_request, bool held);
  void look_for_small_shifts(SliceIndex now);
  std::vector<Episode> told() const;
  bool quiet();
  void learn_maxima();
  void learn_maxima(const OfTests<Greatest>& maxima);
  void learn_brief();
  bool learns_anew(std::size_t item) const;
  OpenEpisode::Look look(const Window& window) const {
    return {contrast_, means_, items_, columns_, window.last()};
  }

  Options options_;
  std::shared_ptr<const Topology> topology_;
  NodeItems items_;
  Columns columns_;
  Contrast contrast_;
  NodeMeans means_;
  LongVisits long_visits_;
  MachineTest machine_;
  SmallShifts small_shifts_;
  JobSlowdown slowdown_;
  IdleWave wave_;
  std::set<std::uint32_t> explained_;
  std::set<std::uint32_t> blamed_otherwise_;  // leaves, since small shifts were looked for last
  OfTests<statistics::TailLimit> limits_;
  OfTests<Greatest> greatest_;              // of this slice
  std::vector<OfTests<Greatest>> pending_;  // maxima of the last slices, not yet learned
  std::uint32_t alarms_in_a_row_ = 0, suspicious_ = 0;
  bool suspect_ = false;                      // this slice looks like a perturbation, if not surely
  std::optional<SliceIndex> together_since_;  // a checkpoint, that goes on
  std::uint32_t standing_ = 0;                // slices in which nobody got on, and most worked
  std::uint32_t stragglers_ = 0;              // slices in which the last of a checkpoint are waited for
  std::uint32_t moving_ = 0;  // slices in a row in which nearly all leaves work otherwise than usual

  std::optional<OpenEpisode> episode_;
  std::uint64_t episodes_ = 0;
  Recurrence recurrence_;
  SliceIndex begun_at_{};         // when the episode was told, and
  OfTests<Greatest> begun_by_;    // what it would be learned as: all of it, or
  OfTests<Greatest> begun_near_;  // what is not far beyond the limits
  LastingEpisodes lasting_;
  std::uint32_t learning_ = 0;           // slices, of the last of learners_
  std::vector<std::uint32_t> learners_;  // by leaf: slices in which it learns what is usual by now
};

}  // namespace margay::detect
