// What somebody types as a stretch of time: times.h.
#include <algorithm>
#include <utility>

#include "clock.h"
#include "durations.h"
#include "margay/base/text.h"
#include "margay/base/time_of_day.h"
#include "margay/scene/time_axis.h"
#include "margay/scene/times.h"

namespace margay::scene {
namespace {

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
    if (!looks_like_time_of_day(text)) {
      const auto since = parse_duration(text);
      if (!since) return tl::unexpected(since.error());
      return TimeNs(plus(times_.zero.value, since->value));
    }
    if (!times_.utc_offset_s)
      return wrong_time(in_quotes(text) +
                        " is a time of day, which this run's times do not tell: they count from its begin, "
                        "as in 12.5 s");
    const auto typed_time = parse_time_of_day(text);
    if (!typed_time) return tl::unexpected(typed_time.error());
    if (typed_time->day) return at(*typed_time->day, typed_time->of_day);
    return after ? next(typed_time->of_day, *after) : nearest(typed_time->of_day);
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
