#include "margay/settings/units.h"

#include <array>
#include <charconv>
#include <limits>
#include <span>

namespace margay::config {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array<Unit, 7> kTimes = {{{"d", 86'400'000'000'000},
                                         {"h", 3'600'000'000'000},
                                         {"min", 60'000'000'000},
                                         {"s", 1'000'000'000},
                                         {"ms", 1'000'000},
                                         {"us", 1'000},
                                         {"ns", 1}}};
constexpr std::array<Unit, 4> kSizes = {{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}};

// The value in the smallest unit; nothing when the text is not a number and a unit, does not fit, or is not
// whole.
Result<std::int64_t> parse(std::string_view text, std::span<const Unit> units, const std::string& expected) {
  const auto refuse = [&] {
    return fail(ErrorCode::kInvalidArgument, "'" + std::string(text) + "' is not " + expected);
  };
  const std::size_t end = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, end);
  const std::string_view unit = end == std::string_view::npos ? std::string_view() : text.substr(end);
  std::int64_t factor = 0;
  for (const Unit& u : units)
    if (u.name == unit) factor = u.factor;
  if (number == "0" && unit.empty()) return 0;
  if (factor == 0 || number.empty() || number.front() == '.' || number.back() == '.') return refuse();
  // Digits as one integer over a power of ten; at most 19 of them, so that nothing below overflows.
  __extension__ using Wide = __int128;
  Wide digits = 0;
  Wide divisor = 1;
  bool fraction = false;
  if (number.size() > 19) return refuse();
  for (const char c : number) {
    if (c == '.') {
      if (fraction) return refuse();
      fraction = true;
      continue;
    }
    digits = digits * 10 + (c - '0');
    if (fraction) divisor *= 10;
  }
  const Wide value = digits * factor / divisor;
  if (digits * factor % divisor != 0 || value > std::numeric_limits<std::int64_t>::max()) return refuse();
  return static_cast<std::int64_t>(value);
}

std::string print(std::int64_t value, std::span<const Unit> units) {
  if (value != 0)
    for (const Unit& u : units)
      if (value % u.factor == 0) return std::to_string(value / u.factor) + std::string(u.name);
  return "0" + std::string(units.back().name);
}

}  // namespace

Result<DurationNs> parse_duration(std::string_view text) {
  const auto v = parse(text, kTimes, "a duration such as \"100ms\" (units: ns us ms s min h d)");
  if (!v) return fail(v.error().code, v.error().message);
  return DurationNs(*v);
}

Result<TimeNs> parse_moment(std::string_view text, TimeNs zero) {
  if (text.starts_with('@')) {
    std::int64_t ns = 0;
    const char* const end = text.data() + text.size();
    if (const auto r = std::from_chars(text.data() + 1, end, ns); r.ec == std::errc() && r.ptr == end)
      return TimeNs(ns);
    return fail(ErrorCode::kInvalidArgument, "after @ comes trace time in whole nanoseconds");
  }
  const bool bare = text.find_first_not_of("0123456789.") == std::string_view::npos;
  const auto d = text.empty() ? parse_duration(text)
                              : parse_duration(bare ? std::string(text) + "s" : std::string(text));
  if (!d)
    return fail(ErrorCode::kInvalidArgument,
                "expected seconds from the begin (12.5, 12.5s), another unit (ms, min, h), or @ and trace "
                "time in ns");
  std::int64_t sum = 0;
  if (__builtin_add_overflow(zero.value, d->value, &sum))
    return fail(ErrorCode::kInvalidArgument, "is after the end of time");
  return TimeNs(sum);
}

Result<SizeBytes> parse_size(std::string_view text) {
  const auto v = parse(text, kSizes, "a size such as \"64MiB\" (units: B KiB MiB GiB)");
  if (!v) return fail(v.error().code, v.error().message);
  return SizeBytes(static_cast<std::uint64_t>(*v));
}

std::string to_text(DurationNs d) {
  return print(d.value, kTimes);
}
std::string to_text(SizeBytes s) {
  return print(static_cast<std::int64_t>(s.value), kSizes);
}

}  // namespace margay::config
