// What happened on each resource, one by one: the visits to states that a trace's records tell of, nested as
// they were, and what happened between them. A Gantt chart and a list of events show these.
//
// A visit is told when it is over. Who is in which state is as the re-slicer has it (margay/slicer/
// reslicer.h): of the visits that are open, the one that began last is what the leaf does, and these cover
// the same time of the same states. What lies between states that are entered and left is a visit to the
// leaf's base (Compute, of live runs). Where records were lost the leaf is in Unknown, from its last record
// on until the next one that tells; what was open then counts as over with that last record.
//
// Calls that a probe summed (MARGAY_SUM) are one visit to each state, one behind the other, with the number
// of `calls`; how long these took one by one, and in which order, nobody knows. What was open when they began
// counts as over there, for at their end the probe says what is open (MARGAY_SUM_OPEN, of the same time),
// since just then.
//
// Names are those of an archive's trace (archive_trace.h): the first are the run's states, by StateId.
//
// Thread safety: none. Cost: O(1) a record, and of what is left O(what is open inside it). Memory: what is
// open, at most kDeepest states and kDeepest regions a leaf.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "margay/trace/trace.h"

namespace margay::trace {

struct Occurrence {
  // Of the last four `begin` is `end`.
  enum class Kind : std::uint8_t { kState, kRegion, kVariable, kMark, kLinkBegin, kLinkEnd };
  Kind kind = Kind::kState;
  LeafIndex leaf{};
  std::uint16_t name = 0;     // of the trace; of states the StateId
  std::uint16_t depth = 0;    // so many states (of regions: regions) were open around it
  TimeNs begin{}, end{};      // trace time, half-open
  bool begun_before = false;  // it may have begun earlier: the reading begins there
  bool goes_on = false;       // it is open where the reading ends
  std::uint64_t calls = 1;    // of a state: more than one have been summed
  DurationNs longest{};       // of these
  // As completed where that is known, else as posted; of a variable the bits of its value, of links the
  // number in `tag`. Of summed calls: all bytes, and the partner of the longest.
  std::uint64_t bytes = 0;
  std::int32_t peer = MARGAY_NO_PEER, tag = MARGAY_NO_TAG;
  std::uint32_t comm = 0;
  // Of a single call: the end named a partner, as receives do; and what it was entered with.
  bool completed = false;
  std::int32_t posted_peer = MARGAY_NO_PEER, posted_tag = MARGAY_NO_TAG;
  std::uint64_t posted_bytes = 0;
};

class Occurrences : public Consumer {
 public:
  static constexpr std::size_t kDeepest = 64;
  static constexpr std::size_t kMostSums = 64;  // of a leaf, that wait for what follows them

  // Told is what touches [from, to): each occurrence once, of a leaf those that end later do not come before.
  // An error of `take` ends the reading with it. An occurrence's name is `names()[name]`.
  using Take = std::function<Status(const Occurrence&)>;
  Occurrences(TimeNs from, TimeNs to, Take take) : from_(from), to_(to), take_(std::move(take)) {}

  Status on_name(std::uint16_t index, const Name& name) override;
  Status on_leaf(LeafIndex index, const Leaf& leaf) override;
  Status on_records(LeafIndex leaf, std::span<const EventRecord> records) override;
  // Also tells what is open then.
  Status on_covered(TimeNs t) override;

  const std::vector<Name>& names() const { return names_; }
  // Of all that is open and began at `since` or later the earliest begin; there is nothing: nothing. Cost:
  // the leaves, times what is open in each.
  std::optional<TimeNs> oldest_open(TimeNs since = TimeNs(std::numeric_limits<std::int64_t>::min())) const;

 private:
  using Kind = Occurrence::Kind;
  struct Line {  // of a leaf
    std::uint16_t base = kCompute.value;
    bool alive = false, unknown = false, told = false;  // told: it had a record
    TimeNs last{};
    std::optional<Occurrence> around;  // the base, or Unknown, that is open while no state is
    std::vector<Occurrence> states, regions;
    std::vector<Occurrence> sums;  // that came last, one behind the other
  };
  Status record(LeafIndex leaf, Line& line, const EventRecord& r, TimeNs t);
  Status leave(Line& line, const EventRecord& r, TimeNs t);
  Status lose(LeafIndex leaf, Line& line, TimeNs t);
  Status stack(LeafIndex leaf, Line& line, const EventRecord& r, TimeNs t);
  Status sum(LeafIndex leaf, Line& line, const EventRecord& r, TimeNs t);
  Status region(LeafIndex leaf, Line& line, const EventRecord& r, TimeNs t);
  Status moment(LeafIndex leaf, Line& line, const EventRecord& r, TimeNs t);
  void open_base(LeafIndex leaf, Line& line, TimeNs t);
  Status close_around(Line& line, TimeNs t);
  Status close_all(Line& line, TimeNs t);
  Status close_inside(std::vector<Occurrence>& open, std::size_t depth, TimeNs t);
  Status close_sums(Line& line, bool open_follows);
  Status tell(Occurrence o, TimeNs end);

  TimeNs from_, to_;
  Take take_;
  std::vector<Name> names_;
  std::vector<Line> lines_;
};

}  // namespace margay::trace
