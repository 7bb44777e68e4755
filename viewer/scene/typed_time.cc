// What somebody types as a stretch of time: times.h.
#include <algorithm>
#include <charconv>
#include <utility>

#include "clock.h"
#include "durations.h"
#include "margay/base/calendar.h"
#include "margay/base/text.h"
#include "margay/scene/time_axis.h"
#include "margay/scene/times.h"

namespace margay::scene {
namespace {

using internal::kDay;
using internal::minus;
using internal::plus;

std::string_view unpadded(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

tl::unexpected<Error> wrong_time(const std::string& sentence) {
  return fail(ErrorCode::kInvalidArgument, sentence);
}

std::string in_quotes(std::string_view text) {
  return "\"" + clean_utf8(text, 60) + "\"";
}

// A number of so many digits off the front, from least to most.
std::optional<int> digits(std::string_view& text, std::size_t fewest, std::size_t most, int least, int last) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<std::size_t>(stop - text.data());
  if (error != std::errc() || text.front() == '-' || length < fewest || length > most || value < least ||
      value > last)
    return std::nullopt;
  text.remove_prefix(length);
  return value;
}

bool skip(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// "12:38", "12:38:05", "12:38:05.25": ns of the day.
std::optional<std::int64_t> time_of_day(std::string_view text) {
  const auto hour = digits(text, 1, 2, 0, 23);
  if (!hour || !skip(text, ':')) return std::nullopt;
  const auto minute = digits(text, 2, 2, 0, 59);
  if (!minute) return std::nullopt;
  std::int64_t ns = *hour * internal::kHour + *minute * internal::kMinute;
  if (text.empty()) return ns;
  const auto second = skip(text, ':') ? digits(text, 2, 2, 0, 59) : std::nullopt;
  if (!second) return std::nullopt;
  ns += *second * internal::kSecond;
  if (text.empty()) return ns;
  if (!skip(text, '.') || text.empty() || text.size() > 9) return std::nullopt;
  std::int64_t unit = internal::kSecond;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text.front() < '0' || text.front() > '9') return std::nullopt;
    ns += (text.front() - '0') * (unit /= 10);
  }
  return ns;
}

// "2026-11-20", with a blank or a T behind it, off the front.
std::optional<std::int64_t> day_before_time(std::string_view& text) {
  const auto year = digits(text, 4, 4, 1970, 2262);
  if (!year || !skip(text, '-')) return std::nullopt;
  const auto month = digits(text, 2, 2, 1, 12);
  if (!month || !skip(text, '-')) return std::nullopt;
  const auto day = digits(text, 2, 2, 1, 31);
  if (!day || !(skip(text, ' ') || skip(text, 'T'))) return std::nullopt;
  const CalendarDay found{*year, *month, *day};
  if (!is_calendar_day(found)) return std::nullopt;
  text = unpadded(text);
  return days_since_1970(found);
}

class TimeParser {
 public:
  TimeParser(TimeRange seen, std::optional<TimeRange> bounds, const Times& times)
      : seen_(seen), bounds_(bounds), times_(times) {}

  Result<TimeRange> parse(std::string_view typed) const {
    typed = unpadded(typed);
    if (typed.empty())
      return wrong_time(
          std::string("a time is missing; times look like 34.5..36, 34.5+10 s, +10 s, 34.5 or all") +
          (times_.utc_offset_s ? ", or 12:38:05..12:39" : ""));
    if (typed == "all") {
      if (!bounds_) return wrong_time("how long the run is is not known yet");
      return checked(bounds_->from, bounds_->to);
    }
    if (const auto dots = typed.find(".."); dots != std::string_view::npos)
      return between(typed.substr(0, dots), typed.substr(dots + 2));
    if (const auto plus_at = typed.find('+'); plus_at != std::string_view::npos)
      return from_on(unpadded(typed.substr(0, plus_at)), typed.substr(plus_at + 1));
    if (typed.starts_with('-')) {
      const auto length = parse_duration(typed);
      if (!length) return tl::unexpected(length.error());
      return checked(TimeNs(plus(seen_.to.value, length->value)), seen_.to);
    }
    return around(typed);
  }

 private:
  TimeNs middle() const {
    return TimeNs(plus(seen_.from.value, minus(seen_.to.value, seen_.from.value) / 2));
  }
  bool is_within(TimeNs t) const { return !bounds_ || (t >= bounds_->from && t <= bounds_->to); }
  TimeNs at(std::int64_t day, std::int64_t of_day) const {
    return internal::trace_time({day, of_day}, *times_.utc_offset_s);
  }

