// The job's phases, live. Pure.
//
// A phase is a stretch whose state distribution over the hierarchy is homogeneous. Candidate boundaries are
// the cuts of the temporal optimal partition of the window (RR-8524) and a few fixed lengths; there is a
// boundary when what follows has lasted a while and its distribution per leaf is apart (Jensen-Shannon) from
// the phase before, by more than slices of the phase itself are; it lies where merging both sides loses most.
// So an optimum that cuts once too often, a noisy job or a single odd slice does no harm. A stretch near a
// known signature is the same phase again: A-B-A-C-A has three phases.
//
// Slices marked abnormal (a perturbation is firing) neither bound nor describe a phase. Of one that lasts the
// job's phases are told none the less: all of its slices may then bound one, where what is done changes (the
// visits, not only how the time divides, which a perturbation changes as well); they describe no phase that
// was seen in order.
// Cost per slice: O(leaves * columns * settle), ten times that where a boundary is suspected. Memory: one
// distribution per known phase (bounded). Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "margay/detect/distribution.h"
#include "margay/detect/window.h"

namespace margay::detect {

struct PhaseOptions {
  // A stretch shorter than this bounds no phase.
  std::int64_t shortest = 5;
  // Until then a phase's identity and begin may still be corrected.
  std::int64_t settle = 20;
  // Jensen-Shannon bits per leaf: nearer is the same phase, farther is another, once it exceeds what the
  // phase's own noise makes as well.
  double apart_bits = 0.04;
  // The same of stretches in which the same is done as often: the machine alone makes ranks divide their time
  // otherwise.
  double apart_same_bits = 0.2;
  std::size_t most_phases = 256;  // known signatures; the nearest is taken when full
  std::size_t most_spans = 4096;  // kept of the time line; older ones are in the archive
  std::string prefix;             // of every name: "10s:" makes A to 10s:A
};

// One stretch of the time line, [begin, end).
struct PhaseSpan {
  std::uint32_t index = 0;  // 0, 1, ... in the run
  std::string name;         // "A"; of a coarser level "10s:A"
  std::string label;        // what the program calls it, or ""
  TimeNs begin{};
  TimeNs end{};
  std::uint32_t occurrence = 1;
  bool current = false;
  bool operator==(const PhaseSpan&) const = default;
};

class PhaseTracker {
 public:
  PhaseTracker(PhaseOptions options, DurationNs slice);

  // Of a perturbation: it touches the slice, and nothing else does; of a lasting one, which began at `since`.
  enum class Slice { kInOrder, kAbnormal, kOfPerturbation, kOfLasting };
  // After window.push(slice). `region` is the program's own name for it.
  void update(const Window& window, Slice kind, const std::string& region, SliceIndex since = {});
  // It turns out that an earlier slice does not count.
  void disturb(SliceIndex slice) { abnormal_.insert(slice), of_perturbation_.erase(slice); }
  // The resources have ceased to exist: the current phase ends at `t`.
  void finish(TimeNs t);

  // Before the first slice: phases that were recognised before, by name, with how often each has come. One
  // without a signature (no slices) keeps its name, but is not recognised.
  struct Recognised {
    Distribution signature;
    std::uint32_t occurrences = 0;
  };
  void restore(const std::map<std::string, Recognised>& phases);
  // What a phase is like; nullptr where the name is none, or nothing is settled yet.
  const Distribution* signature(const std::string& name) const;

  // Oldest first, the last one current (but after finish).
  const std::deque<PhaseSpan>& spans() const { return spans_; }
  // What the current phase is like; empty before the first.
  const Distribution& reference() const;
  // First slice of the current phase, and one past the newest slice that surely belongs to it.
  SliceIndex current_begin() const { return begin_; }
  bool known() const { return !spans_.empty(); }
  // Normal slices the current phase's reference rests on.
  double reference_slices() const;

  // "A", ..., "Z", "AA", ...
  static std::string name_of(std::size_t phase);
  // The run's first stretch, where it was no phase.
  std::string init_name() const { return options_.prefix + "init"; }

 private:
  struct Signature {
    Distribution mean;
    std::uint32_t occurrences = 0;
    bool in_order = false;  // `mean` has slices that are; until then it is made of others
  };
  Distribution gather(const Window& window, SliceIndex from, SliceIndex to, std::int64_t most) const;
  void settle_through(const Window& window, SliceIndex to);
  double noise_bits(const Window& window, SliceIndex from, SliceIndex to, double n) const;
  std::size_t identify(const Distribution& d, std::size_t before, double noise) const;
  struct Boundary {
    SliceIndex at;
    bool from_newest;  // what follows is apart from the newest slices before it, not from the whole stretch
  };
  enum class Seen { kNot, kFromAll, kFromNewest };
  std::string named(std::size_t phase) const { return options_.prefix + name_of(phase); }
  double apart_bits(bool same_visits) const;
  std::optional<Boundary> boundary(const Window& window) const;
  std::set<SliceIndex> candidates(const Window& window, SliceIndex oldest) const;
  SliceIndex unsettled(const Window& window) const;
  Distribution before(const Window& window, SliceIndex cut) const;
  bool differ(const Window& window, SliceIndex from, SliceIndex cut, const Distribution& before,
              const Distribution& after) const;
  Seen apart(const Window& window, SliceIndex cut, const Distribution& before,
             const Distribution& after) const;
  bool some_is_apart(const Window& window, const std::set<SliceIndex>& cuts) const;
  std::optional<SliceIndex> best_cut(const Window& window, SliceIndex oldest) const;
  SliceIndex within_abnormal(const Window& window, SliceIndex cut, const Distribution& before,
                             const Distribution& after, SliceIndex oldest) const;
  bool bounds_by_visits(SliceIndex from, SliceIndex to) const;
  bool is_mixed(const Window& window) const;
  void take(const Window& window, const Boundary& found);
  std::int64_t lag(const Window& window) const;
  void begin_phase(const Window& window, SliceIndex from);
  TimeNs refine_edge(const Window& window, SliceIndex cut, const Distribution& before,
                     const Distribution& after) const;
  enum class Belongs { kToNobody, kToNext, kToPrevious };
  Belongs passing(const Window& window, SliceIndex cut, const Distribution& after) const;
  void end_transition(const Window& window, SliceIndex cut, const Distribution& after, Belongs to);
  void relabel(std::size_t phase);

  PhaseOptions options_;
  DurationNs slice_;
  std::vector<Signature> phases_;
  std::deque<PhaseSpan> spans_;
  std::deque<std::size_t> span_phase_;
  SliceIndex begin_{};    // of the current phase
  SliceIndex settled_{};  // slices before it are in the current phase's signature
  std::set<SliceIndex> abnormal_;
  std::set<SliceIndex> of_perturbation_;  // of these
  std::set<SliceIndex> of_lasting_;       // that may bound a phase, and describe none
  std::vector<std::pair<SliceIndex, std::string>> regions_;
  Distribution recent_;        // settled part of the current stretch alone
  Distribution early_;         // what is seen of the current phase, for as long as it has no signature
  bool provisional_ = true;    // identity of the current phase may still change
  bool fresh_ = false;         // its signature was made for it
  bool mixed_ = false;         // the current stretch looks like more than one phase
  bool from_mixture_ = false;  // the phase before was: to be near to it says nothing
};

}  // namespace margay::detect
