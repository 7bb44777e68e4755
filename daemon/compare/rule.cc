#include "margay/compare/rule.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "margay/settings/units.h"

namespace margay::compare {
namespace {

constexpr std::size_t kMostNamed = 8;

std::string trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

std::optional<double> amount_of(std::string_view text, bool& is_part) {
  double sign = 1;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    if (text.front() == '-') sign = -1;
    text.remove_prefix(1);
  }
  is_part = text.ends_with('%');
  if (!is_part) {
    const auto d = config::parse_duration(text);
    if (!d) return std::nullopt;
    return sign * static_cast<double>(d->value) * 1e-9;
  }
  text.remove_suffix(1);
  const std::string number = trimmed(text);
  char* end = nullptr;
  const double x = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !std::isfinite(x) || x < 0) return std::nullopt;
  return sign * x / 100;
}

std::string list(const std::vector<std::string>& names, std::size_t from) {
  std::string out;
  for (std::size_t i = from; i < names.size() && i < from + kMostNamed; ++i)
    out += (out.empty() ? "" : ", ") + names[i];
  return names.size() > from + kMostNamed ? out + " ..." : out;
}

Verdict verdict_of(const Rule& rule, const Change& c) {
  const double bound = rule.is_part ? rule.amount * (c.known ? c.of : c.a) : rule.amount;
  const auto beyond = [&](double x) { return rule.greater ? x > bound : x < bound; };
  if (!beyond(c.known ? c.typical : c.change())) return Verdict::kNo;
  return c.known && beyond(rule.greater ? c.low : c.high) ? Verdict::kYes : Verdict::kPerhaps;
}

}  // namespace

Result<Rule> parse_rule(const std::string& text) {
  const auto wrong = [&](const char* what) {
    return fail(ErrorCode::kInvalidArgument,
                "'" + text + "': " + what + "; expected [PHASE:] MEASURE > AMOUNT, as in 'Compute > +3%'");
  };
  const std::size_t sign = text.find_last_of("<>");
  if (sign == std::string::npos) return wrong("neither > nor <");
  Rule out;
  out.text = text;
  out.greater = text[sign] == '>';
  std::string measure = trimmed(std::string_view(text).substr(0, sign));
  if (const std::size_t colon = measure.find(": "); colon != std::string::npos) {
    out.phase = trimmed(std::string_view(measure).substr(0, colon));
    measure = trimmed(std::string_view(measure).substr(colon + 2));
  }
  if (measure.empty()) return wrong("no measure");
  out.measure = measure;
  const auto amount = amount_of(trimmed(std::string_view(text).substr(sign + 1)), out.is_part);
  if (!amount) return wrong("the amount is neither a part (3%) nor a duration (2s)");
  out.amount = *amount;
  return out;
}

Result<Judged> judge(const Rule& rule, const Changes& changes, const std::vector<std::string>& phases,
                     const std::vector<std::string>& states) {
  std::uint32_t phase = 0;
  if (!rule.phase.empty()) {
    const auto at = std::find(phases.begin() + 1, phases.end(), rule.phase);
    if (at == phases.end())
      return fail(ErrorCode::kNotFound, "'" + rule.text + "': there is no phase " + rule.phase +
                                            (phases.size() > 1 ? "; there are " + list(phases, 1)
                                                               : "; the baseline has no phases"));
    phase = static_cast<std::uint32_t>(at - phases.begin());
  }
  Judged out;
  const auto take = [&](const Change& c) {
    const Verdict v = verdict_of(rule, c);
    if (v > out.verdict) out.verdict = v, out.because.clear();
    if (v == out.verdict) out.because.push_back(c);
  };
  if (rule.measure == "any") {
    for (const Change& c : changes.told)
      if (rule.phase.empty() || c.phase == phase) take(c);
    return out;
  }
  std::int32_t state = -1;
  if (rule.measure != "time") {
    auto at = std::find(states.begin(), states.end(), rule.measure);
    if (at == states.end()) at = std::find(states.begin(), states.end(), "MPI_" + rule.measure);
    if (at == states.end())
      return fail(ErrorCode::kNotFound, "'" + rule.text + "': there is no state " + rule.measure +
                                            "; there are " + list(states, 0));
    state = static_cast<std::int32_t>(at - states.begin());
  }
  for (const Change& c : changes.overall)
    if (c.phase == phase && c.state == state) take(c);
  return out;
}

}  // namespace margay::compare
