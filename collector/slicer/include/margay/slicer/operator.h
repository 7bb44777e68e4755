// What a cell of the microscopic model tells: the operators that make values v(leaf, x, slice) >= 0 of the
// records of a leaf (the event operators of Ocelotl; its state duration is RR-8524, section 2). Pure.
//
//   duration       x: a state. Nanoseconds of the slice spent in it, exact; the innermost open state counts.
//   occurrences    x: a state, or a kind of punctual event. Visits that begin in the slice; events in it.
//   mean           x: one variable. Its mean over that part of the slice in which it has a value.
//   bytes          x: a state, or a kind of link. Bytes of calls that end in the slice: as completed, or as
//                  posted where nothing was told at the end; bytes of links that begin in it.
//   messages       x: as for bytes. Calls that end in the slice and moved bytes or had a peer; links.
//
// A visit that goes on around a nested one is one occurrence. A call that never ends moved nothing.
//
// Chosen live (model.operator, margay run --operator: the slicer measures as events come, measurer.h), at
// replay and at zoom (margay replay, margay partition --operator: from raw events, also by other operators
// than the run's). All three give the same cells. Detection is about time, and rests on durations with any
// operator. Thread safety: values and functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "margay/base/result.h"

namespace margay::slicer {

struct Operator {
  enum class Measure : std::uint8_t { kDuration, kOccurrences, kMean, kBytes, kMessages };
  Measure measure = Measure::kDuration;
  std::string variable;  // of kMean

  // "duration", "occurrences", "mean:VARIABLE", "bytes", "messages". Errors: kInvalidArgument.
  static Result<Operator> parse(std::string_view word);
  // The word again.
  std::string text() const;
  // What a value counts, for people: "ns", "visits and events", ...
  const char* unit() const;
  bool operator==(const Operator&) const = default;
};

}  // namespace margay::slicer
