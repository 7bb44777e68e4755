#include "margay/slicer/operator.h"

#include <algorithm>
#include <iterator>

namespace margay::slicer {
namespace {

using Measure = Operator::Measure;
enum Trait : unsigned {
  kOfVariable = 1,
  kNoSum = 2,       // a longer slice has not more of it
  kEventsOnly = 4,  // slices cannot hold it
};
struct Word {
  Measure measure;
  std::string_view word;  // of a variable: its name follows
  const char* unit;
  unsigned traits = 0;
  bool is(Trait of) const { return (traits & of) != 0; }
};
constexpr Word kWords[] = {
    {Measure::kDuration, "duration", "ns"},
    {Measure::kOccurrences, "occurrences", "visits and events"},
    {Measure::kMean, "mean:", "of the variable", kOfVariable | kNoSum},
    {Measure::kBytes, "bytes", "bytes"},
    {Measure::kMessages, "messages", "messages"},
    {Measure::kMax, "max:", "of the variable", kOfVariable | kNoSum | kEventsOnly},
    {Measure::kRate, "rate:", "of the variable", kOfVariable | kNoSum | kEventsOnly},
    {Measure::kLength, "length", "ns a visit", kNoSum | kEventsOnly},
};

const Word& word_of(Measure measure) {
  return *std::find_if(std::begin(kWords), std::end(kWords),
                       [&](const Word& w) { return w.measure == measure; });
}

// "duration, occurrences, mean:VARIABLE, bytes or messages"
std::string list_of(bool kept) {
  std::string out;
  const auto listed = [&](const Word& w) { return !kept || !w.is(kEventsOnly); };
  std::ptrdiff_t rest = std::count_if(std::begin(kWords), std::end(kWords), listed);
  for (const Word& w : kWords) {
    if (!listed(w)) continue;
    out += std::string(w.word) + (w.is(kOfVariable) ? "VARIABLE" : "");
    out += --rest > 1 ? ", " : rest == 1 ? " or " : "";
  }
  return out;
}

Result<Operator> parse_of(std::string_view word, bool kept) {
  std::string why;
  for (const Word& w : kWords) {
    if (!word.starts_with(w.word) || (word.size() > w.word.size()) != w.is(kOfVariable)) continue;
    if (!kept || !w.is(kEventsOnly)) return Operator{w.measure, std::string(word.substr(w.word.size()))};
    why = "slices cannot hold it; of the events of any archive margay partition and margay render have it; ";
  }
  return fail(ErrorCode::kInvalidArgument, why + "expected " + list_of(kept));
}

}  // namespace

Result<Operator> Operator::parse(std::string_view word) {
  return parse_of(word, false);
}
Result<Operator> Operator::parse_kept(std::string_view word) {
  return parse_of(word, true);
}

std::string Operator::text() const {
  return std::string(word_of(measure).word) + variable;
}

const char* Operator::unit() const {
  return word_of(measure).unit;
}
bool Operator::of_variable() const {
  return word_of(measure).is(kOfVariable);
}
bool Operator::adds_up() const {
  return !word_of(measure).is(kNoSum);
}

}  // namespace margay::slicer
