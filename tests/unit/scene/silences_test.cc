// The silences of a run, as the window takes them from a daemon.
#include "margay/scene/silences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace margay::scene {
namespace silences_test {

using testing::HasSubstr;

wire::Silences two() {
  wire::Silences out;
  for (const char* id : {"s1", "s2"}) {
    wire::Silence& s = *out.add_silence();
    s.set_id(id), s.set_what("node /n\n7"), s.set_by("ann"), s.set_comment("disk swap");
    s.set_from_ns(10), s.set_until_ns(20);
  }
  out.mutable_silence(0)->set_active(true);
  return out;
}

TEST(Silences, AreTakenFromAnAnswer) {
  const auto list = silences_untrusted(two());
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0].id, "s1");
  EXPECT_EQ((*list)[0].what.find('\n'), std::string::npos);
  EXPECT_EQ((*list)[0].comment, "disk swap");
  EXPECT_EQ((*list)[0].until, TimeNs(20));
  EXPECT_TRUE((*list)[0].active);
  EXPECT_FALSE((*list)[1].active);
  EXPECT_TRUE(silences_untrusted({})->empty());
}

TEST(Silences, HostileAnswersAreSentences) {
  using Wrong = std::function<void(wire::Silences&)>;
  const std::pair<Wrong, const char*> cases[] = {
      {[](auto& a) { a.mutable_silence(1)->clear_id(); }, "no id"},
      {[](auto& a) { a.mutable_silence(1)->set_id(std::string(1000, 's')); }, "too long"},
      {[](auto& a) { a.mutable_silence(0)->set_until_ns(10); }, "before it begins"},
      {[](auto& a) {
         for (int i = 0; i < kMostSilences; ++i) *a.add_silence() = a.silence(0);
       },
       "more silences"}};
  for (const auto& [wrong, why] : cases) {
    wire::Silences a = two();
    wrong(a);
    const auto list = silences_untrusted(a);
    ASSERT_FALSE(list) << why;
    EXPECT_THAT(list.error().message, HasSubstr(why));
  }
}

}  // namespace silences_test
}  // namespace margay::scene
