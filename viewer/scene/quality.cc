#include "margay/scene/quality.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "margay/base/text.h"

namespace margay::scene {
namespace {

double share_of(double part, double whole) {
  return whole != 0 ? part / whole : 0;
}

}  // namespace

Steps steps_of(const ViewData& data) {
  Steps out;
  out.complete = data.curve_complete;
  if (data.curve.empty()) return out;
  const CurvePoint& whole = data.curve.back();
  double before = 0, largest = 0;
  for (std::size_t i = 0; i < data.curve.size(); ++i) {
    const CurvePoint& point = data.curve[i];
    Step step;
    step.p = point.p;
    step.until = i + 1 < data.curve.size() ? data.curve[i + 1].p : 1;
    step.ask = step.p + (step.until - step.p) / 2;
    step.gain = point.gain;
    step.loss = point.loss;
    const double gain = share_of(point.gain, whole.gain), loss = share_of(point.loss, whole.loss);
    step.gain_share = std::clamp(gain, 0.0, 1.0);
    step.loss_share = std::clamp(loss, 0.0, 1.0);
    step.parts = point.parts;
    // As margay::partition::largest_jump(): the first before the largest fall, without any fall the last one.
    if (i > 0 && before - (gain - loss) > largest) {
      largest = before - (gain - loss);
      out.jump = static_cast<std::int64_t>(i) - 1;
    }
    before = gain - loss;
    out.steps.push_back(step);
  }
  if (out.jump < 0) out.jump = static_cast<std::int64_t>(out.steps.size()) - 1;
  out.current = step_at(out, data.p);
  return out;
}

std::int64_t step_at(const Steps& steps, double p) {
  if (steps.steps.empty() || std::isnan(p)) return -1;
  const auto after = std::upper_bound(steps.steps.begin() + 1, steps.steps.end(), p,
                                      [](double at, const Step& step) { return at < step.p; });
  return after - steps.steps.begin() - 1;
}

std::int64_t nearest_step(const Steps& steps, double p) {
  const std::int64_t at = step_at(steps, p);
  if (at < 0 || at + 1 == static_cast<std::int64_t>(steps.steps.size())) return at;
  const auto i = static_cast<std::size_t>(at);
  return steps.steps[i + 1].p - p < p - steps.steps[i].p ? at + 1 : at;
}

std::int64_t next_step(const Steps& steps, std::int64_t step, std::int64_t by) {
  const auto last = static_cast<std::int64_t>(steps.steps.size()) - 1;
  if (last < 0) return -1;
  step = std::clamp<std::int64_t>(step, 0, last);
  if (by >= last - step) return last;
  return by <= -step ? 0 : step + by;
}

Result<double> parse_p(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  const std::string shown = clean_utf8(text, 40);
  if (text.empty()) return fail(ErrorCode::kInvalidArgument, "p is empty: a number from 0 to 1 is wanted");
  const bool percent = text.ends_with('%');
  std::string number(percent ? text.substr(0, text.size() - 1) : text);
  while (!number.empty() && blank(number.back())) number.pop_back();
  if (std::count(number.begin(), number.end(), ',') == 1 && number.find('.') == std::string::npos)
    number[number.find(',')] = '.';
  double p = 0;
  const bool plus = number.starts_with('+') && !number.starts_with("+-");
  const char* const begin = number.data() + (plus ? 1 : 0);
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(begin, end, p);
  // What is too small for a number is as good as 0, and from_chars leaves p at that.
  const bool tiny =
      error == std::errc::result_out_of_range && number.find_first_of("eE") + 1 == number.find('-', 1);
  if ((error != std::errc() && !tiny && error != std::errc::result_out_of_range) || stop != end ||
      std::isnan(p))
    return fail(ErrorCode::kInvalidArgument, "\"" + shown + "\" is no number: p goes from 0 to 1");
  if (percent) p /= 100;
  if ((error == std::errc::result_out_of_range && !tiny) || !(p >= 0 && p <= 1))
    return fail(ErrorCode::kInvalidArgument, shown + " is out of range: p goes from 0 to 1");
  return p + 0.0;
}

std::string p_text(double p) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", p);
  return text;
}

}  // namespace margay::scene
