// Who departs from what is usual, together, and for how long: perturbations of resources that go on. Pure.
//
// 1. What each leaf does otherwise than usual and otherwise than the others (contrast.h), and its mean over
//    the leaves of each inner node: a shift too weak for any rank shows on its machine.
// 2. Of each node (all but the root), of the slice and of the last eight, the score: the sum over columns of
//    the mean departure, squared, in units of the variance that the node has had when it was quiet (shared
//    with the nodes of its depth while it is young), of the spread of all leaves in these slices, and of a
//    part of the common shift: where everything moves, leaves follow imperfectly.
// 3. Whose visits take longer than usual, however long they are (visit_lengths.h, stretch.h): a second test
// of
//    the same nodes. Where work comes in requests or tasks neither is asked, but whose visits are
//    surprisingly long (long_visits.h).
// 4. A score beyond the limit of its depth and test (tail_limit.h), whose departure is of `min_effect` at
//    least, is an alarm; of a single slice, while little is known of how far these go, when the node does so
//    twice. While the whole job moves, two slices in a row are; while all work otherwise than usual, or do
//    work that they seldom do, none is for some slices.
// 5. Time that the machine takes from a process (ready to run and not let, stopped, kept waiting by storage
//    longer than usual) is an alarm by itself.
// 6. Blamed are the leaves that go the way of the strongest: those that are robbed, else where some work
//    longer and others wait longer, those that work.
// What is found is followed as one *episode* until its leaves are back. Nothing is learned meanwhile.
//
// Cost per slice: O(nodes * columns). Memory: nodes * columns * 170 bytes. Thread safety: none.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "contrast.h"
#include "episode.h"
#include "long_visits.h"
#include "margay/detect/ingredient.h"
#include "margay/detect/topology.h"
#include "overlap.h"
#include "state_kind.h"
#include "stretch.h"
#include "tail_limit.h"

namespace margay::detect {

// One that went on for so long that it has been taken for usual: what comes on top of it is looked for again.
// It is over when its leaves do as they did before it, all at once, or are gone.
struct Lasting : Episode {
  std::vector<float> way;            // cells (contrast.h)
  std::uint32_t back = 0, gone = 0;  // slices in a row
  float way_back = 0;                // gone in them, each as a share of the whole
};

class Departures {
 public:
  struct Options {
    DurationNs slice = milliseconds(100);
    double min_effect = 0.1;           // share of the time
    double false_alarms_per_day = 1;   // expected, over all nodes
    std::uint32_t back_slices = 2;     // slices back in order until an episode is over
    std::uint32_t usual_slices = 600;  // slices after which what an episode does is taken for usual
    // Of a coarser level (levels.h), whose slices are long and vary little: deviations and effects that count
    // are so many times smaller, and nothing is told before two slices in a row are alarming.
    float finer = 1;
    bool two_in_a_row = false;
    Ingredients without;  // for measurement only
  };
  explicit Departures(Options options);

  void set_topology(std::shared_ptr<const Topology> topology);
  enum class Look : std::uint8_t {
    kNormal,
    kHeld,     // nobody makes progress: goes on with what has begun to be seen, and begins nothing
    kNothing,  // something else explains this slice: nothing is tested or learned
  };
  // The newest slice of the window.
  // Returns the episodes that are going on, and those that have just ended (`over`): several only of work
  // that comes in requests.
  std::vector<Episode> on_slice(const Window& window, const model::SliceColumn& column,
                                const std::set<std::uint16_t>& idle, Look look);
  // The open episode is somebody else's: it ends unsaid.
  void drop();
  // Episodes that last, oldest first; `over` are those that the newest slice has ended. At most kMostLasting.
  const std::vector<Lasting>& lasting() const { return lasting_; }
  static constexpr std::size_t kMostLasting = 16;

  // Slices that a score is of: what is strong shows at once, what is weak if it lasts.
  static constexpr std::array<std::size_t, 2> kSpans = {1, 8};

