#include "glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "flat_map.h"
#include "margay/base/glob.h"

namespace margay::lttng_rules {
namespace glob_test {

using ::testing::ElementsAre;

TEST(Glob, MatchesAllOfTheText) {
  EXPECT_TRUE(glob_match("abc", "abc"));
  EXPECT_FALSE(glob_match("abc", "abcd"));
  EXPECT_FALSE(glob_match("abc", "ab"));
  EXPECT_TRUE(glob_match("a?c", "axc"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("syscall_*_read", "syscall_entry_read"));
  EXPECT_TRUE(glob_match("*ab*ab*", "xxabyyabzz"));
  EXPECT_FALSE(glob_match("*ab*ab*", "xxabyyzz"));
  EXPECT_FALSE(glob_match("", "a"));
}

// Backtracking without a bound would take longer than anyone waits.
TEST(Glob, ManyStars_TakeNoExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "*a";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(500, 'a')));
}

TEST(Glob, CapturesWhatStarsStandFor) {
  EXPECT_THAT(*event_match("syscall_entry_*", "syscall_entry_read"), ElementsAre("read"));
  EXPECT_THAT(*event_match("*:*_req", "lttng:lock_req"), ElementsAre("lttng", "lock"));
  EXPECT_THAT(*event_match("a*b*", "aXbYbZ"), ElementsAre("X", "YbZ"));
  EXPECT_THAT(*event_match("plain", "plain"), ElementsAre());
  EXPECT_FALSE(event_match("syscall_entry_*", "syscall_exit_read").has_value());
}

TEST(Glob, CapturesTheAlternativeOfAGroup) {
  EXPECT_THAT(*event_match("sys_(read|write)_*", "sys_write_x"), ElementsAre("write", "x"));
  EXPECT_THAT(*event_match("(a|b)(c|d)", "bd"), ElementsAre("b", "d"));
  EXPECT_FALSE(event_match("sys_(read|write)", "sys_readv").has_value());
  EXPECT_THAT(event_expanded("x(a|b)*"), ElementsAre("xa*", "xb*"));
}

TEST(Glob, GroupsThatCannotBe) {
  EXPECT_EQ(event_captures("a(b|c)*"), 2u);
  for (const char* bad :
       {"a(b", "ab)", "a|b", "a()", "a(b|)", "a(b*)", "a((b))", "(a)(b)(c)(d)(e)(f)(g)(h)(i)"})
    EXPECT_FALSE(event_captures(bad).has_value()) << bad;
}

TEST(FlatMap, DoesWhatAMapDoes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 rng(seed);
  FlatMap map;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> model;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const std::uint64_t a = rng() % 50;
    const std::uint64_t b = rng() % 20;
    if (rng() % 2 == 0) {
      map.erase(a, b);
      model.erase({a, b});
    } else {
      map.set(a, b, i);
      model[{a, b}] = i;
    }
    const std::uint64_t c = rng() % 50;
    const auto known = model.find({c, b});
    ASSERT_EQ(map.find(c, b), known == model.end() ? FlatMap::kNone : known->second);
    ASSERT_EQ(map.size(), model.size());
  }
}

}  // namespace glob_test
}  // namespace margay::lttng_rules
