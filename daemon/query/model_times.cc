#include "model_times.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "margay/text/text.h"

namespace margay::daemon::internal {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLongest = 4 * kSecond * kSecond;  // with a step behind it, no sum of them overflows
constexpr double kOff = 0.01;                             // of a step
constexpr double kStillOneStep = 1.5;

std::string seconds_of(double ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", ns / 1e9);
  return text;
}

// The mean of the differences that are of one step.
double step_of(const std::vector<TimeAtLine>& times) {
  std::int64_t least = times[1].ns - times[0].ns;
  for (std::size_t i = 2; i < times.size(); ++i) least = std::min(least, times[i].ns - times[i - 1].ns);
  double sum = 0, count = 0;
  for (std::size_t i = 1; i < times.size(); ++i)
    if (const auto d = static_cast<double>(times[i].ns - times[i - 1].ns);
        d < kStillOneStep * static_cast<double>(least))
      sum += d, ++count;
  return sum / count;
}

}  // namespace

bool read_seconds(std::string_view text, std::int64_t& ns) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double about = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), about);
  if (error != std::errc() || end != text.data() + text.size() || !(std::abs(about) <= kMostModelSeconds))
    return false;
  const std::size_t point = text.find('.');
  ns = std::llround(about * 1e9);
  if (text.find_first_not_of("-.0123456789") != std::string_view::npos) return true;
  // A double has not all digits of times since 1970.
  const bool negative = text.starts_with('-');
  std::int64_t whole = 0, part = 0;
  const std::string_view digits =
      text.substr(negative ? 1 : 0, std::min(point, text.size()) - (negative ? 1 : 0));
  if (!digits.empty() && !read_integer(digits, whole)) return true;
  std::int64_t unit = kSecond / 10;
  for (std::size_t i = point == std::string_view::npos ? text.size() : point + 1; i < text.size();
       ++i, unit /= 10) {
    if (unit == 0) {
      part += text[i] >= '5' ? 1 : 0;
      break;
    }
    part += (text[i] - '0') * unit;
  }
  ns = (whole * kSecond + part) * (negative ? -1 : 1);
  return true;
}

std::int64_t Steps::slice_of(std::int64_t ns) const {
  const double step = static_cast<double>(to - from) / static_cast<double>(slices);
  return std::min(std::llround(static_cast<double>(ns - from) / step), static_cast<long long>(slices) - 1);
}

Result<Steps> regular_steps(std::vector<TimeAtLine> times, const Source& source) {
  const auto earlier = [](const TimeAtLine& a, const TimeAtLine& b) {
    return a.ns != b.ns ? a.ns < b.ns : a.line < b.line;
  };
  std::sort(times.begin(), times.end(), earlier);
  times.erase(
      std::unique(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.ns == b.ns; }),
      times.end());
  const std::int64_t from = times.front().ns, length = times.back().ns - from;
  if (times.size() == 1) return Steps{from, from + kSecond, 1};
  if (length > kLongest)
    return source.wrong(times.back().line,
                        "times from " + seconds_of(static_cast<double>(from)) + " to " +
                            seconds_of(static_cast<double>(times.back().ns)) + " s are more than 4e9 s apart",
                        ErrorCode::kLimit);
  const double rough = step_of(times);
  const double count = std::round(static_cast<double>(length) / rough);
  if (count + 1 > static_cast<double>(kMostModelSlices))
    return source.wrong(times.back().line,
                        "times from " + seconds_of(static_cast<double>(from)) + " to " +
                            seconds_of(static_cast<double>(times.back().ns)) + " s are more than " +
                            std::to_string(kMostModelSlices) + " steps of " + seconds_of(rough) + " s",
                        ErrorCode::kLimit);
  const double step = static_cast<double>(length) / count;
  const TimeAtLine* wrong = nullptr;
  for (const TimeAtLine& t : times) {
    const auto since = static_cast<double>(t.ns - from);
    if (std::abs(since - std::round(since / step) * step) > kOff * step + 1 &&
        (!wrong || t.line < wrong->line))
      wrong = &t;
  }
  if (wrong != nullptr)
    return source.wrong(wrong->line, "the time " + seconds_of(static_cast<double>(wrong->ns)) +
                                         " s is not a whole number of steps of " + seconds_of(step) +
                                         " s behind " + seconds_of(static_cast<double>(from)) +
                                         " s: times have to be regular");
  return Steps{from, times.back().ns + std::llround(step), static_cast<std::uint64_t>(count) + 1};
}

}  // namespace margay::daemon::internal
