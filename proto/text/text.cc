#include "margay/text/text.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>

namespace margay::text {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Range {
  char32_t first, last;
};
// Kept, one column. Blocks where wcwidth and every terminal in use agree; holes are marks, controls and signs
// that some draw as wide pictures.
constexpr Range kNarrow[] = {{0x20, 0x7E},     {0xA1, 0xAC},     {0xAE, 0x2FF},    {0x370, 0x377},
                             {0x37A, 0x37F},   {0x384, 0x38A},   {0x38E, 0x3A1},   {0x3A3, 0x482},
                             {0x48A, 0x52F},   {0x1E00, 0x1EFF}, {0x2010, 0x2027}, {0x2030, 0x205E},
                             {0x2070, 0x2071}, {0x2074, 0x208E}, {0x20A0, 0x20BF}, {0x2100, 0x218B},
                             {0x2190, 0x2319}, {0x2500, 0x25FC}, {0xFFFD, 0xFFFD}};
constexpr Range kWide[] = {{0x3041, 0x3096}, {0x30A0, 0x30FF}, {0x3400, 0x4DBF},
                           {0x4E00, 0x9FFF}, {0xAC00, 0xD7A3}, {0xFF01, 0xFF60}};

template <std::size_t N>
bool among(const Range (&ranges)[N], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [c](const Range& r) { return c >= r.first && c <= r.last; });
}

std::string two_parts(std::int64_t a, const char* unit_a, std::int64_t b, const char* unit_b) {
  return std::to_string(a) + unit_a + std::to_string(b) + unit_b;
}

}  // namespace

int columns_of(char32_t c) {
  if (c >= 0x20 && c <= 0x7E) return 1;
  if (among(kNarrow, c)) return 1;
  return among(kWide, c) ? 2 : 0;
}

char32_t next_character(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  std::size_t length = 1;
  char32_t c = lead;
  char32_t least = 0;
  if (lead >= 0x80) {
    if (lead >= 0xC2 && lead <= 0xDF) {
      length = 2, c = lead & 0x1Fu, least = 0x80;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      length = 3, c = lead & 0x0Fu, least = 0x800;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      length = 4, c = lead & 0x07u, least = 0x10000;
    } else {
      c = kReplacement;
    }
    bool broken = length > text.size();
    for (std::size_t i = 1; i < length && !broken; ++i) {
      broken = (byte(i) & 0xC0u) != 0x80u;
      c = (c << 6) | (byte(i) & 0x3Fu);
    }
    if (broken || c < least || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
      length = 1;
      c = kReplacement;
    }
  }
  text.remove_prefix(length);
  return c;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t b) { out.push_back(static_cast<char>(static_cast<unsigned char>(b))); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6)), put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12)), put(0x80 | ((c >> 6) & 0x3F)), put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18)), put(0x80 | ((c >> 12) & 0x3F)), put(0x80 | ((c >> 6) & 0x3F)),
        put(0x80 | (c & 0x3F));
  }
}

std::string printable(std::string_view text, bool unicode, std::size_t most_columns) {
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    char32_t c = next_character(text);
    int columns = columns_of(c);
    if (columns == 0 || (!unicode && c >= 0x80)) {
      c = unicode ? kReplacement : U'?';
      columns = 1;
    }
    used += static_cast<std::size_t>(columns);
    if (used > most_columns) break;
    append_utf8(out, c);
  }
  return out;
}

std::size_t width_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) columns += static_cast<std::size_t>(columns_of(next_character(text)));
  return columns;
}

std::string shortened(std::string_view text, std::size_t columns, bool unicode) {
  if (width_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  return printable(text, unicode, columns - 1) + (unicode ? "\u2026" : "~");
}

std::string duration_text(std::int64_t ns) {
  const std::int64_t s = std::max<std::int64_t>(ns, 0) / 1'000'000'000;
  if (s < 100) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(std::max<std::int64_t>(ns, 0)) * 1e-9);
    return text;
  }
  if (s < 3600) return two_parts(s / 60, " min ", s % 60, " s");
  if (s < 86400) return two_parts(s / 3600, " h ", s / 60 % 60, " min");
  return two_parts(s / 86400, " d ", s / 3600 % 24, " h");
}

std::string seconds_text(std::int64_t ns) {
  const std::uint64_t size = ns < 0 ? ~static_cast<std::uint64_t>(ns) + 1 : static_cast<std::uint64_t>(ns);
  char text[40];
  std::snprintf(text, sizeof text, "%s%llu.%09llu", ns < 0 ? "-" : "",
                static_cast<unsigned long long>(size / 1'000'000'000),
                static_cast<unsigned long long>(size % 1'000'000'000));
  return text;
}

std::string short_duration_text(std::int64_t ns) {
  if (ns < 1000) return std::to_string(std::max<std::int64_t>(0, ns)) + " ns";
  if (ns >= 60'000'000'000) return duration_text(ns);
  double value = static_cast<double>(ns);
  const char* const units[] = {"ns", "us", "ms", "s"};
  std::size_t unit = 0;
  // What would be rounded to a thousand is one of the next.
  while (unit + 1 < std::size(units) && value >= 999.5) value /= 1000, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
  return text;
}

std::string slice_text(std::int64_t ns) {
  char text[40];
  const double d = static_cast<double>(std::max<std::int64_t>(ns, 0));
  if (d >= 1e9)
    std::snprintf(text, sizeof text, "%.10g s", d * 1e-9);
  else
    std::snprintf(text, sizeof text, "%.6g ms", d * 1e-6);
  return text;
}

std::string date_text(TimeNs wall) {
  const std::time_t seconds = static_cast<std::time_t>(wall.value / 1'000'000'000);
  std::tm local{};
  char text[32] = "";
  if (localtime_r(&seconds, &local) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::string clock_text(std::int64_t unix_ns, std::int64_t utc_offset_s) {
  std::int64_t s = unix_ns / 1'000'000'000 - (unix_ns % 1'000'000'000 < 0 ? 1 : 0);
  s = (s % 86400 + utc_offset_s % 86400 + 2 * 86400) % 86400;
  char text[16];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d", static_cast<int>(s / 3600),
                static_cast<int>(s / 60 % 60), static_cast<int>(s % 60));
  return text;
}

std::int64_t minus(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (!__builtin_sub_overflow(a, b, &r)) return r;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}
std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (!__builtin_add_overflow(a, b, &r)) return r;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (!__builtin_mul_overflow(a, b, &r)) return r;
  return (a < 0) != (b < 0) ? std::numeric_limits<std::int64_t>::min()
                            : std::numeric_limits<std::int64_t>::max();
}

}  // namespace margay::text
