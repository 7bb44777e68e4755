// What agents could not look at, as the ingest counts it.
#include "margay/ingest/unwatched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace margay::ingest {
namespace unwatched_test {

wire::NodeAccount account_of(
    const std::string& node, std::uint64_t number,
    std::initializer_list<std::pair<wire::Unwatched::Reason, std::uint64_t>> unwatched) {
  wire::NodeAccount account;
  account.set_node(node);
  account.set_number(number);
  for (const auto& [reason, n] : unwatched) {
    wire::Unwatched& u = *account.add_unwatched();
    u.set_reason(reason);
    u.set_processes(n);
  }
  return account;
}

TEST(Unwatched, TheNewestAccountOfEachNodeStands) {
  Unwatched u;
  EXPECT_EQ(u.why(), "");
  EXPECT_TRUE(u.take_untrusted(account_of("a", 1, {{wire::Unwatched::NO_SEGMENT, 2}}), "first"));
  EXPECT_TRUE(u.take_untrusted(
      account_of("b", 1, {{wire::Unwatched::NO_SEGMENT, 1}, {wire::Unwatched::GIVEN_UP, 1}}), "other"));
  EXPECT_EQ(u.processes(), 4u);
  EXPECT_EQ(u.given_up(), 1u);
  EXPECT_EQ(u.why(), "3 got no shared memory for events, 1 had its shared memory cut short or written over");
  // Of another agent, which goes on from there.
  EXPECT_TRUE(u.take_untrusted(account_of("a", 1, {{wire::Unwatched::TOO_MANY, 5000}}), "second"));
  EXPECT_EQ(u.processes(), 5002u);
  EXPECT_TRUE(u.take_untrusted(account_of("a", 2, {}), "second"));
  EXPECT_EQ(u.processes(), 2u);
}

TEST(Unwatched, AnAccountIsAcknowledgedOnceWhenItIsCommitted) {
  Unwatched u;
  u.take_untrusted(account_of("a", 1, {{wire::Unwatched::OTHER, 1}}), "x");
  const std::uint64_t cut = u.version();
  u.take_untrusted(account_of("b", 7, {{wire::Unwatched::OTHER, 1}}), "y");
  EXPECT_THAT(u.committed(cut), testing::ElementsAre(std::pair(std::string("x"), std::uint64_t{1})));
  EXPECT_THAT(u.committed(cut), testing::IsEmpty());
  EXPECT_THAT(u.committed(u.version()), testing::ElementsAre(std::pair(std::string("y"), std::uint64_t{7})));
}

TEST(Unwatched, GivesBackWhatWasWrittenAndRefusesWhatIsNot) {
  Unwatched u;
  u.take_untrusted(
      account_of("a", 3, {{wire::Unwatched::UNREADABLE, 1}, {wire::Unwatched::NO_DESCRIPTOR, 2}}), "x");
  const auto again = Unwatched::decode_untrusted(u.encode());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->why(), u.why());
  EXPECT_EQ(again->processes(), 3u);
  EXPECT_FALSE(Unwatched::decode_untrusted("\xff\xff\xff"));
}

TEST(Unwatched, WhatAgentsSayIsBounded) {
  Unwatched u;
  wire::NodeAccount huge = account_of("a", 1, {});
  for (int i = 0; i < 20; ++i) {
    wire::Unwatched& more = *huge.add_unwatched();
    more.set_reason(static_cast<wire::Unwatched::Reason>(i % 2 == 0 ? 77 : -3));
    more.set_processes(std::numeric_limits<std::uint64_t>::max());
  }
  EXPECT_TRUE(u.take_untrusted(huge, "x"));
  EXPECT_EQ(u.processes(), Unwatched::kMostProcesses);
  for (std::size_t i = 1; i < Unwatched::kMostNodes; ++i)
    ASSERT_TRUE(u.take_untrusted(account_of(std::to_string(i), 1, {}), "x"));
  EXPECT_FALSE(u.take_untrusted(account_of("one more", 1, {{wire::Unwatched::OTHER, 1}}), "x"));
  EXPECT_TRUE(u.take_untrusted(account_of("a", 2, {}), "x")) << "who is known is heard";
}

}  // namespace unwatched_test
}  // namespace margay::ingest
