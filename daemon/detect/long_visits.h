// Perturbations told by how long visits take: of work that comes in requests and tasks, and of what ranks and
// nodes of a coupled job work at, or wait for. Pure.
//
// Evidence of surprisingly long visits (visit_surprise.h), summed up over nodes, states and slices
// (surprise_sums.h), beyond the limit of its depth (tail_limit.h), whose effect is of `min_effect` of the
// time that is not idle, begins an episode; blamed is what blame_lengths says. Several may go on at once, of
// leaves that have none in common: of those that are blamed nothing is tested or learned meanwhile. Who waits
// while others' work takes longer, and whose siblings are blamed for the same state, has the same cause.
//
// Where the job does not say when there is nothing to do (a coupled job), ranks wait for each other, and many
// are late where one is: what they wait for in a collective says nothing, other waits that nobody's work
// explains have to exceed half as much again as the limit. How long visits usually take is known of each mode
// of such a job (contrast.h) by itself.
//
// Cost per slice: O(nodes * columns). Memory: that of VisitSurprise for each mode (8 at most). Thread safety:
// none.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "blame.h"
#include "contrast.h"
#include "episode.h"
#include "node_items.h"
#include "recurrence.h"
#include "surprise_sums.h"
#include "tail_limit.h"
#include "visit_surprise.h"

namespace margay::detect {

class LongVisits {
 public:
  struct Options {
    DurationNs slice{};
    double min_effect = 0.1;           // share of the time that is not idle
    double false_alarms_per_day = 1;   // expected, over all nodes
    std::uint32_t back_slices = 2;     // slices back in order until an episode is over
    std::uint32_t usual_slices = 600;  // slices after which one of requests is taken for usual, and is over
  };
  explicit LongVisits(Options options) : options_(options) {}

  // Items from `keep` on are new ones.
  void set_items(const NodeItems& items, const model::Hierarchy& hierarchy, std::size_t keep);
  // What a slice shows, that `contrast` has measured.
  struct Look {
    const Contrast& contrast;
    const NodeItems& items;
    const Columns& columns;
    SliceIndex now{};
    bool by_request = false;  // the job says when there is nothing to do
    // Leaves of which nothing is tested: they go back from what has become usual (lasting.h).
    const std::set<std::uint32_t>& returning;
  };
  // `recurrence` knows what comes back by the clock in a coupled job.
  void on_slice(const Look& look, Recurrence& recurrence);
  // This episode, if it is one of these, is somebody else's from now on.
  void take_out(std::uint64_t number);
  // The slice is explained by something else: what has summed up so far is of another time.
  void restart() { sums_.restart(); }
  void forget();
  // Those that are going on, and those that the newest slice has ended.
  const std::vector<Episode>& episodes() const { return episodes_; }
  bool any_open() const;
  void drop_over();

 private:
  struct Course {                  // of an episode
    float evidence = 0, most = 0;  // of the blamed since the onset, and the most that it was
    SliceIndex most_at{};
    std::uint32_t silent = 0;  // slices without a visit
    std::uint32_t back = 0;
  };
  void take(const Look& look);
  void follow(bool by_request, SliceIndex now);
  void test(const Look& look, Recurrence& recurrence);
  void learn(const NodeItems& items, bool by_request);
  void drop(std::size_t k);
  bool joins(const Blamed& blamed, const NodeItems& items);

  // What is usual of visits in a mode of the job (contrast.h); of requests and tasks there is one.
  struct Usual {
    std::uint64_t mode = 0;  // its number
    double slices = 0;       // learned
    VisitSurprise visits;
  };
  void enter_mode(const Contrast& contrast, bool by_request);
  VisitSurprise& visits() { return usual_[mode_].visits; }
  std::vector<TailLimit>& limits(bool by_request) { return by_request ? limits_ : coupled_; }

  Options options_;
  std::optional<model::Hierarchy> hierarchy_;
  std::vector<Usual> usual_ = std::vector<Usual>(1);  // by place
  std::size_t mode_ = 0;                              // the present one's place
  SurpriseSums sums_;
  std::vector<TailLimit> limits_, coupled_;  // by group
  std::vector<Episode> episodes_;
  std::vector<Course> courses_;
  std::vector<char> blamed_;  // by leaf
  std::uint64_t begun_ = 0;
  SliceIndex first_{-1};
};

}  // namespace margay::detect
