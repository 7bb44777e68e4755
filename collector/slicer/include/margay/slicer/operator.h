// What a cell of the microscopic model tells: the operators that make values v(leaf, x, slice) >= 0 of the
// records of a leaf (the event operators of Ocelotl; its state duration is RR-8524, section 2). Pure.
//
//   duration       x: a state. Nanoseconds of the slice spent in it, exact; the innermost open state counts.
//   occurrences    x: a state, or a kind of punctual event. Visits that begin in the slice; events in it.
//   length         x: a state. Mean length, in ns, of the visits that touch the slice, each from its begin to
//                  its end, in whatever slices these are; 0 where there is none.
//   mean           x: one variable. Its mean over that part of the slice in which it has a value.
//   max            x: one variable. The greatest value that it had in the slice: one that it had from before
//                  counts, and one that another followed at once; 0 where it had none.
//   rate           x: one variable, a counter. By how much it grew in the slice, a second. It grows where a
//                  sample is that has more than the one before it; one that has less is of a counter that
//                  began anew at 0. The first sample, and the first after a loss, is no growth.
//   bytes          x: a state, or a kind of link. Bytes of calls that end in the slice: as completed, or as
//                  posted where nothing was told at the end; bytes of links that begin in it.
//   messages       x: as for bytes. Calls that end in the slice and moved bytes or had a peer; links.
//
// A visit that goes on around a nested one is one occurrence, with a length that holds the other's; between
// states that no other is around, a leaf visits its base. A visit that does not end lasts to where its leaf
// is covered, or to the last record before some are lost. Calls that a probe summed are as many visits, of
// one length. A call that never ends moved nothing.
//
// A variable has the value of its last sample, until the next one, an END, or records that are lost.
//
// Chosen live (model.operator, margay run --operator: the slicer measures as events come, measurer.h), at
// replay and at zoom (margay replay, margay partition --operator: from raw events, also by other operators
// than the run's). All three give the same cells. Slices, and so the first two, have no more than what adds
// up, and means (parse_kept): a maximum that was drawn out cannot be taken back, a visit's length
// is known long after its slices. Detection is about time, and
// rests on durations with any operator. Thread safety: values and functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "margay/base/result.h"

namespace margay::slicer {

struct Operator {
  enum class Measure : std::uint8_t {
    kDuration,
    kOccurrences,
    kMean,
    kBytes,
    kMessages,
    kMax,
    kRate,
    kLength
  };
  Measure measure = Measure::kDuration;
  std::string variable;  // where it is of one

  // "duration", "occurrences", "mean:VARIABLE", "bytes", "messages", "max:VARIABLE",
  // "rate:VARIABLE", "length". Errors: kInvalidArgument, with the words that there are.
  static Result<Operator> parse(std::string_view word);
  // Of those that slices can hold, and so a run, a replay and an import; which are the first five. Errors:
  // as of parse(); of one that they cannot the sentence says what can.
  static Result<Operator> parse_kept(std::string_view word);
  // The word again.
  std::string text() const;
  // What a value counts, for people: "ns", "visits and events", ...
  const char* unit() const;
  // It makes one column, of `variable`; a trace without it has nothing to measure.
  bool of_variable() const;
  // A longer slice has more of it, as of time and bytes; a mean or a rate is one whatever the slice.
  bool adds_up() const;
  bool operator==(const Operator&) const = default;
};

}  // namespace margay::slicer
