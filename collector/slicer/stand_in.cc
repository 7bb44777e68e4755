#include "margay/slicer/stand_in.h"

#include <algorithm>
#include <bit>

#include "margay/base/text.h"
#include "margay/model/state_table.h"

namespace margay::slicer {

using Kind = Reslicer::NameKind;
using Measure = Operator::Measure;

std::optional<std::string> stand_in_name(const Operator& op, Kind kind, const std::string& text) {
  const bool communication = op.measure == Measure::kBytes || op.measure == Measure::kMessages;
  if (!(kind == Kind::kMark && op.measure == Measure::kOccurrences) &&
      !(kind == Kind::kLink && communication))
    return std::nullopt;
  std::string name(text.empty() ? "?" : cut_utf8(text, model::StateTable::kLongestName));
  std::replace(name.begin(), name.end(), '\n', ' ');
  return name;
}

bool is_operand(const Operator& op, Kind kind, const std::string& text) {
  return kind == Kind::kVariable && op.measure == Measure::kMean && text == op.variable;
}

Result<std::optional<Note>> note_of(const Operator& op, const EventRecord& record, StateId stand_in) {
  if (stand_in == kNothing || op.measure == Measure::kDuration) return std::nullopt;
  Note note;
  note.bytes = record.bytes;
  if (record.kind == MARGAY_VARIABLE) {
    if (stand_in != kOperand) return std::nullopt;
    note.kind = Note::Kind::kVariable;
    note.value = std::bit_cast<double>(record.bytes);
    if (!(note.value >= 0 && note.value <= kLargestValue))
      return fail(ErrorCode::kInvalidArgument, "the variable '" + op.variable + "' has the value " +
                                                   std::to_string(note.value) +
                                                   ": a partition is made of values that are 0 or more");
    return note;
  }
  if (stand_in == kOperand) return std::nullopt;
  note.name = stand_in;
  note.kind = record.kind == MARGAY_MARK         ? Note::Kind::kMark
              : record.kind == MARGAY_LINK_BEGIN ? Note::Kind::kLinkBegin
                                                 : Note::Kind::kLinkEnd;
  return note;
}

}  // namespace margay::slicer