 private:
  static constexpr std::size_t kLong = kSpans.back();
  // A node's own variance counts as much as that of its depth after so many slices.
  static constexpr float kOwnSlices = 8;
  // No standard deviation is believed to be below this (shares of a slice), of each measure: visits that are
  // overtime are too rare for a variance.
  static constexpr float kLeastDeviation[Contrast::kMeasures] = {0.012f, 0.012f, 0.05f};
  // Each is tested by itself: the tails of one do not raise the limit of the other, nor what is strong for an
  // instant that of what is weak and lasts.
  enum Test : std::size_t { kApart, kApartLong, kStretched, kTests };  // spans first
  struct Best {
    float score = 0;
    std::uint32_t slices = 1;  // since when
    float effect = 0;          // share of the time
  };
  // Of all nodes of a depth.
  struct Greatest {
    float score = 0;
    bool told = false;  // if it were beyond the limit: its effect is large enough
  };
  struct Alarm {
    std::uint32_t item;
    std::uint32_t slices;  // since when
    double times;          // the limit
    double effect;         // share of the time; 0 where the machine tells it
    bool young = false;    // of a single slice, and a short history
  };
  void lay_out(std::size_t columns);
  void take();
  void score();
  std::vector<float> spread(std::size_t span, const std::vector<float>& floor) const;
  // What the item did in the last slices, the newest taken: cells.
  const float* newest(std::size_t item) const { return ring_[slices_ % kLong][item]; }
  void add_last(std::size_t item, std::size_t slices, float* to) const;
  double effect(const float* sum, std::size_t slices) const;
  std::vector<Alarm> alarmed();
  bool most_work(const model::SliceColumn& column, const std::set<std::uint16_t>& idle) const;
  bool unsure(const std::vector<Alarm>& alarms);
  void machine_alarms(std::vector<Alarm>& alarms) const;
  // What a machine's column took of a leaf in the last slices, the newest first.
  using Recent = std::array<float, kLong>;
  float taken(const Recent& recent, std::size_t slices, float variance, float least) const;
  bool in_most(const Recent& recent, std::size_t slices) const;
  // The machine takes little of everybody's time now and then: of that no level tells less.
  float machine_effect() const { return static_cast<float>(options_.min_effect) * options_.finer; }
  void learn();
  void learn_variances();
  void restart();
  void another_mode();
  bool has(Ingredient i) const { return !options_.without.contains(i); }
  bool works(std::size_t column) const { return work_[column] != 0; }
  float least_deviation(std::size_t cell) const { return kLeastDeviation[cell / columns_] / options_.finer; }
  enum class Begun : std::uint8_t {
    kYes,
    kNotYet,  // the next slice may tell who it is
    kNobody,  // nobody does what would explain it
  };
  Begun begin(const Window& window, const std::vector<Alarm>& alarmed);
  void blame();
  void take_time();
  void blame_whole_nodes(std::size_t column);
  void follow(const Window& window);
  bool goes_on() const;
  void last();
  bool come_back(const Window& window);
  void leave_out_returning(std::vector<Alarm>& alarms) const;
  void learn_anew(const std::set<std::uint32_t>& leaves);
  bool learns_anew(std::size_t item) const;

  // What the slice shows belongs to no open episode: is it a perturbation, or what is usual?
  void test(const Window& window, const std::set<std::uint16_t>& idle);
  std::vector<Episode> told() const;

  Options options_;
  std::shared_ptr<const Topology> topology_;
  Contrast contrast_;
  LongVisits long_visits_;
  // Items: the leaves, by number, then the inner nodes below the root that hold more than one.
  struct Inner {
    std::uint32_t first, count;  // in leaf_order
    std::uint32_t group;
  };
  std::vector<Inner> inner_;
  std::vector<std::uint32_t> group_;  // of each item: its depth
  std::size_t groups_ = 0;
  std::vector<float> smallest_;  // by group: leaves of the smallest item
  std::size_t leaves_ = 0, items_ = 0, columns_ = 0;
  // Items x cells (contrast.h).
  std::array<Grid, kLong> ring_;                  // of the last slices
  Grid long_;                                     // over the longest span
  Grid variance_;                                 // of one slice
  std::array<std::vector<float>, kLong> common_;  // of the last slices, cells
  // Of each depth and span: the variance of the span's mean, cells.
  std::vector<std::array<std::vector<double>, kSpans.size()>> pooled_;
  std::uint64_t slices_ = 0;       // taken
  std::uint64_t run_ = 0;          // taken since the last one that was not, or since a mode was learned
  std::uint64_t machine_run_ = 0;  // the same of what the machine does, which knows nothing of modes
  std::vector<float> n_;           // slices an item's variance rests on
  std::vector<double> pooled_n_;   // by group
  Stretch stretch_;
  std::vector<std::array<Best, kTests>> best_;  // by item
  // By group * kTests + test; of this slice.
  std::vector<Greatest> greatest_;
  std::vector<TailLimit> limits_;
  Overlap overlap_;
  std::vector<double> limit_now_;
  std::vector<std::uint64_t> last_alarm_;       // by item: slice, counted from 1
  std::vector<std::vector<Greatest>> pending_;  // maxima of the last slices, not yet learned
  std::uint32_t alarms_in_a_row_ = 0, suspicious_ = 0;
  // While all do otherwise than usual together, nobody is to blame for some slices.
  struct Together {
    std::optional<SliceIndex> since;  // a checkpoint, that goes on
    std::uint32_t standing = 0;       // slices in which nobody got on, and most worked
    std::uint32_t stragglers = 0;     // slices in which the last of a checkpoint are waited for
    std::uint32_t moving = 0;         // slices in a row in which nearly all leaves work otherwise than usual
  };
  Together together_;
  bool suspect_ = false;                          // this slice looks like a perturbation, if not surely
  std::vector<std::uint16_t> state_of_;           // by column
  std::vector<char> work_, collective_, sleeps_;  // by column

  std::optional<Episode> episode_;
  std::uint64_t episodes_ = 0;
  std::vector<Lasting> lasting_;
  std::set<std::uint32_t> returning_;    // leaves of these that do less of it than has become usual
  std::uint32_t learning_ = 0;           // slices, of the last of them
  std::vector<std::uint32_t> learners_;  // by leaf: slices in which it learns what is usual by now
  Grid since_;                           // departures of leaves, summed since the onset
  Grid time_in_;                         // of leaves, in slices since the onset
  double since_slices_ = 0;
  std::vector<float> way_;  // of the blamed, cells
  std::uint32_t back_ = 0;
  bool everybody_ = false;  // nearly all leaves go the way of the blamed by now
};

}  // namespace margay::detect
