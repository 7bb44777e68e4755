// What an event adds to its slice's measured plane, for operators other than state duration. Pure.
//
// The slicer calls it as it goes (slicer.h); definitions are those of operator.h, and of the re-slicer, which
// gives the same cells for the same records: to the unit, and the mean to the last bit or nearly so.
//
// Counts belong to the moment of their event and are never taken back. The mean goes on with time: it is
// filled and taken back as durations are, but its integral is computed anew from the last event on, so that
// what was drawn out and taken back leaves no rounding behind.
//
// Thread safety: values; const. Cost: O(1) a call.
#pragma once

#include <cstdint>

#include "margay/base/ids.h"
#include "margay/model/slice_column.h"
#include "margay/slicer/operator.h"

namespace margay::slicer {

// What a record says beside its state.
struct Carried {
  std::uint64_t bytes = 0;  // as posted, or as completed
  bool peer = false;        // it names a partner
  bool operator==(const Carried&) const = default;
};

// Of visits that were summed.
struct Moved {
  std::uint32_t entered = 0;   // visits that began
  std::uint32_t messages = 0;  // of those that ended, in how many something moved
  std::uint64_t bytes = 0;     // and how much
};

// A record that changes no state.
struct Note {
  enum class Kind : std::uint8_t { kMark, kLinkBegin, kLinkEnd, kVariable };
  Kind kind = Kind::kMark;
  // Of marks and links, the state that stands for them; kUnknown: none does, and nothing is measured.
  StateId name = kUnknown;
  std::uint64_t bytes = 0;  // of a link's begin
  double value = 0;         // of the operator's variable; >= 0, finite
};

// Where the variable of a leaf stands, since its last event.
struct CurrentValue {
  bool known = false;
  double value = 0;
  TimeNs settled{};     // the last event
  double integral = 0;  // of its slice, up to there
  bool operator==(const CurrentValue&) const = default;
};

class Measurer {
 public:
  // Of an operator that slices cannot hold (Operator::parse_kept) it measures nothing.
  explicit Measurer(const Operator& op);

  model::Plane plane() const { return plane_; }
  bool active() const { return plane_ != model::Plane::kNone; }
  // Open states have to remember what they were entered with.
  bool needs_carried() const {
    return measure_ == Operator::Measure::kBytes || measure_ == Operator::Measure::kMessages;
  }
  bool needs_time() const { return measure_ == Operator::Measure::kMean; }

  // Each: true if the column has changed. `column` holds the moment of the event, and the state.
  bool entered(model::SliceColumn& column, LeafIndex leaf, StateId state) const;
  bool left(model::SliceColumn& column, LeafIndex leaf, StateId state, const Carried& entered,
            const Carried& left) const;
  bool noted(model::SliceColumn& column, LeafIndex leaf, const Note& note) const;
  bool moved(model::SliceColumn& column, LeafIndex leaf, StateId state, const Moved& moved) const;

  // Of the mean. The value goes on over [from, until) of the slice that begins at `begin`; or that stretch is
  // taken back, and the value ends at `from`.
  void fill(model::SliceColumn& column, LeafIndex leaf, const CurrentValue& value, TimeNs begin, TimeNs from,
            TimeNs until) const;
  void take_back(model::SliceColumn& column, LeafIndex leaf, const CurrentValue& value, TimeNs begin,
                 TimeNs from, TimeNs until) const;

 private:
  Operator::Measure measure_;
  model::Plane plane_;
};

}  // namespace margay::slicer
