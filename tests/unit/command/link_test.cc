// Links to what is looked at: there and back, what is typed wrong, what is given beside them.
#include "margay/command/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace margay::command {
namespace link_test {

using testing::HasSubstr;

PictureOptions everything() {
  PictureOptions o;
  o.what = "/data/a b/night.margay";
  o.from = "14.9";
  o.to = "15.1";
  o.node = "/node7/rank=3";
  o.p = "0.1";
  o.measure = "mean:load";
  o.cuts = "product";
  o.states = {"MPI_Wait", "a,b&c"};
  return o;
}

TEST(Link, IsOneLineThatLeadsBack) {
  const std::string link = link_of(everything());
  EXPECT_EQ(link,
            "margay:///data/a%20b/night.margay#t=14.9-15.1&n=/node7/rank%3D3&p=0.1&o=mean:load&cut=product&"
            "s=MPI_Wait,a%2Cb%26c");
  const auto back = options_of_link(link);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, everything());
}

TEST(Link, HasAFilterAndWhatSharesAreOf) {
  PictureOptions o;
  o.what = "night";
  o.states = {"MPI_*", "!family:wait"};
  o.resources = {"/node1/*", "!*rank,6"};
  o.of_the_rest = true;
  const std::string link = link_of(o);
  EXPECT_EQ(link, "margay://night#s=MPI_%2A,%21family:wait&r=/node1/%2A,%21%2Arank%2C6&of=rest");
  EXPECT_EQ(options_of_link(link).value(), o);
  EXPECT_FALSE(options_of_link("margay://night#of=all"));
  PictureOptions beside;
  beside.what = link;
  beside.resources = {"/node2"};
  ASSERT_TRUE(follow_link(beside));
  EXPECT_TRUE(beside.states.empty()) << "a filter beside it takes the place of all of it";
}

TEST(Link, OfAnotherMachine) {
  PictureOptions o;
  o.connect = "tcp://head:7413";
  o.policy = "jump";
  EXPECT_EQ(link_of(o), "margay+tcp://head:7413#policy=jump");
  EXPECT_EQ(options_of_link(link_of(o)).value(), o);
}

TEST(Link, WhatIsNotSaidIsNotThere) {
  EXPECT_EQ(link_of({}), "margay://");
  EXPECT_EQ(options_of_link("margay://").value(), PictureOptions());
  PictureOptions o;
  o.what = "night";
  o.from = "3";
  EXPECT_EQ(link_of(o), "margay://night#t=3-");
  EXPECT_EQ(options_of_link("margay://night#t=3-").value(), o);
  EXPECT_EQ(options_of_link("margay://night#t=-2-5")->from, "-2") << "before the begin";
  EXPECT_EQ(options_of_link("margay://night#t=-2-5")->to, "5");
}

TEST(Link, AnyNamesLeadBack) {
  std::mt19937 rng(5);
  for (int round = 0; round < 2000; ++round) {
    const auto name = [&] {
      std::string text;
      for (std::size_t n = 1 + rng() % 12; n > 0; --n) text += static_cast<char>(1 + rng() % 255);
      return text;
    };
    PictureOptions o;
    o.what = name();
    o.node = name();
    o.measure = name();
    o.states = {name(), name()};
    const auto back = options_of_link(link_of(o));
    ASSERT_TRUE(back) << "round " << round << ": " << back.error().message;
    EXPECT_EQ(*back, o) << "round " << round;
  }
}

TEST(Link, WhatIsWrongIsSaid) {
  const auto says = [](const std::string& link, const char* sentence) {
    const auto o = options_of_link(link);
    ASSERT_FALSE(o) << link;
    EXPECT_THAT(o.error().message, HasSubstr(sentence));
  };
  says("night", "a link begins with margay://");
  says("margay://night#t=5", "a range of time in t");
  says("margay://night#x=5", "there is no part x; a link has t, n, p");
  says("margay://night#n=/a%2", "two hexadecimal digits in n");
  says("margay://night#n=%00", "two hexadecimal digits in n");
  says("margay://ni%zzght", "two hexadecimal digits");
  says("margay+tcp://#n=/a", "names no machine");
  says("margay://" + std::string(kLongestLink, 'a'), "longer than 8192 bytes");
}

// An option beside the link is what somebody wants now.
TEST(Link, OptionsBesideItAreStronger) {
  PictureOptions o;
  o.what = link_of(everything());
  o.node = "/node1";
  o.policy = "jump";
  o.from = "3";
  ASSERT_TRUE(follow_link(o));
  PictureOptions wanted = everything();
  wanted.node = "/node1";
  wanted.policy = "jump";
  wanted.p = "";
  wanted.from = "3";
  wanted.to = "";
  EXPECT_EQ(o, wanted);
  o.what = "margay://night#x";
  EXPECT_FALSE(follow_link(o));
  o.what = "night";
  ASSERT_TRUE(follow_link(o));
  EXPECT_EQ(o.what, "night");
}

TEST(Link, SecondsAreExact) {
  EXPECT_EQ(seconds_text(DurationNs(14'900'000'000)), "14.9");
  EXPECT_EQ(seconds_text(DurationNs(15'000'000'000)), "15");
  EXPECT_EQ(seconds_text(DurationNs(1)), "0.000000001");
  EXPECT_EQ(seconds_text(DurationNs(-2'500'000'000)), "-2.5");
  EXPECT_EQ(seconds_text(DurationNs(0)), "0");
  EXPECT_EQ(seconds_text(DurationNs(INT64_MIN)), "-9223372036.854775808");
}

}  // namespace link_test
}  // namespace margay::command
