// One timeslice of the microscopic model: for every leaf, how long it was in which state. Pure.
//
// Stored by leaf, never by tree: a hierarchy is a view (hierarchy.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "margay/base/ids.h"
#include "margay/model/taker.h"

namespace margay::model {

// What a slice holds beside durations, where the model is measured by another operator
// (margay/slicer/operator.h).
enum class Plane : std::uint8_t {
  kNone,    // nothing: durations are what is wanted
  kCounts,  // per leaf and state: occurrences, bytes or messages
  kMean,  // per leaf: nanoseconds in which the variable has a value, and the integral of the value over them
};

// What a leaf was in the middle of at the end of a slice.
struct OpenState {
  StateId state = kAbsent;
  TimeNs since{};  // trace time at which this visit began
  bool operator==(const OpenState&) const = default;
};

// What the node sampler saw of a leaf's process by the time the slice closed: it tells a stopped rank from a
// preempted one from a waiting one. Shares of CPU are of the time between the samples.
struct NodeEvidence {
  char process_state = 0;         // the letter of /proc/PID/stat at the last sample; 0: not sampled
  TimeNs stopped_since{};         // trace time since which it is stopped (T), or 0
  std::int64_t sampled_ns = 0;    // time between the samples that fell into this slice
  std::int64_t cpu_ns = 0;        // CPU time used in it
  std::int64_t run_delay_ns = 0;  // time it was runnable but did not run
  std::int64_t stopped_ns = 0;    // time it was stopped
  // Time its main thread was blocked in a way that no program asks for (letter D, not S): by storage, as a
  // rule. 0 where it is not known.
  std::int64_t blocked_ns = 0;
  std::int64_t storage_bytes = 0;  // that it read from storage and wrote to it meanwhile
  TimeNs silent_since{};           // nothing was heard of its source since then (trace time), or 0
  // Its open state was drawn out to the slice's end without a promise: provisional until it is heard again.
  bool drawn_out = false;
  // Adds the times of `more`, up to the largest there is: what they come from is untrusted.
  void add_times(const NodeEvidence& more);
  bool operator==(const NodeEvidence&) const = default;
};

// Leaves are rows, states are columns; both may grow from slice to slice, never shrink. A row sums to the
// slice's duration exactly (Compute, Absent and Unknown included), except in a slice that is still open.
class SliceColumn {
  template <class V>
  auto row(V& v, LeafIndex leaf) const {
    return std::span(v).subspan(static_cast<std::size_t>(leaf.value) * states_, states_);
  }
  template <class V>
  auto plane_row(V& v, LeafIndex leaf) const {
    return std::span(v).subspan(static_cast<std::size_t>(leaf.value) * plane_columns(), plane_columns());
  }

 public:
  SliceColumn() = default;
  SliceColumn(LevelIndex level, SliceIndex index, std::uint32_t leaves, std::uint32_t states);
  // Becomes what the constructor makes, in the room that it has: a slice comes every some milliseconds, and
  // fresh room costs more to be touched than to be filled. Cost: a fill.
  void renew(LevelIndex level, SliceIndex index, std::uint32_t leaves, std::uint32_t states);

  LevelIndex level{};
  SliceIndex index{};
  // Events that were lost (dropped, gaps) in this slice, over all leaves: detection on it is marked.
  std::uint64_t lost_events = 0;
  // True while a leaf's state in it is drawn out (NodeEvidence::drawn_out); amended when its source returns.
  bool provisional = false;
  // The named region (MPI_Pcontrol) that most of the leaves were in at the end; "" where there is none.
  std::string region;
  // Who had the CPU while leaves were ready to run and not let: in the order in which it was told.
  std::vector<Taker> takers;
  static constexpr std::size_t kMostTakers = 256;
  // Adds to what is there of the same; what is beyond kMostTakers is left out.
  void add_taker(const Taker& taker);

