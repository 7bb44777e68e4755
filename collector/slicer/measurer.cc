#include "margay/slicer/measurer.h"

#include <algorithm>

namespace margay::slicer {
namespace {

using Measure = Operator::Measure;

bool add(model::SliceColumn& column, LeafIndex leaf, StateId state, std::uint64_t n) {
  if (n == 0) return false;
  model::SliceColumn::add(column.measured(leaf)[state.value], n);
  return true;
}

double integral_to(const CurrentValue& v, TimeNs begin, TimeNs t) {
  const double before = v.settled >= begin ? v.integral : 0.0;
  return before + v.value * static_cast<double>((t - std::max(v.settled, begin)).value);
}

}  // namespace

Measurer::Measurer(const Operator& op)
    : measure_(op.measure),
      plane_(op.measure == Measure::kMean                       ? model::Plane::kMean
             : op.measure != Measure::kDuration && op.adds_up() ? model::Plane::kCounts
                                                                : model::Plane::kNone) {}

bool Measurer::entered(model::SliceColumn& column, LeafIndex leaf, StateId state) const {
  return measure_ == Measure::kOccurrences && add(column, leaf, state, 1);
}

bool Measurer::left(model::SliceColumn& column, LeafIndex leaf, StateId state, const Carried& entered,
                    const Carried& left) const {
  const std::uint64_t bytes = left.bytes != 0 ? left.bytes : entered.bytes;
  if (measure_ == Measure::kBytes) return add(column, leaf, state, bytes);
  return measure_ == Measure::kMessages && (bytes != 0 || entered.peer || left.peer) &&
         add(column, leaf, state, 1);
}

bool Measurer::noted(model::SliceColumn& column, LeafIndex leaf, const Note& note) const {
  if (note.name == kUnknown) return false;
  if (note.kind == Note::Kind::kMark)
    return measure_ == Measure::kOccurrences && add(column, leaf, note.name, 1);
  if (note.kind != Note::Kind::kLinkBegin) return false;
  if (measure_ == Measure::kBytes) return add(column, leaf, note.name, note.bytes);
  return measure_ == Measure::kMessages && add(column, leaf, note.name, 1);
}

bool Measurer::moved(model::SliceColumn& column, LeafIndex leaf, StateId state, const Moved& moved) const {
  switch (measure_) {
    case Measure::kOccurrences:
      return add(column, leaf, state, moved.entered);
    case Measure::kBytes:
      return add(column, leaf, state, moved.bytes);
    case Measure::kMessages:
      return add(column, leaf, state, moved.messages);
    default:
      return false;
  }
}

void Measurer::fill(model::SliceColumn& column, LeafIndex leaf, const CurrentValue& value, TimeNs begin,
                    TimeNs from, TimeNs until) const {
  if (!value.known) return;
  column.measured(leaf)[0] += static_cast<std::uint64_t>((until - from).value);
  column.integral(leaf) = integral_to(value, begin, until);
}

void Measurer::take_back(model::SliceColumn& column, LeafIndex leaf, const CurrentValue& value, TimeNs begin,
                         TimeNs from, TimeNs until) const {
  if (!value.known) return;
  column.measured(leaf)[0] -= static_cast<std::uint64_t>((until - from).value);
  column.integral(leaf) = integral_to(value, begin, from);
}

}  // namespace margay::slicer
