// Perturbations told by how long visits take: of work that comes in requests and tasks, and of what ranks and
// nodes of a coupled job work at, or wait for. Pure.
//
// Evidence of surprisingly long visits, summed up over nodes, states and slices, beyond the limit of its
// depth (statistics/tail_limit.h), whose effect is of `min_effect` of the time that is not idle, begins an
// episode; blamed is what blame_lengths says. Several may go on at once, of leaves that have none in common:
// of those that are blamed nothing is tested or learned meanwhile. Who waits while others' work takes longer,
// and whose siblings are blamed for the same state, has the same cause. Waits that nobody's work explains
// have to exceed half as much again as the limit.
//
// Where work comes in requests and tasks visits have normal scores (visit_scores.h, score_sums.h), which tell
// many that are longer, and are bet on (visit_surprise.h, surprise_sums.h), which tells few that are longer
// than any before. That work still takes longer is told by visits to that state alone. Waits that nobody gets
// away from are told as facts (hold_ups.h). While somebody's work takes longer, whom others wait for is
// known, and waits say nothing. Where nearly all would be blamed, the job does something else now: nothing is
// told. What goes on for twice as long as all before it, or for `usual_slices`, is learned, and over.
//
// Where the job does not say when there is nothing to do (a coupled job), ranks wait for each other, and many
// are late where one is: what they wait for in a collective says nothing, nor does how long a poll takes,
// which returns at once where it is let. Visits are bet on; how long they
// usually take is known of each mode of such a job (contrast.h) by itself; a new one begins with the slices
// that fitted none. Of work beside the job's own, as files that are written, it is known of all modes
// together. Of who has become suspect nothing is learned for 24 slices. Where many would be blamed for a
// single slice, the next one has to say so, too. Where ranks keep each other waiting for CPUs anyway (more of
// them than CPUs), the scheduler now and then has some of them share one, and their work takes longer
// together: nothing is told of who is slowed with another of them.
//
// Cost per slice: O(nodes * columns). Memory: that of VisitSurprise for each mode (8 at most), for the
// next one and for side work. Thread safety: none.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "blame.h"
#include "contrast.h"
#include "episode.h"
#include "hold_ups.h"
#include "lengths_lately.h"
#include "margay/statistics/tail_limit.h"
#include "node_items.h"
#include "recurrence.h"
#include "score_sums.h"
#include "side_rounds.h"
#include "stretch_sums.h"
#include "surprise_sums.h"
#include "visit_scores.h"
#include "visit_surprise.h"

namespace margay::detect {

class LongVisits {
 public:
  struct Options {
    DurationNs slice{};
    double min_effect{};            // share of the time that is not idle
    double false_alarms_per_day{};  // expected, over all nodes
    std::uint32_t back_slices{};    // slices back in order until an episode is over
    std::uint32_t usual_slices{};   // slices after which one of requests is taken for usual, and is over
    std::uint32_t stall_slices{};   // whole ones in which nobody gets away from a wait (hold_ups.h)
  };
  explicit LongVisits(Options options)
      : options_(options), hold_ups_(options.stall_slices, options.usual_slices) {}

  // Items from `keep` on are new ones.
  void set_items(const NodeItems& items, const model::Hierarchy& hierarchy, std::size_t keep);
  // What a slice shows, that `contrast` has measured.
  struct Look {
    const Contrast& contrast;
    const NodeItems& items;
    const Columns& columns;
    SliceIndex now{};
    bool by_request = false;  // the job says when there is nothing to do
    // Leaves of which nothing is tested: an alert of what lasts fires of them, they go back from it
    // (lasting.h), or have.
    std::set<std::uint32_t> returning;
  };
  // `recurrence` knows what comes back by the clock in a coupled job.
  void on_slice(const Look& look, Recurrence& recurrence);
  // This episode, if it is one of these, is somebody else's from now on.
  void take_out(std::uint64_t number);
  // The slice is explained by something else: what has summed up so far is of another time.
  void restart();
  void forget();
  // Of these leaves what is usual is learned anew.
  void forget(const std::set<std::uint32_t>& leaves);
  // Those that are going on, and those that the newest slice has ended.
  const std::vector<Episode>& episodes() const { return episodes_; }
  bool any_open() const;
  void drop_over();

