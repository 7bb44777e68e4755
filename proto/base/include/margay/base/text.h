// Text from outside made fit for messages, files and terminals; numbers made fit for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>

namespace margay {

// `text` with every byte that is not part of valid UTF-8, or is a control character, made a '?'. A message
// that carries other bytes cannot be decoded by whoever receives it. Cost: one pass.
inline std::string clean_utf8(std::string text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char c = byte(i);
    std::size_t length = c < 0x80                ? 1
                         : c >= 0xc2 && c < 0xe0 ? 2
                         : c >= 0xe0 && c < 0xf0 ? 3
                         : c >= 0xf0 && c < 0xf5 ? 4
                                                 : 0;
    bool good = length != 0 && i + length <= text.size() && c >= 0x20 && c != 0x7f;
    for (std::size_t k = 1; good && k < length; ++k) good = (byte(i + k) & 0xc0) == 0x80;
    if (good && length == 3)  // overlong, surrogates
      good = !(c == 0xe0 && byte(i + 1) < 0xa0) && !(c == 0xed && byte(i + 1) >= 0xa0);
    if (good && length == 4) good = !(c == 0xf0 && byte(i + 1) < 0x90) && !(c == 0xf4 && byte(i + 1) >= 0x90);
    if (!good) {
      text[i] = '?';
      length = 1;
    }
    i += length;
  }
  return text;
}

// At most the first `most` bytes of it, and no character cut in two.
inline std::string_view cut_utf8(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}
inline std::string clean_utf8(std::string_view text, std::size_t most) {
  return clean_utf8(std::string(cut_utf8(text, most)));
}

// "1,234,567".
inline std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

// "117 B", "1.5 KiB", "117.7 MiB": bytes.
inline std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = static_cast<double>(bytes);
  std::size_t u = 0;
  while (v >= 1024 && u + 1 < std::size(kUnits)) v /= 1024, ++u;
  char text[32];
  std::snprintf(text, sizeof text, u == 0 ? "%.0f %s" : "%.1f %s", v, kUnits[u]);
  return text;
}

// "1st", "2nd", "3rd", "14th".
inline std::string ordinal(std::uint64_t n) {
  const char* end = "th";
  if (n / 10 % 10 != 1) {
    if (n % 10 == 1) end = "st";
    if (n % 10 == 2) end = "nd";
    if (n % 10 == 3) end = "rd";
  }
  return std::to_string(n) + end;
}

}  // namespace margay