  std::uint32_t leaves() const { return leaves_; }
  std::uint32_t states() const { return states_; }
  // What its cells take in memory, of every plane; without names of regions and takers.
  std::size_t bytes() const {
    const std::size_t cell = sizeof(duration_ns_[0]) + sizeof(longest_ns_[0]) + sizeof(visits_[0]);
    const std::size_t leaf = sizeof(OpenState) + sizeof(NodeEvidence) + sizeof(integral_[0]);
    return sizeof(*this) + leaves_ * (states_ * cell + leaf + plane_columns() * sizeof(measured_[0]));
  }

  // Per leaf and state, leaf-major: index = leaf * states() + state.
  // Nanoseconds of the slice spent in the state.
  std::span<std::int64_t> duration_ns(LeafIndex leaf) { return row(duration_ns_, leaf); }
  std::span<const std::int64_t> duration_ns(LeafIndex leaf) const { return row(duration_ns_, leaf); }
  // The longest visit to the state that ended in, or was open at the end of, this slice; measured from its
  // begin, which may lie in an earlier slice. The block maxima of extreme-value statistics.
  std::span<std::int64_t> longest_ns(LeafIndex leaf) { return row(longest_ns_, leaf); }
  std::span<const std::int64_t> longest_ns(LeafIndex leaf) const { return row(longest_ns_, leaf); }
  // Visits that ended in this slice.
  std::span<std::uint32_t> visits(LeafIndex leaf) { return row(visits_, leaf); }
  std::span<const std::uint32_t> visits(LeafIndex leaf) const { return row(visits_, leaf); }
  OpenState& open(LeafIndex leaf) { return open_[leaf.value]; }
  const OpenState& open(LeafIndex leaf) const { return open_[leaf.value]; }
  NodeEvidence& evidence(LeafIndex leaf) { return evidence_[leaf.value]; }
  const NodeEvidence& evidence(LeafIndex leaf) const { return evidence_[leaf.value]; }

  // The measured plane. Its rows have plane_columns() values: states() of kCounts, one of kMean, none of
  // kNone. Marks and links have states of their own, in which nobody ever is. Sums end at the largest number
  // there is.
  Plane plane() const { return plane_; }
  // From now on the slice holds this plane; a new one is all zero. Cost: a fill.
  void measure(Plane plane);
  std::uint32_t plane_columns() const {
    return plane_ == Plane::kCounts ? states_ : plane_ == Plane::kMean ? 1 : 0;
  }
  std::span<std::uint64_t> measured(LeafIndex leaf) { return plane_row(measured_, leaf); }
  std::span<const std::uint64_t> measured(LeafIndex leaf) const { return plane_row(measured_, leaf); }
  // The variable's value times nanoseconds, of kMean only.
  double& integral(LeafIndex leaf) { return integral_[leaf.value]; }
  double integral(LeafIndex leaf) const { return integral_[leaf.value]; }
  // Takes the plane of another column of the same slice, which may know more states: the leaves that both
  // have.
  void take_plane(const SliceColumn& other);
  // What the leaf's cell says: the count, or the mean (0 where there is no value).
  double measured_value(LeafIndex leaf, std::size_t column) const;
  static void add(std::uint64_t& to, std::uint64_t n) {
    if (__builtin_add_overflow(to, n, &to)) to = ~std::uint64_t{0};
  }

  // Grows to at least this many leaves and states; new cells are zero. Cost: a copy when `states` grows.
  void resize(std::uint32_t leaves, std::uint32_t states);
  // Adds a finer slice that lies inside this one: durations and visits add, longest is the maximum, open is
  // taken over when `finer` is the last in it (the caller adds in time order). Measured planes add; one that
  // has none takes the finer slice's kind.
  void merge(const SliceColumn& finer);

  bool operator==(const SliceColumn&) const = default;

 private:
  std::uint32_t leaves_ = 0;
  std::uint32_t states_ = 0;
  std::vector<std::int64_t> duration_ns_;
  std::vector<std::int64_t> longest_ns_;
  std::vector<std::uint32_t> visits_;
  std::vector<OpenState> open_;
  std::vector<NodeEvidence> evidence_;
  Plane plane_ = Plane::kNone;
  std::vector<std::uint64_t> measured_;
  std::vector<double> integral_;
};

}  // namespace margay::model
