// Whom resources waited for, as the window takes it from a daemon.
#include "margay/scene/event_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace margay::scene {
namespace event_waits_test {

using testing::HasSubstr;

wire::EventsAnswer waits() {
  wire::EventsAnswer a;
  a.set_token(7);
  a.mutable_question()->set_kind(wire::EventsQuestion::WAITS);
  a.mutable_question()->set_from_ns(1'000), a.mutable_question()->set_to_ns(2'000);
  a.add_resources("/n0/rank1"), a.add_resources("/n1/rank\n2");
  wire::EventsWaits& w = *a.mutable_waits();
  w.set_leaves(3), w.set_waited_ns(4'000), w.set_unknown_ns(500);
  w.add_partner(0), w.add_for_ns(3'000);
  w.add_partner(1), w.add_for_ns(400);
  return a;
}

TEST(EventWaits, AreTakenFromAnAnswer) {
  const auto w = event_waits_untrusted(waits());
  ASSERT_TRUE(w) << w.error().message;
  EXPECT_EQ(w->token, 7u);
  EXPECT_EQ(w->leaves, 3u);
  EXPECT_EQ(w->time, (TimeRange{TimeNs(1'000), TimeNs(2'000)}));
  EXPECT_EQ(w->waited, DurationNs(4'000));
  ASSERT_EQ(w->partners.size(), 2u);
  EXPECT_EQ(w->partners[0].resource, "/n0/rank1");
  EXPECT_DOUBLE_EQ(w->partners[0].share, 0.75);
  EXPECT_EQ(w->partners[1].resource.find('\n'), std::string::npos);
  EXPECT_DOUBLE_EQ(w->unknown, 0.125);
}

TEST(EventWaits, ThatNoOneWaitedIsKnownAsWell) {
  wire::EventsAnswer a = waits();
  a.mutable_waits()->Clear();
  const auto w = event_waits_untrusted(a);
  ASSERT_TRUE(w) << w.error().message;
  EXPECT_TRUE(w->partners.empty());
  EXPECT_EQ(w->unknown, 0);
}

TEST(EventWaits, HostileAnswersAreSentences) {
  using Wrong = std::function<void(wire::EventsAnswer&)>;
  const auto most = std::numeric_limits<std::uint64_t>::max();
  const std::pair<Wrong, const char*> cases[] = {
      {[](auto& a) { a.set_error("no\x01 such run"); }, "such run"},
      {[](auto& a) { a.mutable_question()->set_to_ns(1'000); }, "time range"},
      {[](auto& a) { a.mutable_waits()->add_partner(0); }, "differ in length"},
      {[](auto& a) { a.mutable_waits()->set_partner(1, 2); }, "does not name"},
      {[&](auto& a) { a.mutable_waits()->set_waited_ns(most); }, "longer than all times"},
      {[&](auto& a) { a.mutable_waits()->set_for_ns(1, most); }, "than at all"},
      {[](auto& a) { a.mutable_waits()->set_for_ns(1, 1'001); }, "than at all"},
      {[](auto& a) { a.mutable_waits()->set_unknown_ns(601); }, "than at all"},
      {[](auto& a) {
         for (int i = 0; i < kMostWaitedFor; ++i) a.mutable_waits()->add_partner(0);
       },
       "more partners"}};
  for (const auto& [wrong, why] : cases) {
    wire::EventsAnswer a = waits();
    wrong(a);
    const auto w = event_waits_untrusted(a);
    ASSERT_FALSE(w) << why;
    EXPECT_THAT(w.error().message, HasSubstr(why));
  }
}

}  // namespace event_waits_test
}  // namespace margay::scene
