// Perturbations of work that comes in requests and tasks, told by how long visits take. Pure.
//
// Evidence of surprisingly long visits (visit_surprise.h), summed up over nodes, states and slices
// (surprise_sums.h), beyond the limit of its depth (evidence_limit.h), whose effect is of `min_effect` of the
// time that is not idle, begins an episode; blamed is what blame_lengths says. Several may go on at once, of
// leaves that have none in common: of those that are blamed nothing is tested or learned meanwhile. Who waits
// while others' work takes longer, and whose siblings are blamed for work (or for waits) as well, has the
// same cause.
//
// Cost per slice: O(nodes * columns). Thread safety: none.
#pragma once

#include <set>
#include <vector>

#include "blame.h"
#include "contrast.h"
#include "episode.h"
#include "evidence_limit.h"
#include "node_items.h"
#include "surprise_sums.h"
#include "visit_surprise.h"

namespace margay::detect {

class LongVisits {
 public:
  struct Options {
    DurationNs slice{};
    double min_effect = 0.1;           // share of the time that is not idle
    double false_alarms_per_day = 1;   // expected, over all nodes
    std::uint32_t back_slices = 2;     // slices back in order until an episode is over
    std::uint32_t usual_slices = 600;  // slices after which it is taken for usual, and is over
  };
  explicit LongVisits(Options options) : options_(options) {}

  // Leaves from `keep` on are new ones.
  void set_hierarchy(const model::Hierarchy& hierarchy, std::size_t keep);
  // The slice that `contrast` has measured.
  void on_slice(const Contrast& contrast, const Columns& columns, SliceIndex now);
  // The slice is explained by something else: what has summed up so far is of another time.
  void restart() { sums_.restart(); }
  // Those that are going on, and those that the newest slice has ended.
  const std::vector<Episode>& episodes() const { return episodes_; }
  void drop_over();

 private:
  struct Course {                  // of an episode
    float evidence = 0, most = 0;  // of the blamed since the onset, and the most that it was
    SliceIndex most_at{};
    std::uint32_t silent = 0;  // slices without a visit
    std::uint32_t back = 0;
  };
  void take(const Contrast& contrast, const Columns& columns);
  void follow(SliceIndex now);
  void test(const Columns& columns, SliceIndex now);
  void learn();
  bool joins(const Blamed& blamed);

  Options options_;
  NodeItems items_;
  VisitSurprise visits_;
  SurpriseSums sums_;
  std::vector<EvidenceLimit> limits_;  // by group
  std::vector<Episode> episodes_;
  std::vector<Course> courses_;
  std::vector<char> blamed_;  // by leaf
  std::uint64_t begun_ = 0;
  SliceIndex first_{-1};
};

}  // namespace margay::detect
