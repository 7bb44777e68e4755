// Names that are no states, as the slicer's operators need them. Pure.
//
// A mark or a link is measured in a column of its own: a state *stands in* for it, with its name, in which
// nobody ever is. (One that has the name of a state shares its column.) The variable of a mean needs no
// column: it is told by kOperand. Thread safety: functions.
#pragma once

#include <optional>
#include <string>

#include "margay/base/record.h"
#include "margay/base/result.h"
#include "margay/slicer/measurer.h"
#include "margay/slicer/reslicer.h"

namespace margay::slicer {

// Stands in for nothing; for the variable of the operator.
inline constexpr StateId kNothing = kUnknown, kOperand = kAbsent;

// What the state is called that stands in for this name: of at most 128 bytes, in one line. Nothing: the
// operator does not measure it.
std::optional<std::string> stand_in_name(const Operator& op, Reslicer::NameKind kind,
                                         const std::string& text);
bool is_operand(const Operator& op, Reslicer::NameKind kind, const std::string& text);

// A record of kind MARGAY_VARIABLE to MARGAY_LINK_END for the slicer, whose name has this stand-in; nothing
// if the operator does not want it. Errors: kInvalidArgument (a value of the operator's variable that is
// negative, no number, or above kLargestValue).
inline constexpr double kLargestValue = 1e200;
Result<std::optional<Note>> note_of(const Operator& op, const EventRecord& record, StateId stand_in);

}  // namespace margay::slicer
