// Which alerts a silence is for; what people said, kept and read back; which words sinks are told.
#include "margay/alert/silence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "margay/alert/handling.h"
#include "margay/alert/notification_policy.h"
#include "margay/base/glob.h"

namespace margay::alert {
namespace silence_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr TimeNs kNow(1'000'000'000'000'000);

Alert an_alert(const std::string& id, Status status = Status::kFiring) {
  Alert a;
  a.id = id;
  a.status = status;
  a.node = "/h1/rank3";
  a.resources = {"/h1/rank3"};
  a.states = {{"MPI_Wait", 0.1, 0.9}};
  return a;
}
Silence of_node(const std::string& node, DurationNs lasts = seconds(3600)) {
  Silence s;
  s.node = node;
  s.from = kNow;
  s.until = kNow + lasts;
  return s;
}
std::string error_of(const Silence& s) {
  const auto r = check(s);
  return r ? "" : r.error().message;
}

struct Match {
  const char *pattern, *text;
  bool matches;
  const char* why = "";
};

TEST(SilenceMatch, APathStandsForAllBelowItAndStarsForCharactersOfAName) {
  const Match paths[] = {{"/h1", "/h1", true},
                         {"/h1", "/h1/rank3", true},
                         {"/h1/", "/h1/rank3", true},
                         {"/h1", "/h10/rank3", false},
                         {"/h1/rank3", "/h1", false},
                         {"/", "/", true},
                         {"/", "/h1/rank3", true},
                         {"/*/rank3", "/h7/rank3", true},
                         {"/*/rank3", "/h7/rank33", false},
                         {"/*rank3", "/h7/rank3", false, "a star does not go beyond a name"},
                         {"/h?/rank*", "/h7/rank33/thread1", true},
                         {"/*", "/", false, "the root has no name"}};
  for (const Match& m : paths)
    EXPECT_EQ(matches_path(m.pattern, m.text), m.matches) << m.pattern << " and " << m.text << " " << m.why;
}

TEST(SilenceMatch, TextsWithStars) {
  const Match texts[] = {{"", "", true},
                         {"", "a", false},
                         {"*", "", true},
                         {"MPI_*", "MPI_Wait", true},
                         {"*a*b*c", "xxaxxbxbc", true},
                         {"*a*b*c", "xxaxxbxb", false},
                         {"k?rn", "k\xc3\xb6rn", true, "one character, two bytes"},
                         {"a*", "a\xff/", true}};
  for (const Match& m : texts)
    EXPECT_EQ(glob_match(m.pattern, m.text), m.matches) << m.pattern << " and " << m.text << " " << m.why;
}

TEST(SilenceMatch, APatternOfStarsTakesNoTime) {
  std::string stars;
  for (int i = 0; i < 500; ++i) stars += "*a";
  EXPECT_FALSE(glob_match(stars + "b", std::string(100'000, 'a')));
}

TEST(SilenceMatch, AllThatIsBlamedHasToBeBelowTheNode) {
  Alert a = an_alert("1");
  EXPECT_TRUE(matches(of_node("/h1"), a));
  a.resources.emplace_back("/h2/rank4");
  a.node = "/";
  EXPECT_FALSE(matches(of_node("/h1"), a)) << "it is about /h2, too";
  EXPECT_TRUE(matches(of_node("/h?"), a));
  a.resources.clear();
  EXPECT_FALSE(matches(of_node("/h1"), a)) << "it blames nobody: its node counts";
  EXPECT_TRUE(matches(of_node("/"), a));
}

TEST(SilenceMatch, StateAndKindAreWantedToo) {
  Alert a = an_alert("1");
  Silence s;
  s.state = "MPI_W*";
  EXPECT_TRUE(matches(s, a));
  s.state = "MPI_Recv";
  EXPECT_FALSE(matches(s, a));
  s.state.clear();
  s.kind = Kind::kStall;
  EXPECT_FALSE(matches(s, a));
  a.kind = Kind::kStall;
  EXPECT_TRUE(matches(s, a));
  s.node = "/h2";
  EXPECT_FALSE(matches(s, a));
}

TEST(SilenceMatch, WhatMakesNoSenseIsSaidWithTheOption) {
  EXPECT_EQ(error_of(of_node("/h1")), "");
  EXPECT_THAT(error_of(Silence()), HasSubstr("--node, --state or --kind"));
  EXPECT_THAT(error_of(of_node("rank3")), HasSubstr("--node rank3: a node's path begins with '/'"));
  EXPECT_THAT(error_of(of_node("/" + std::string(2000, 'x'))), HasSubstr("1024 bytes"));
  EXPECT_THAT(error_of(of_node("\x1b[31m")), HasSubstr("?[31m"));
  Silence s = of_node("/");
  s.comment = std::string(501, 'x');
  EXPECT_THAT(error_of(s), HasSubstr("--comment may have 500 bytes"));
  EXPECT_THAT(kind_of("earthquake").error().message, HasSubstr("perturbation, stall, phase_duration"));
}

TEST(HandlingTest, ASilenceHoldsFromItsBeginToItsEnd) {
  Handling h;
  ASSERT_TRUE(h.add(of_node("/h1", seconds(10)), kNow));
  const Alert a = an_alert("1");
  EXPECT_EQ(h.silencing(a, kNow - DurationNs(1)), nullptr);
  ASSERT_NE(h.silencing(a, kNow), nullptr);
  EXPECT_EQ(h.silencing(a, kNow)->id, "s1");
  EXPECT_NE(h.silencing(a, kNow + seconds(10) - DurationNs(1)), nullptr);
  EXPECT_EQ(h.silencing(a, kNow + seconds(10)), nullptr);
  EXPECT_FALSE(h.expire(kNow + seconds(10) - DurationNs(1)));
  EXPECT_TRUE(h.expire(kNow + seconds(10)));
  EXPECT_THAT(h.silences(), IsEmpty());
}

TEST(HandlingTest, IsBoundedAndWhatHasExpiredMakesRoom) {
  Handling h;
  for (std::size_t i = 0; i < Handling::kMostSilences; ++i)
    ASSERT_TRUE(h.add(of_node("/h1", seconds(i == 7 ? 10 : 3600)), kNow));
  const auto more = h.add(of_node("/h1"), kNow);
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message, HasSubstr("1,000 silences already"));
  Silence later = of_node("/h1");
  EXPECT_EQ((*h.add(later, kNow + seconds(10)))->id, "s1001") << "no name is given twice";
  for (std::size_t i = 0; i < Handling::kMostAcks + 5; ++i) h.acknowledge({std::to_string(i), kNow, "", ""});
  EXPECT_EQ(h.acks().size(), Handling::kMostAcks);
  EXPECT_EQ(h.ack_of("4"), nullptr);
  EXPECT_NE(h.ack_of("5"), nullptr);
  for (std::size_t i = 0; i < Handling::kMostWithheld + 5; ++i) h.withhold(an_alert(std::to_string(i)), "s1");
  EXPECT_EQ(h.withheld().size(), Handling::kMostWithheld);
  EXPECT_EQ(h.withheld("4"), nullptr);
  const auto back = Handling::decode_untrusted(h.encode());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, h);
}

TEST(HandlingTest, AsMuchAsMayBeSaidCanBeReadBack) {
  Handling h;
  const auto quotes = [](std::size_t n) { return std::string(n, '"'); };
  for (std::size_t i = 0; i < Handling::kMostSilences; ++i) {
    Silence s = of_node("/" + quotes(Silence::kLongestPattern - 1));
    s.state = quotes(Silence::kLongestPattern);
    s.by = quotes(Silence::kLongestName);
    s.comment = quotes(Silence::kLongestComment);
    s.token = UINT64_MAX - i;
    ASSERT_TRUE(h.add(s, kNow));
  }
  const auto id = [&](std::size_t i) {
    const std::string number = std::to_string(i);
    return number + quotes(256 - number.size());
  };
  for (std::size_t i = 0; i < Handling::kMostAcks; ++i)
    h.acknowledge({id(i), kNow, quotes(Silence::kLongestName), quotes(Silence::kLongestComment)});
  for (std::size_t i = 0; i < Handling::kMostWithheld; ++i) h.withhold(an_alert(id(i)), "s1000");
  const std::string text = h.encode();
  EXPECT_LE(text.size(), Handling::kLargest);
  const auto back = Handling::decode_untrusted(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, h);
}

TEST(HandlingTest, AskedAgainASilenceIsTheSameOne) {
  Handling h;
  Silence s = of_node("/h1");
  s.token = 77;
  ASSERT_TRUE(h.add(s, kNow));
  EXPECT_EQ((*h.add(s, kNow))->id, "s1");
  EXPECT_EQ(h.silences().size(), 1u);
}

TEST(HandlingTest, TimesThatMakeNoSenseAreRefused) {
  Handling h;
  EXPECT_THAT(h.add(of_node("/h1", DurationNs(0)), kNow).error().message, HasSubstr("over before it begins"));
  EXPECT_THAT(h.add(of_node("/h1"), kNow + seconds(3600)).error().message, HasSubstr("over before"));
  EXPECT_THAT(h.add(of_node("/h1", seconds(400LL * 86'400)), kNow).error().message, HasSubstr("a year"));
  EXPECT_THAT(h.remove("s9\n").error().message, HasSubstr("no silence 's9?'"));
}

TEST(HandlingTest, GivesBackWhatWasWrittenAndRefusesWhatIsNot) {
  Handling h;
  Silence s = of_node("/h1");
  s.kind = Kind::kStall;
  s.state = "MPI_*";
  s.by = "ann";
  s.comment = "disk \"swap\"";
  s.token = UINT64_MAX;
  ASSERT_TRUE(h.add(s, kNow));
  h.acknowledge({"r-stall-1-2", kNow, "bob\x1b", std::string(600, 'x')});
  EXPECT_EQ(h.ack_of("r-stall-1-2")->by, "bob?");
  EXPECT_EQ(h.ack_of("r-stall-1-2")->comment.size(), Silence::kLongestComment);
  h.withhold(an_alert("a"), "s1");
  const std::string text = h.encode();
  const auto back = Handling::decode_untrusted(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, h);
  EXPECT_EQ(*Handling::decode_untrusted(""), Handling());
  EXPECT_EQ(text.find('\n'), std::string::npos);

  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(Handling::decode_untrusted(text.substr(0, i)).has_value() && i > 0) << i;
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 0x15);
    // Whatever it says, it is within the bounds.
    const auto r = Handling::decode_untrusted(other);
    EXPECT_TRUE(!r || Handling::decode_untrusted(r->encode())) << other;
  }
  auto whole = nlohmann::json::parse(text);
  for (const auto& [member, value] : whole.items()) {
    auto other = whole;
    other[member] = nlohmann::json::object();
    EXPECT_FALSE(Handling::decode_untrusted(other.dump())) << member;
  }
  for (const auto& [member, value] : whole["silences"][0].items()) {
    auto other = whole;
    other["silences"][0][member] = nlohmann::json::array();
    EXPECT_FALSE(Handling::decode_untrusted(other.dump())) << member;
  }
  auto newer = whole;
  newer["version"] = 2;
  EXPECT_EQ(Handling::decode_untrusted(newer.dump()).error().code, ErrorCode::kVersion);
  auto many = whole;
  for (std::size_t i = 0; i < Handling::kMostSilences; ++i) many["silences"].push_back(many["silences"][0]);
  EXPECT_FALSE(Handling::decode_untrusted(many.dump()));
  EXPECT_FALSE(Handling::decode_untrusted(std::string(Handling::kLargest + 1, ' ')));
}

TEST(HandlingTest, AnIdMayBeGivenByItsEndIfOnlyOneEndsSo) {
  const std::vector<std::string> ids = {"r-stall-13-2", "r-stall-14-2", "2"};
  EXPECT_EQ(*find_id(ids, "2"), "2") << "the whole id comes first";
  EXPECT_EQ(*find_id(ids, "14-2"), "r-stall-14-2");
  EXPECT_THAT(find_id(ids, "-2").error().message,
              HasSubstr("2 alerts end with '-2': r-stall-13-2, r-stall-14-2"));
  EXPECT_EQ(find_id(ids, "x\n").error().message, "no alert 'x?'");
  EXPECT_FALSE(find_id(ids, ""));
}

// What sinks are told.
struct DeskTest : testing::Test {
  NotificationPolicy policy;
  TimeNs now = kNow;
  std::vector<std::string> told;

  void say(const Alert& a, bool known = false) {
    if (policy.take(a, known, now)) told.push_back(a.id + "/" + step(a));
    look();
  }
  void fires(const std::string& id, std::uint64_t updates = 0, bool known = false) {
    Alert a = an_alert(id);
    a.updates = updates;
    say(a, known);
  }
  void ends(const std::string& id, bool known = false) { say(an_alert(id, Status::kResolved), known); }
  void look() {
    for (const Alert& a : policy.due(now)) told.push_back(a.id + "/" + step(a));
  }
  // A daemon that is killed, and another one that takes up what the archive has.
  void restart() {
    auto kept = Handling::decode_untrusted(policy.handling().encode());
    ASSERT_TRUE(kept);
    policy = NotificationPolicy(std::move(*kept));
    told.clear();
  }
};

TEST_F(DeskTest, WithoutAWordFromPeopleEverythingIsTold) {
  fires("1");
  fires("1", 1);
  ends("1");
  EXPECT_THAT(told, ElementsAre("1/firing", "1/firing#1", "1/resolved"));
  EXPECT_EQ(policy.version(), 0u) << "and nothing is to be kept";
}

TEST_F(DeskTest, OfAnAcknowledgedAlertOnlyTheEndIsTold) {
  fires("1");
  const auto said = policy.acknowledge("1", "ann", "disk", now);
  ASSERT_TRUE(said);
  EXPECT_THAT(*said, HasSubstr("1 is acknowledged"));
  fires("1", 1);
  fires("1", 2);
  fires("2");
  ends("1");
  EXPECT_THAT(told, ElementsAre("1/firing", "2/firing", "1/resolved"));
  EXPECT_EQ(policy.held_by_ack(), 2u);
  EXPECT_EQ(policy.handling().ack_of("1")->comment, "disk") << "it can be looked up when it is over, too";
  const auto gone = policy.acknowledge("1", "ann", "", now);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("no alert '1' fires: firing are 2"));
}

TEST_F(DeskTest, OfASilencedAlertNothingIsToldNeitherItsEnd) {
  ASSERT_TRUE(policy.silence(of_node("/h1"), now));
  fires("1");
  fires("1", 1);
  ends("1");
  EXPECT_THAT(told, IsEmpty());
  EXPECT_EQ(policy.held_by_silence(), 3u);
  EXPECT_EQ(policy.handling().withheld("1")->silence, "s1");
}

TEST_F(DeskTest, WhatStillFiresWhenASilenceExpiresIsToldThenAsItIsThen) {
  ASSERT_TRUE(policy.silence(of_node("/h1", seconds(10)), now));
  fires("1");
  fires("1", 1);
  fires("2");
  ends("2");
  now = kNow + seconds(10) - DurationNs(1);
  look();
  EXPECT_THAT(told, IsEmpty());
  now = kNow + seconds(10);
  look();
  look();
  EXPECT_THAT(told, ElementsAre("1/firing#1"));
  EXPECT_EQ(policy.handling().withheld("1"), nullptr);
  ends("1");
  EXPECT_THAT(told, ElementsAre("1/firing#1", "1/resolved"));
}

TEST_F(DeskTest, APlannedSilenceHoldsNothingBeforeItBegins) {
  Silence later = of_node("/h1", seconds(20));
  later.from = kNow + seconds(10);
  EXPECT_EQ(*policy.silence(later, now), "s1 will silence node /h1");
  EXPECT_EQ(policy.active_silences(now), 0u);
  fires("1");
  fires("2");
  now = later.from;
  EXPECT_EQ(policy.active_silences(now), 1u);
  fires("1", 1);
  fires("3");
  ends("2");
  now = later.until;
  look();
  EXPECT_THAT(told, ElementsAre("1/firing", "2/firing", "2/resolved", "1/firing#1", "3/firing"));
}

TEST_F(DeskTest, WhatWasSaidOfAnAlertCanBeAskedAlsoWhenItIsOver) {
  const auto of = [&](const std::string& id) {
    const HandledAlert h = policy.handled(id, now);
    return (h.ack ? h.ack->by : "nobody") + (h.silenced_by.empty() ? "" : ", " + h.silenced_by);
  };
  EXPECT_EQ(of("1"), "nobody");
  fires("1");
  ASSERT_TRUE(policy.acknowledge("1", "ann", "", now));
  EXPECT_EQ(of("1"), "ann");
  ASSERT_TRUE(policy.silence(of_node("/h1", seconds(10)), now));
  fires("2");
  EXPECT_EQ(of("1"), "ann, s1") << "though sinks have been told of it";
  EXPECT_EQ(of("2"), "nobody, s1");
  ends("1");
  ends("2");
  now = kNow + seconds(10);
  look();
  EXPECT_EQ(of("1"), "ann");
  EXPECT_EQ(of("2"), "nobody, s1") << "it was kept from the sinks for good";
}

TEST_F(DeskTest, OneSilenceAfterTheOtherLeavesNoGap) {
  ASSERT_TRUE(policy.silence(of_node("/h1", seconds(10)), now));
  Silence later = of_node("/h1", seconds(20));
  later.from = kNow + seconds(10);
  ASSERT_TRUE(policy.silence(later, now));
  fires("1");
  now = later.from;
  look();
  EXPECT_THAT(told, IsEmpty());
  now = later.until;
  look();
  EXPECT_THAT(told, ElementsAre("1/firing"));
}

TEST_F(DeskTest, WhatASilenceEndsEarlyIsToldAtOnceUnlessAnotherHolds) {
  ASSERT_TRUE(policy.silence(of_node("/h1"), now));
  ASSERT_TRUE(policy.silence(of_node("/*/rank3", seconds(7200)), now));
  fires("1");
  EXPECT_EQ(policy.handling().withheld("1")->silence, "s2") << "the one that ends last";
  ASSERT_TRUE(policy.unsilence("s2", now));
  look();
  EXPECT_THAT(told, IsEmpty());
  const auto said = policy.unsilence("s1", now);
  ASSERT_TRUE(said);
  EXPECT_THAT(*said, HasSubstr("1 alert that fires is sent now"));
  look();
  EXPECT_THAT(told, ElementsAre("1/firing"));
}

TEST_F(DeskTest, WhoWasToldTheBeginIsToldTheEndThoughItWasSilencedMeanwhile) {
  fires("1");
  const auto said = policy.silence(of_node("/h1"), now);
  ASSERT_TRUE(said);
  EXPECT_THAT(*said, HasSubstr("s1 silences node /h1; 1 alert that fires now is silenced by it"));
  fires("1", 1);
  ends("1");
  EXPECT_THAT(told, ElementsAre("1/firing", "1/resolved"));
  EXPECT_EQ(policy.held_by_silence(), 1u);
}

TEST_F(DeskTest, AcknowledgedWhileSilencedNothingOfItIsEverTold) {
  ASSERT_TRUE(policy.silence(of_node("/h1", seconds(10)), now));
  fires("1");
  ASSERT_TRUE(policy.acknowledge("1", "", "", now));
  now = kNow + seconds(11);
  look();
  ends("1");
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(DeskTest, WhatChangedWhileItWasAcknowledgedIsToldWhenThatIsTakenBack) {
  fires("1");
  fires("2");
  ASSERT_TRUE(policy.acknowledge("1", "ann", "", now));
  fires("1", 1);
  fires("1", 2);
  restart();
  fires("1", 2, true);
  fires("2", 0, true);
  told.clear();
  ASSERT_NE(policy.handling().ack_of("1"), nullptr) << "it survives a restart";
  fires("1", 3);
  look();
  EXPECT_THAT(told, IsEmpty());
  const auto said = policy.unacknowledge("1", now);
  ASSERT_TRUE(said);
  EXPECT_EQ(*said, "1 is not acknowledged any more; its present state is sent");
  look();
  look();
  EXPECT_THAT(told, ElementsAre("1/firing#3"));
  restart();
  EXPECT_EQ(policy.handling().ack_of("1"), nullptr) << "so does this";
  fires("1", 3, true);
  told.clear();
  fires("1", 4);
  ends("1");
  EXPECT_THAT(told, ElementsAre("1/firing#4", "1/resolved"));
}

TEST_F(DeskTest, TakingAnAcknowledgementBackSaysWhatComesOfIt) {
  EXPECT_EQ(policy.unacknowledge("1", now).error().message, "no alert '1' is acknowledged: none is");
  fires("a-1");
  fires("b-2");
  ASSERT_TRUE(policy.acknowledge("a-1", "", "", now));
  EXPECT_EQ(policy.unacknowledge("b-2", now).error().message,
            "no alert 'b-2' is acknowledged: those that are: a-1");
  EXPECT_EQ(*policy.unacknowledge("1", now),
            "a-1 is not acknowledged any more: changes of it are sent again");
  ASSERT_TRUE(policy.acknowledge("a-1", "", "", now));
  ASSERT_TRUE(policy.silence(of_node("/h1", seconds(10)), now));
  fires("a-1", 1);
  EXPECT_EQ(*policy.unacknowledge("1", now), "a-1 is not acknowledged any more; s1 still silences it");
  EXPECT_THAT(told, ElementsAre("a-1/firing", "b-2/firing"));
  now = kNow + seconds(10);
  look();
  EXPECT_THAT(told, ElementsAre("a-1/firing", "b-2/firing", "a-1/firing#1"))
      << "it changed while it was silenced";
  ASSERT_TRUE(policy.acknowledge("a-1", "", "", now));
  ends("a-1");
  EXPECT_EQ(*policy.unacknowledge("a-1", now), "a-1 is not acknowledged any more; it is over");
}

TEST_F(DeskTest, AcknowledgedWhileSilencedItIsToldWhenBothAreOver) {
  ASSERT_TRUE(policy.silence(of_node("/h1", seconds(10)), now));
  fires("1");
  ASSERT_TRUE(policy.acknowledge("1", "", "", now));
  now = kNow + seconds(11);
  look();
  EXPECT_THAT(told, IsEmpty());
  ASSERT_TRUE(policy.unacknowledge("1", now));
  look();
  ends("1");
  EXPECT_THAT(told, ElementsAre("1/firing", "1/resolved"));
}

TEST_F(DeskTest, ARestartTellsNothingTwiceAndNothingThatWasKept) {
  ASSERT_TRUE(policy.silence(of_node("/h1"), now));
  fires("kept");
  fires("over");
  ends("over");
  ASSERT_TRUE(policy.unsilence("s1", now));
  look();
  ASSERT_TRUE(policy.silence(of_node("/h1", seconds(10)), now));
  fires("held");
  fires("acked");
  ASSERT_TRUE(policy.acknowledge("acked", "", "", now));
  restart();
  // The past is handed in again, in its order; sinks know themselves what of it they have had.
  for (const char* id : {"kept", "over", "held", "acked"}) {
    Alert a = an_alert(id);
    if (policy.take(a, true, now)) told.push_back(a.id + "/" + step(a));
    if (a.id != "over") continue;
    a.status = Status::kResolved;
    if (policy.take(a, true, now)) told.push_back(a.id + "/" + step(a));
  }
  EXPECT_THAT(told, ElementsAre("kept/firing")) << "it had been told";
  told.clear();
  look();
  EXPECT_THAT(told, IsEmpty());
  fires("acked", 1);
  now = kNow + seconds(10);
  look();
  EXPECT_THAT(told, ElementsAre("held/firing"));
  ends("kept");
  ends("acked");
  EXPECT_THAT(told, ElementsAre("held/firing", "kept/resolved"));
}

TEST_F(DeskTest, IdsThatFitSeveralOrNoneAreSaid) {
  fires("a-1");
  fires("b-1");
  EXPECT_THAT(policy.acknowledge("-1", "", "", now).error().message, HasSubstr("2 alerts end with '-1'"));
  ends("a-1");
  ends("b-1");
  EXPECT_THAT(policy.acknowledge("-1", "", "", now).error().message, HasSubstr("fires: none is firing"));
  EXPECT_THAT(policy.silence(Silence(), now).error().message, HasSubstr("--node"));
}

}  // namespace silence_test
}  // namespace margay::alert
