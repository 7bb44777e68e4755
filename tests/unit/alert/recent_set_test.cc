#include "margay/base/recent_set.h"

#include <gtest/gtest.h>

#include <string>

namespace margay {
namespace recent_set_test {

TEST(RecentSet, TellsWhatIsNewAndForgetsTheOldest) {
  RecentSet<std::string> set(3);
  EXPECT_TRUE(set.insert("a"));
  EXPECT_TRUE(set.insert("b"));
  EXPECT_FALSE(set.insert("a"));
  EXPECT_TRUE(set.insert("c"));
  EXPECT_TRUE(set.insert("d"));
  EXPECT_FALSE(set.contains("a"));
  EXPECT_TRUE(set.contains("b"));
  EXPECT_EQ(set.size(), 3u);
  EXPECT_EQ(set.inserted(), 4u);
  EXPECT_TRUE(set.insert("a")) << "forgotten is new";
}

TEST(RecentSet, StaysWithinItsBoundForEver) {
  RecentSet<int> set(100);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(set.insert(i));
    ASSERT_LE(set.size(), 100u);
  }
  EXPECT_EQ(set.inserted(), 100'000u);
}

}  // namespace recent_set_test
}  // namespace margay