 private:
  // Of the blamed since the onset: nats, the most that they were, and when.
  struct Evidence {
    float sum = 0, most = 0;
    SliceIndex most_at{};
    void become(float nats, SliceIndex now);
  };
  // How surprisingly long visits are told.
  enum class By : std::uint8_t { kBets, kScores, kHeldUp };
  struct Course {  // of an episode
    By by = By::kBets;
    Evidence on, until;        // that it goes on; that it went on until a slice
    float shift = 0;           // of scores, when it began (score_sums.h)
    std::int64_t learns = 0;   // slices since it became usual
    std::uint32_t silent = 0;  // slices without a visit
    std::uint32_t back = 0;
    std::size_t column = 0;  // of the state that is blamed; past the last: of all states together
  };
  void count_leaves(const Look& look);
  // What the slice tells, once it has been looked at leaf by leaf; waits say nothing `but_works`.
  void measure_side_work(const Look& look, const VisitSurprise::Unasked& unasked);
  void take_scores(const Look& look, bool but_works);
  void take_bets(const Look& look, bool but_works);
  void sum_up(const Look& look, bool but_works, Grid& rows) const;
  void follow(bool by_request, SliceIndex now);
  // A node whose evidence is beyond its limit.
  struct Beyond {
    std::uint32_t item;
    By by;
    StretchSums::Score score;
    double limit, tests;
  };
  // Of those the strongest, beside its limit.
  std::optional<Beyond> strongest(const Look& look);
  void begin(const Beyond& by, const Blamed& blamed, const Look& look, Recurrence& recurrence);
  void restart(std::uint32_t item);
  // Whether it goes on.
  bool follow(const Episode& episode, Course& course, SliceIndex now) const;
  bool becomes_usual(const Episode& episode, SliceIndex now) const;
  void test(const Look& look, Recurrence& recurrence);
  void test_hold_ups(const Look& look);
  void leave_out_suspects(const NodeItems& items);
  void learn(const NodeItems& items, bool by_request);
  void drop(std::size_t k);
  bool joins(const Blamed& blamed, const Look& look);
  void see_crowd(const Look& look, const VisitSurprise::Told& slice);

  // What is usual of visits in a mode of a coupled job (contrast.h).
  struct Usual {
    std::uint64_t mode = 0;  // its number
    double slices = 0;       // learned
    VisitSurprise visits;
  };
  void enter_mode(const Contrast& contrast);
  // While no mode fits, what the next one begins with.
  Usual& usual() { return in_next_ ? next_ : usual_[mode_]; }
  VisitSurprise& visits() { return usual().visits; }
  // What a job's visits are told by.
  static std::span<const By> told_by(bool by_request);
  // By group, then by kind. Requests and tasks come in kinds, so each state has a tail of its own, and all
  // together (the first, for columns stay as others come). What ranks do together is of two: how long they
  // wait is a matter of what all others do, and varies by much; how long work takes is their own.
  using Limits = std::vector<std::vector<statistics::TailLimit>>;
  Limits& limits(By by, bool by_request) {
    return by == By::kScores ? of_scores_ : by_request ? of_bets_ : coupled_;
  }
  std::size_t kinds(By by, bool by_request) const { return by_request ? stretches(by).columns() + 1 : 2; }
  std::size_t kind(By by, bool by_request, std::size_t column) const {
    if (column == stretches(by).columns()) return 0;
    return by_request ? column + 1 : works_[column] ? 1 : 0;
  }
  void reach_limits(bool by_request, std::size_t groups);
  double learned(bool by_request) const { return by_request ? learned_ : usual_[mode_].slices; }
  const StretchSums& stretches(By by) const {
    return by == By::kScores ? score_sums_.stretches() : sums_.stretches();
  }

  Options options_;
  std::optional<model::Hierarchy> hierarchy_;
  std::vector<Usual> usual_ = std::vector<Usual>(1);             // by place
  std::size_t mode_ = 0;                                         // the present one's place
  LengthsLately lengths_lately_{VisitSurprise::kKindsOfLength};  // in any mode
  Usual next_;                                                   // of slices that fit none
  bool in_next_ = false;
  // Of work beside the job's own: of all modes, of the slice, and which columns these are.
  VisitSurprise side_visits_;
  VisitSurprise::Told of_side_;
  std::vector<char> side_;
  // The same in units of the round's length; by column: enough is known for that to tell where several are at
  // it. It changes between rounds only, for what was told of a visit is taken off in the same units.
  SideRounds rounds_;
  VisitSurprise in_rounds_;
  VisitSurprise::Told of_rounds_;
  std::vector<char> by_rounds_;
  bool side_done_ = false;  // somebody was at it in the slice
  SurpriseSums sums_;
  VisitScores scores_;  // of requests and tasks
  ScoreSums score_sums_;
  HoldUps hold_ups_;    // of requests and tasks
  double learned_ = 0;  // slices
  Limits of_scores_, of_bets_, coupled_;
  std::vector<Episode> episodes_;
  std::vector<Course> courses_;
  Grid lately_;  // leaves that share CPUs x columns: logarithm, times as long as usual, of the last slices
  std::vector<std::uint32_t> suspect_;  // by leaf: slices for which its visits have told something
  std::vector<char> blamed_;            // by leaf
  std::vector<char> works_;             // by column: it is work
  // By item, of the slice: time that its leaves were not idle, and how many there are.
  std::vector<float> busy_, there_;
  std::uint64_t begun_ = 0;
  SliceIndex first_{-1};
};

}  // namespace margay::detect
