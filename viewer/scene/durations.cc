#include "durations.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "margay/base/text.h"
#include "margay/scene/time_axis.h"

namespace margay::scene {
namespace {

using internal::kDay;
using internal::kHour;
using internal::kMinute;
using internal::kSecond;

std::uint64_t magnitude(std::int64_t ns) {
  return ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
}

// ns / 10^digits, with as many decimals as there are.
std::string decimal(std::uint64_t ns, std::size_t digits) {
  std::string text = std::to_string(ns);
  if (text.size() <= digits) text.insert(0, digits + 1 - text.size(), '0');
  std::string fraction = text.substr(text.size() - digits);
  text.resize(text.size() - digits);
  while (fraction.ends_with('0')) fraction.pop_back();
  return fraction.empty() ? text : text + "." + fraction;
}

std::string joined(const std::string& text, const std::string& more) {
  return text.empty() ? more : text + " " + more;
}

}  // namespace

std::string exact_text(DurationNs duration) {
  std::uint64_t ns = magnitude(duration.value);
  std::string text;
  if (ns < static_cast<std::uint64_t>(kMinute)) {
    const bool seconds = ns == 0 || ns >= 1'000'000'000;
    text = seconds           ? decimal(ns, 9) + " s"
           : ns >= 1'000'000 ? decimal(ns, 6) + " ms"
           : ns >= 1'000     ? decimal(ns, 3) + " µs"
                             : decimal(ns, 0) + " ns";
  } else {
    for (const auto& [length, name] : {std::pair{kDay, "d"}, {kHour, "h"}, {kMinute, "min"}}) {
      const auto one = static_cast<std::uint64_t>(length);
      if (ns >= one) text = joined(text, std::to_string(ns / one) + " " + name);
      ns %= one;
    }
    if (ns != 0) text = joined(text, decimal(ns, 9) + " s");
  }
  return duration.value < 0 ? "-" + text : text;
}

std::string duration_text(DurationNs duration) {
  const std::uint64_t ns = magnitude(duration.value);
  const auto rounded = [&](std::uint64_t to) { return (ns / to + (ns % to >= (to + 1) / 2 ? 1 : 0)) * to; };
  constexpr auto kMin = static_cast<std::uint64_t>(kMinute), kH = static_cast<std::uint64_t>(kHour),
                 kD = static_cast<std::uint64_t>(kDay);
  std::uint64_t unit = 1;
  if (ns < kMin) {  // three digits, of the number's own size
    while (ns / unit >= 1000) unit *= 10;
  } else {
    unit = static_cast<std::uint64_t>(ns < kH ? kSecond : ns < kD ? kMinute : kHour);
  }
  const std::uint64_t value = std::min(rounded(unit), static_cast<std::uint64_t>(INT64_MAX));
  const std::string text = exact_text(DurationNs(static_cast<std::int64_t>(value)));
  return duration.value < 0 ? "-" + text : text;
}

Result<DurationNs> parse_duration(std::string_view text) {
  const std::string shown = "\"" + clean_utf8(text, 60) + "\"";
  const auto wrong = [&](const std::string& why) {
    return fail(ErrorCode::kInvalidArgument, shown + why + "; times look like 12.5 s, 1 min 30 s or 250 ms");
  };
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1},        {"us", 1e3},   {"µs", 1e3},
                                                            {"\u03BCs", 1e3}, {"ms", 1e6},   {"s", 1e9},
                                                            {"min", 60e9},    {"h", 3600e9}, {"d", 86400e9}};
  std::string_view rest = text;
  const auto skip = [&] {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
  };
  skip();
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  double ns = 0;
  int numbers = 0;
  for (skip(); !rest.empty(); skip(), ++numbers) {
    std::size_t length = 0;
    while (length < rest.size() &&
           std::string_view("0123456789.,").find(rest[length]) != std::string_view::npos)
      ++length;
    std::string number(rest.substr(0, length));
    if (std::count(number.begin(), number.end(), ',') == 1 && number.find('.') == std::string::npos)
      number[number.find(',')] = '.';
    double value = 0;
    const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (length == 0 || error != std::errc() || stop != number.data() + number.size())
      return wrong(" is not a time");
    rest.remove_prefix(length);
    skip();
    length = 0;
    while (length < rest.size() &&
           std::string_view("0123456789., \t").find(rest[length]) == std::string_view::npos)
      ++length;
    const std::string_view name = rest.substr(0, length);
    if (name.empty() && (numbers > 0 || !rest.empty())) return wrong(" has a number without a unit");
    const auto unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                   [&](const auto& u) { return u.first == (name.empty() ? "s" : name); });
    if (unit == std::end(kUnits)) return wrong(" has an unknown unit, " + clean_utf8(name, 20));
    rest.remove_prefix(length);
    ns += value * unit->second;
  }
  if (numbers == 0) return wrong(" is not a time");
  if (!(ns < 9.2e18)) return wrong(" is too long");
  const std::int64_t value = std::llround(ns);
  return DurationNs(negative ? -value : value);
}

}  // namespace margay::scene
