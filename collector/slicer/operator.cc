#include "margay/slicer/operator.h"

#include <algorithm>
#include <iterator>

namespace margay::slicer {
namespace {

using Measure = Operator::Measure;
struct Word {
  Measure measure;
  std::string_view word;  // of kMean: the name of a variable follows
  const char* unit;
};
constexpr Word kWords[] = {{Measure::kDuration, "duration", "ns"},
                           {Measure::kOccurrences, "occurrences", "visits and events"},
                           {Measure::kMean, "mean:", "of the variable"},
                           {Measure::kBytes, "bytes", "bytes"},
                           {Measure::kMessages, "messages", "messages"}};

const Word& word_of(Measure measure) {
  return *std::find_if(std::begin(kWords), std::end(kWords),
                       [&](const Word& w) { return w.measure == measure; });
}

}  // namespace

Result<Operator> Operator::parse(std::string_view word) {
  for (const Word& w : kWords) {
    const bool named = w.measure == Measure::kMean;
    if (word.starts_with(w.word) && (word.size() > w.word.size()) == named)
      return Operator{w.measure, std::string(word.substr(w.word.size()))};
  }
  return fail(ErrorCode::kInvalidArgument,
              "expected duration, occurrences, mean:VARIABLE, bytes or messages");
}

std::string Operator::text() const {
  return std::string(word_of(measure).word) + variable;
}

const char* Operator::unit() const {
  return word_of(measure).unit;
}

}  // namespace margay::slicer