  // `after`: what stands before "..", for a time of day without a day.
  Result<TimeNs> moment(std::string_view typed, std::optional<TimeNs> after = std::nullopt) const {
    const std::string_view text = unpadded(typed);
    if (text.find(':') == std::string_view::npos) {
      const auto since = parse_duration(text);
      if (!since) return tl::unexpected(since.error());
      return TimeNs(plus(times_.zero.value, since->value));
    }
    if (!times_.utc_offset_s)
      return wrong_time(in_quotes(text) +
                        " is a time of day, which this run's times do not tell: they count from its begin, "
                        "as in 12.5 s");
    std::string_view rest = text;
    const auto day = text.find('-') == std::string_view::npos ? std::nullopt : day_before_time(rest);
    const auto of_day = time_of_day(rest);
    if (!of_day || (!day && rest.size() != text.size()))
      return wrong_time(in_quotes(text) +
                        " is not a time of day; those look like 12:38, 12:38:05.25 or 2026-11-20 12:38");
    if (day) return at(*day, *of_day);
    return after ? next(*of_day, *after) : nearest(*of_day);
  }

  TimeNs nearest(std::int64_t of_day) const {
    const std::int64_t today = internal::local_time(middle(), *times_.utc_offset_s).day;
    TimeNs best{};
    std::pair<bool, std::int64_t> least{true, INT64_MAX};
    for (const std::int64_t day : {today, today - 1, today + 1}) {
      const TimeNs t = at(day, of_day);
      const std::int64_t off = minus(t.value, middle().value);
      const std::pair<bool, std::int64_t> found{!is_within(t), off < 0 ? minus(0, off) : off};
      if (found < least) best = t, least = found;
    }
    return best;
  }

  TimeNs next(std::int64_t of_day, TimeNs after) const {
    const internal::LocalTime from = internal::local_time(after, *times_.utc_offset_s);
    const TimeNs same = at(from.day, of_day), tomorrow = at(from.day + 1, of_day);
    return of_day >= from.of_day || !is_within(tomorrow) ? same : tomorrow;
  }

  // REQUIRES: it is known.
  std::string run() const {
    return short_time_text(bounds_->from, times_) + " to " + short_time_text(bounds_->to, times_);
  }

  Result<TimeRange> checked(TimeNs from, TimeNs to) const {
    if (to < from) std::swap(from, to);
    if (from == to)
      return wrong_time(typed_text({from, to}, times_) + " is no stretch of time: it ends where it begins");
    if (bounds_ && (to <= bounds_->from || from >= bounds_->to))
      return wrong_time(typed_text({from, to}, times_) + " is outside of the run, which has " + run());
    return TimeRange{from, to};
  }

  Result<TimeRange> between(std::string_view begin, std::string_view end) const {
    const auto from = moment(begin);
    if (!from) return tl::unexpected(from.error());
    const auto to = moment(end, *from);
    if (!to) return tl::unexpected(to.error());
    return checked(*from, *to);
  }

  Result<TimeRange> from_on(std::string_view begin, std::string_view length) const {
    const auto from = begin.empty() ? Result<TimeNs>(seen_.from) : moment(begin);
    if (!from) return tl::unexpected(from.error());
    const auto duration = parse_duration(length);
    if (!duration) return tl::unexpected(duration.error());
    return checked(*from, TimeNs(plus(from->value, duration->value)));
  }

  Result<TimeRange> around(std::string_view typed) const {
    const auto t = moment(typed);
    if (!t) return tl::unexpected(t.error());
    if (!is_within(*t))
      return wrong_time(time_text(*t, times_) + " is outside of the run, which has " + run());
    const bool all = !bounds_ || (seen_.from <= bounds_->from && seen_.to >= bounds_->to);
    const std::int64_t half = minus(seen_.to.value, seen_.from.value) / (all ? 20 : 2);
    return checked(TimeNs(minus(t->value, half)), TimeNs(plus(t->value, half)));
  }

  const TimeRange seen_;
  const std::optional<TimeRange> bounds_;
  const Times times_;
};

}  // namespace

Result<TimeRange> parse_time_range(std::string_view typed, TimeRange seen, std::optional<TimeRange> bounds,
                                   const Times& times) {
  return TimeParser(seen, bounds, times).parse(typed);
}

}  // namespace margay::scene
