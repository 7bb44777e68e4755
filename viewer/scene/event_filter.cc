#include <charconv>
#include <cmath>

#include "margay/scene/event_pages.h"
#include "margay/scene/time_axis.h"

namespace margay::scene {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

template <class T>
struct Bounds {
  T least{}, most{};
};

// `one` reads one end.
template <class T, class One>
Result<Bounds<T>> parse_bounds(std::string_view text, const One& one) {
  Bounds<T> out;
  text = without_blanks(text);
  if (text.empty()) return out;
  std::string_view least = text, most;
  if (const std::size_t dots = text.find(".."); dots != std::string_view::npos) {
    least = text.substr(0, dots), most = text.substr(dots + 2);
  } else if (text.front() == '<') {
    least = {}, most = text.substr(text.starts_with("<=") ? 2 : 1);
  } else if (text.front() == '>') {
    least = text.substr(text.starts_with(">=") ? 2 : 1);
  }
  for (const auto& [from, to] :
       {std::pair(without_blanks(least), &out.least), std::pair(without_blanks(most), &out.most)}) {
    if (from.empty()) continue;
    const Result<T> value = one(from);
    if (!value) return tl::unexpected(value.error());
    *to = *value;
  }
  if (out.most != T{} && out.most < out.least)
    return fail(ErrorCode::kInvalidArgument, "\"" + std::string(text) + "\": the end is before the begin");
  return out;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto wrong = [&] {
    return fail(ErrorCode::kInvalidArgument,
                "\"" + std::string(text) + "\" is not a size; examples: 4096, 4 KiB, 1.5 MiB");
  };
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return wrong();
  const std::string_view unit = without_blanks(text.substr(static_cast<std::size_t>(end - text.data())));
  double factor = 0;
  for (const auto& [name, of] :
       {std::pair("", 1.0), std::pair("B", 1.0), std::pair("KiB", 0x1p10), std::pair("MiB", 0x1p20),
        std::pair("GiB", 0x1p30), std::pair("kB", 1e3), std::pair("MB", 1e6), std::pair("GB", 1e9)})
    if (unit == name) factor = of;
  value *= factor;
  if (factor == 0 || !(value >= 0 && value < 0x1p62)) return wrong();
  return static_cast<std::uint64_t>(value);
}

}  // namespace

Result<DurationBounds> parse_durations(std::string_view text) {
  const auto one = [](std::string_view end) -> Result<DurationNs> {
    auto d = parse_duration(end);
    if (d && *d < DurationNs(0))
      return fail(ErrorCode::kInvalidArgument,
                  "\"" + std::string(end) + "\": nothing lasts less than no time");
    return d;
  };
  const auto bounds = parse_bounds<DurationNs>(text, one);
  if (!bounds) return tl::unexpected(bounds.error());
  return DurationBounds{bounds->least, bounds->most};
}

Result<ByteBounds> parse_bytes(std::string_view text) {
  const auto bounds = parse_bounds<std::uint64_t>(text, parse_size);
  if (!bounds) return tl::unexpected(bounds.error());
  return ByteBounds{bounds->least, bounds->most};
}

Result<std::optional<std::int32_t>> parse_partner(std::string_view text) {
  std::string_view digits = without_blanks(text);
  if (digits.empty()) return std::optional<std::int32_t>();
  if (digits.starts_with("rank")) digits = without_blanks(digits.substr(4));
  std::int32_t rank = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (error != std::errc() || end != digits.data() + digits.size() || rank < 0)
    return fail(ErrorCode::kInvalidArgument, "\"" + std::string(text) + "\" is no rank; example: 3");
  return std::optional(rank);
}

}  // namespace margay::scene
