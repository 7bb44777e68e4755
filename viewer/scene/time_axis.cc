#include "margay/scene/time_axis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "clock.h"
#include "durations.h"

namespace margay::scene {
namespace {

using Wide = __int128;

// See the header; ascending.
std::vector<std::int64_t> all_steps() {
  using namespace internal;
  std::vector<std::int64_t> steps;
  for (std::int64_t unit = 1; unit <= kSecond; unit *= 10)
    for (const std::int64_t k : {1, 2, 5}) steps.push_back(k * unit);
  for (const std::int64_t s : {10, 20, 30}) steps.push_back(s * kSecond);
  for (const std::int64_t min : {1, 2, 5, 10, 20, 30}) steps.push_back(min * kMinute);
  for (const std::int64_t h : {1, 2, 6, 12}) steps.push_back(h * kHour);
  for (std::int64_t unit = kDay; unit <= 10'000 * kDay; unit *= 10)
    for (const std::int64_t k : {1, 2, 5}) steps.push_back(k * unit);
  steps.push_back(100'000 * kDay);  // more do not fit 64 bits
  return steps;
}

struct UnitOfAxis {
  std::int64_t ns = 0;  // 0: as fits
  const char* text = "";
};
UnitOfAxis unit_of_axis(const Times& times) {
  if (times.clock()) return {};
  switch (times.unit) {
    case TimeUnit::kHours:
      return {internal::kHour, " h"};
    case TimeUnit::kMinutes:
      return {internal::kMinute, " min"};
    case TimeUnit::kSeconds:
      return {internal::kSecond, " s"};
    case TimeUnit::kMilliseconds:
      return {internal::kSecond / 1000, " ms"};
    case TimeUnit::kMicroseconds:
      return {internal::kSecond / 1'000'000, " µs"};
    case TimeUnit::kAuto:
      break;
  }
  return {};
}

// 1, 2, 5 times a power of ten of the unit, ascending: all that are whole nanoseconds and fit 64 bits.
std::vector<std::int64_t> steps_in(std::int64_t unit_ns) {
  std::vector<std::int64_t> steps;
  std::int64_t least = unit_ns;
  while (least % 10 == 0) least /= 10;
  for (std::int64_t decade = least; decade < INT64_MAX / 50; decade *= 10)
    for (const std::int64_t k : {1, 2, 5}) steps.push_back(k * decade);
  return steps;
}

// Exactly, and as it can be typed: "-1500.25 ms". What has no end in its unit is cut behind twelve digits.
std::string text_in(Wide ns, const UnitOfAxis& unit) {
  const bool before = ns < 0;
  if (before) ns = -ns;
  std::string out = (before ? "-" : "") + std::to_string(static_cast<std::uint64_t>(ns / unit.ns));
  Wide rest = ns % unit.ns;
  for (int digit = 0; rest > 0 && digit < 12; ++digit) {
    if (digit == 0) out += '.';
    rest *= 10;
    out += static_cast<char>('0' + static_cast<int>(rest / unit.ns));
    rest %= unit.ns;
  }
  return out + unit.text;
}

Wide floor_div(Wide a, Wide b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

class Ruler {
 public:
  // By the clock ticks count from the midnight before the run, and so lie on whole steps of its days.
  Ruler(TimeRange range, const Times& times, double width)
      : range_(range),
        times_(times),
        unit_(unit_of_axis(times)),
        zero_(times.zero),
        px_per_ns_(width / static_cast<double>(length(range))) {
    if (!times.clock()) return;
    const std::int64_t day = internal::local_time(times.zero, *times.utc_offset_s).day;
    zero_ = internal::trace_time({day, 0}, *times.utc_offset_s);
  }

  static Wide length(TimeRange r) { return Wide{r.to.value} - r.from.value; }
  double px(std::int64_t step) const { return static_cast<double>(step) * px_per_ns_; }
  // Of the ticks of this step that lie in the range, zero + k * step, the first and last k.
  Wide first(std::int64_t step) const { return -floor_div(Wide{zero_.value} - range_.from.value, step); }
  Wide last(std::int64_t step) const { return floor_div(Wide{range_.to.value} - zero_.value, step); }
  Tick tick(Wide k, std::int64_t step) const {
    Tick t;
    const Wide since = k * step, time = since + zero_.value;
    t.time = TimeNs(static_cast<std::int64_t>(time));  // within the range, hence within 64 bits
    t.x = static_cast<double>(time - range_.from.value) * px_per_ns_;
    return t;
  }
  // Labels are `from_label` apart: seconds are written where these are no whole minutes.
  std::string label(Wide k, std::int64_t step, std::int64_t from_label) const {
    using Limits = std::numeric_limits<std::int64_t>;
    const auto near = [](Wide x) {
      return static_cast<std::int64_t>(std::clamp<Wide>(x, Limits::min(), Limits::max()));
    };
    if (unit_.ns > 0) return text_in(k * step, unit_);
    if (!times_.clock()) return exact_text(DurationNs(near(k * step)));
    const internal::LocalTime t =
        internal::local_time(TimeNs(near(k * step + zero_.value)), *times_.utc_offset_s);
    const std::string time = internal::of_day_text(t.of_day, from_label % internal::kMinute != 0);
    return times_.dated ? internal::day_text(t.day).substr(5) + " " + time : time;
  }

 private:
  TimeRange range_;
  const Times& times_;
  UnitOfAxis unit_;
  TimeNs zero_;
  double px_per_ns_;
};

}  // namespace

Axis time_axis(TimeRange range, const Times& times, const AxisOptions& options) {
  Axis axis;
  if (!(range.from < range.to) || !(options.width > 0) || !std::isfinite(options.width)) return axis;
  static const std::vector<std::int64_t> kFitting = all_steps();
  const std::int64_t unit = unit_of_axis(times).ns;
  const std::vector<std::int64_t> in_unit = unit > 0 ? steps_in(unit) : std::vector<std::int64_t>();
  const std::vector<std::int64_t>& steps = unit > 0 ? in_unit : kFitting;
  const Ruler ruler(range, times, options.width);
  const double character = std::max(options.character_px, 0.1), gap = std::max(options.gap_px, 0.0);
  // The shortest label is "0 s": what has no room for that need not be tried.
  const auto fits = [&](std::int64_t step) {
    const double room = ruler.px(step) - gap;
    if (room < 3 * character) return false;
    const Wide first = ruler.first(step), last = ruler.last(step);
    if (last - first >= static_cast<Wide>(kMostTicks)) return false;
    for (Wide k = first; k <= last; ++k)
      if (static_cast<double>(characters(ruler.label(k, step, step))) * character > room) return false;
    return true;
  };
  const auto found = std::find_if(steps.begin(), steps.end(), fits);
  const std::int64_t step = found == steps.end() ? steps.back() : *found;
  axis.step = DurationNs(step);
  // Between two labels the closest ticks that fall on them and have room.
  std::int64_t fine = step;
  for (auto it = steps.begin(); it != steps.end() && *it < step; ++it)
    if (step % *it == 0 && ruler.px(*it) >= std::max(options.least_tick_px, 1.0) &&
        ruler.last(*it) - ruler.first(*it) < static_cast<Wide>(kMostTicks)) {
      fine = *it;
      break;
    }
  for (Wide k = ruler.first(fine); k <= ruler.last(fine); ++k) {
    Tick tick = ruler.tick(k, fine);
    if (k % (step / fine) == 0) tick.label = ruler.label(k, fine, step);
    axis.ticks.push_back(std::move(tick));
  }
  return axis;
}

}  // namespace margay::scene
