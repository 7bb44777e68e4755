#include "screen_text.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <regex>

namespace margay::support {
namespace {

// Columns by the C library; -1 where a character is broken or not printable.
int columns(const std::string& text) {
  static const bool utf8 = std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
  if (!utf8) return -1;
  int sum = 0;
  std::mbstate_t state{};
  for (std::size_t at = 0; at < text.size();) {
    wchar_t c = 0;
    const std::size_t n = std::mbrtowc(&c, text.data() + at, text.size() - at, &state);
    if (n == 0 || n > 4) return -1;
    const int w = ::wcwidth(c);
    if (w < 1) return -1;
    sum += w;
    at += n;
  }
  return sum;
}

}  // namespace

unsigned seed(unsigned usual) {
  const char* given = std::getenv("MARGAY_TEST_SEED");
  const unsigned s = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : usual;
  std::printf("seed %u\n", s);
  return s;
}

void expect_frame(const std::vector<std::string>& lines, const terminal::View& view) {
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(view.height));
  static const std::regex sgr("\x1b\\[[0-9;]*m");
  for (const std::string& line : lines) {
    const std::string bare =
        view.colour == terminal::Colour::kNone ? line : std::regex_replace(line, sgr, std::string());
    const int w = columns(bare);
    ASSERT_GE(w, 0) << "not printable: " << testing::PrintToString(line);
    ASSERT_LE(w, view.width) << line;
    for (const char c : bare) ASSERT_TRUE(view.unicode || static_cast<unsigned char>(c) < 0x80) << line;
  }
}

void expect_plain(const std::string& text) {
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t to = text.find('\n', from);
    ASSERT_NE(to, std::string::npos);
    ASSERT_GE(columns(text.substr(from, to - from)), 0)
        << testing::PrintToString(text.substr(from, to - from));
    from = to + 1;
  }
}

}  // namespace margay::support
