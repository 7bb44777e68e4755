#include "paje_time.h"

#include <algorithm>
#include <charconv>

namespace margay::trace::paje {
namespace {

constexpr std::int64_t kPowers[] = {1,       10,        100,        1'000,       10'000,
                                    100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Any form: the digits as they stand, and where the point is among them once the exponent is applied.
std::optional<std::int64_t> parse_slow(std::string_view text, bool negative) {
  constexpr std::int64_t kMostExponent = 100'000;
  std::size_t digits = 0, before_point = 0, at = 0;
  bool point = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
    if (text[at] == '.') {
      point = true;
    } else {
      ++digits;
      before_point += point ? 0 : 1;
    }
  }
  if (digits == 0) return std::nullopt;
  const std::string_view mantissa = text.substr(0, at);
  std::int64_t exponent = 0;
  if (at < text.size()) {
    if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
    std::string_view rest = text.substr(at + 1);
    if (rest.starts_with('+') && rest.size() > 1 && is_digit(rest[1])) rest.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
    if (error != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
    exponent = std::clamp(exponent, -kMostExponent, kMostExponent);
  }
  // So many digits make the nanoseconds; the next one rounds.
  const std::int64_t wanted = static_cast<std::int64_t>(before_point) + exponent + 9;
  std::int64_t ns = 0, seen = 0;
  bool up = false;
  for (const char c : mantissa) {
    if (c == '.') continue;
    if (seen == wanted) up = c >= '5';
    if (seen < wanted) {
      if (ns > kLatestTime / 10) return std::nullopt;
      ns = ns * 10 + (c - '0');
    }
    ++seen;
  }
  for (; seen < wanted && ns != 0; ++seen) {
    if (ns > kLatestTime / 10) return std::nullopt;
    ns *= 10;
  }
  ns += up ? 1 : 0;
  if (ns > kLatestTime) return std::nullopt;
  return negative ? -ns : ns;
}

}  // namespace

std::optional<std::int64_t> parse_time(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool negative = at != end && *at == '-';
  if (at != end && (*at == '-' || *at == '+')) ++at;
  const std::string_view number(at, static_cast<std::size_t>(end - at));
  // The form that traces have: up to 10 digits, a point, up to 9 digits.
  std::int64_t whole = 0;
  const char* const begin = at;
  const char* const most_whole = end - at > 11 ? at + 11 : end;
  while (at != most_whole && is_digit(*at)) whole = whole * 10 + (*at++ - '0');
  if (whole >= kLatestTime / kPowers[9]) return parse_slow(number, negative);
  std::int64_t part = 0;
  std::ptrdiff_t places = 0;
  if (at != end && *at == '.') {
    const char* const point = ++at;
    const char* const most = end - at > 9 ? at + 9 : end;
    while (at != most && is_digit(*at)) part = part * 10 + (*at++ - '0');
    places = at - point;
  }
  if (at != end || at - begin <= (places == 0 && begin != end && *begin == '.' ? 1 : 0))
    return parse_slow(number, negative);
  const std::int64_t ns = whole * kPowers[9] + part * kPowers[9 - places];
  return negative ? -ns : ns;
}

}  // namespace margay::trace::paje
