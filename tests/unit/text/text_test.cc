#include "margay/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <cwchar>
#include <nlohmann/json.hpp>
#include <random>

#include "hostile_report.h"
#include "keys.h"
#include "margay/base/text.h"
#include "margay/terminal/status.h"
#include "screen_text.h"
#include "synthetic_report.h"

namespace margay::terminal {
namespace text_test {

using testing::ElementsAre;

TEST(Text, EveryCharacterKeptHasTheWidthTheCLibraryGivesIt) {
  ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr);
  int kept = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    const int w = text::columns_of(c);
    if (w == 0) continue;
    ++kept;
    ASSERT_EQ(w, ::wcwidth(static_cast<wchar_t>(c))) << "U+" << std::hex << static_cast<unsigned>(c);
  }
  std::printf("%d characters kept\n", kept);
}

TEST(Text, PrintableReplacesWhatATerminalObeys) {
  EXPECT_EQ(text::printable("a\x1b[31mb", false), "a?[31mb");
  EXPECT_EQ(text::printable("\xc2\x9b"
                            "1m\x07\x7f",
                            false),
            "?1m??");
  EXPECT_EQ(text::printable("\xff\xc0\x80", false), "???");
  EXPECT_EQ(text::printable("é漢", true), "é漢");
  EXPECT_EQ(text::printable("é漢", false), "??");
  EXPECT_EQ(text::printable("漢字", true, 3), "漢");
  EXPECT_EQ(text::shortened("abcdef", 4, false), "abc~");
  EXPECT_EQ(text::shortened("abcd", 4, false), "abcd");
}

TEST(Text, NumbersAndDurations) {
  EXPECT_EQ(text::ordinal(1), "1st");
  EXPECT_EQ(text::ordinal(11), "11th");
  EXPECT_EQ(text::ordinal(112), "112th");
  EXPECT_EQ(text::ordinal(23), "23rd");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(text::duration_text(31'800'000'000), "31.8 s");
  EXPECT_EQ(text::short_duration_text(-3), "0 ns");
  EXPECT_EQ(text::short_duration_text(999), "999 ns");
  EXPECT_EQ(text::short_duration_text(1'000), "1.00 us");
  EXPECT_EQ(text::short_duration_text(9'995), "10.0 us");
  EXPECT_EQ(text::short_duration_text(99'950), "100 us");
  EXPECT_EQ(text::short_duration_text(999'500), "1.00 ms");
  EXPECT_EQ(text::short_duration_text(1'006'966'000), "1.01 s");
  EXPECT_EQ(text::short_duration_text(59'999'000'000), "60.0 s");
  EXPECT_EQ(text::short_duration_text(843'000'000'000), "14 min 3 s");
  EXPECT_EQ(text::size_text(117), "117 B");
  EXPECT_EQ(text::size_text(1536), "1.5 KiB");
  EXPECT_EQ(text::size_text(~std::uint64_t{0}), "16777216.0 TiB");
  EXPECT_EQ(text::duration_text(-5), "0.0 s");
  EXPECT_EQ(text::duration_text(843'000'000'000), "14 min 3 s");
  EXPECT_EQ(text::clock_text(1'700'000'000'000'000'000, 3600), "23:13:20");
  EXPECT_EQ(text::clock_text(-1, 0), "23:59:59");
}

TEST(Keys, SequencesInPiecesAndUnknownOnes) {
  KeyDecoder keys;
  EXPECT_THAT(keys.feed("\x1b"), ElementsAre());
  EXPECT_THAT(keys.feed("["), ElementsAre());
  EXPECT_THAT(keys.feed("A"), ElementsAre(Key::kUp));
  EXPECT_THAT(keys.feed("\x1b[1;5Cx\x1b[6~+q"), ElementsAre(Key::kPageDown, Key::kMore, Key::kQuit));
  EXPECT_THAT(keys.feed("\x1bOB\x1b\x1b[D"), ElementsAre(Key::kDown, Key::kLess));
  EXPECT_THAT(keys.feed("\x1b[" + std::string(1000, '1') + "~p"), testing::Contains(Key::kHold));
}

TEST(Status, NothingIsCalledWholeWhereProcessesAreNotWatched) {
  wire::Report r;
  EXPECT_THAT(status_text(r), testing::HasSubstr("\nno event was lost\n"));
  r.mutable_health()->set_processes(3);
  r.mutable_health()->set_processes_unwatched(2);
  EXPECT_THAT(status_text(r),
              testing::HasSubstr("\n!! NOT WATCHED: 2 of 3 processes were not watched, or not to the "
                                 "end\nno event of the watched processes was lost\n"));
  r.mutable_health()->set_lost_events(5);
  EXPECT_THAT(status_text(r), testing::HasSubstr("!! LOST 5 EVENTS"));
  EXPECT_EQ(nlohmann::json::parse(status_json(r))["processes_unwatched"], 2);
}

TEST(Status, JsonHasItsKeysAndEveryAccount) {
  const auto r = support::synthetic_report({}, 63);
  const auto j = nlohmann::json::parse(status_json(r));
  EXPECT_EQ(j["run"], "solver-4711");
  EXPECT_EQ(j["lost_events"], 4321);
  EXPECT_EQ(j["sources"].size(), 4u);
  EXPECT_TRUE(j["sources"][2]["balanced"]);
  EXPECT_EQ(j["alerts"].size(), 2u);
  EXPECT_EQ(j["phases"].back()["name"], "B");
  EXPECT_EQ(j["counters"][0]["severity"], "error");
}

TEST(Status, HostileReportsGivePlainTextAndValidJson) {
  const unsigned first = support::seed(7);
  for (unsigned i = 0; i < 200; ++i) {
    std::mt19937 rng(first + i);
    const auto r = support::hostile_report(rng);
    SCOPED_TRACE("seed " + std::to_string(first + i));
    support::expect_plain(status_text(r));
    EXPECT_FALSE(nlohmann::json::parse(status_json(r), nullptr, false).is_discarded());
  }
}

TEST(Utf8, IsCutBetweenCharacters) {
  const std::string text = "a\u00e9\u20ac\U0001f600b";
  for (std::size_t most = 0; most <= text.size() + 1; ++most) {
    const std::string cut(cut_utf8(text, most));
    EXPECT_LE(cut.size(), most);
    EXPECT_GE(cut.size() + 3, std::min(most, text.size())) << "it loses no whole character";
    EXPECT_EQ(clean_utf8(cut), cut);
    EXPECT_EQ(clean_utf8(text, most), cut);
  }
  EXPECT_EQ(cut_utf8("\x80\x80", 1), "") << "no character begins here";
}

}  // namespace text_test
}  // namespace margay::terminal
