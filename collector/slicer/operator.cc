#include "margay/slicer/operator.h"

#include <array>
#include <utility>

namespace margay::slicer {
namespace {

using Measure = Operator::Measure;
constexpr std::array<std::pair<std::string_view, Measure>, 4> kPlain = {
    {{"duration", Measure::kDuration},
     {"occurrences", Measure::kOccurrences},
     {"bytes", Measure::kBytes},
     {"messages", Measure::kMessages}}};
constexpr std::string_view kMean = "mean:";

}  // namespace

Result<Operator> Operator::parse(std::string_view word) {
  for (const auto& [name, measure] : kPlain)
    if (word == name) return Operator{measure, {}};
  if (word.starts_with(kMean) && word.size() > kMean.size())
    return Operator{Measure::kMean, std::string(word.substr(kMean.size()))};
  return fail(ErrorCode::kInvalidArgument,
              "expected duration, occurrences, mean:VARIABLE, bytes or messages");
}

std::string Operator::text() const {
  for (const auto& [name, m] : kPlain)
    if (measure == m) return std::string(name);
  return std::string(kMean) + variable;
}

const char* Operator::unit() const {
  switch (measure) {
    case Measure::kDuration:
      return "ns";
    case Measure::kOccurrences:
      return "visits and events";
    case Measure::kMean:
      return "of the variable";
    case Measure::kBytes:
      return "bytes";
    case Measure::kMessages:
      return "messages";
  }
  return "";
}

}  // namespace margay::slicer
