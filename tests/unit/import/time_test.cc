// Decimal seconds become nanoseconds exactly, with one rounding.
#include <gtest/gtest.h>

#include <random>

#include "paje_time.h"

namespace margay::trace::paje {
namespace time_test {

TEST(PajeTime, IsExact) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"0", 0},
      {"0.000000001", 1},
      {"12", 12'000'000'000},
      {"+1.5", 1'500'000'000},
      {"-1.5", -1'500'000'000},
      {".25", 250'000'000},
      {"7.", 7'000'000'000},
      {"1363717838.123456789", 1'363'717'838'123'456'789},
      {"4611686018.427387903", 4'611'686'018'427'387'903},
      {"0.1234567894", 123'456'789},
      {"0.1234567895", 123'456'790},
      {"-0.1234567895", -123'456'790},
      {"0.12345678949999999999999999", 123'456'789},
      {"0.9999999999", 1'000'000'000},
      {"1e3", 1'000'000'000'000},
      {"1.25E-3", 1'250'000},
      {"1234567e-9", 1'234'567},
      {"5e-10", 1},
      {"4e-10", 0},
      {"0.00000000000000000000000001e26", 1'000'000'000},
      {"00000000000000000000001.5", 1'500'000'000},
      {"0e99999999", 0},
      {"1e-99999", 0},
  };
  for (const auto& [text, ns] : cases) EXPECT_EQ(parse_time(text), ns) << text;
}

TEST(PajeTime, WhatIsNoTimeIsRefused) {
  for (const char* text : {"",
                           ".",
                           "-",
                           "+",
                           "1.2.3",
                           "1,5",
                           "0x10",
                           "nan",
                           "inf",
                           "1e",
                           "1e+",
                           "e5",
                           "1e5.5",
                           "1 ",
                           " 1",
                           "--1",
                           "5000000000",
                           "4611686018.427387904",
                           "99999999999999999999",
                           "1e10",
                           "1e99999999999999",
                           "1e++5",
                           "1e+-5"})
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
}

// Every nanosecond survives being written with 9 digits and read.
TEST(PajeTime, RandomTimesComeBack) {
  std::mt19937_64 random(11);
  RecordProperty("seed", 11);
  for (int i = 0; i < 100'000; ++i) {
    const auto ns =
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(kLatestTime)) >> (random() % 60);
    std::string part = std::to_string(ns % 1'000'000'000);
    part.insert(0, 9 - part.size(), '0');
    const std::string text = std::to_string(ns / 1'000'000'000) + "." + part;
    ASSERT_EQ(parse_time(text), ns) << text;
    ASSERT_EQ(parse_time("-" + text), -ns) << text;
    ASSERT_EQ(parse_time(std::to_string(ns) + "e-9"), ns) << text;
  }
}

}  // namespace time_test
}  // namespace margay::trace::paje
