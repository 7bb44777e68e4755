// Order, patience and bounds of the way to one sink, with a clock and dice of our own.
#include "channel.h"

#include <gmock/gmock.h>

#include "sink_fixture.h"

namespace margay::sinks {
namespace channel_test {

using testing::ElementsAre;
using Kind = Outcome::Kind;

// Does as it is told; tells what it was asked.
struct Script {
  std::vector<std::string> begun;  // "id/status", "repeat"
  std::vector<TimeNs> begun_at;
  std::function<std::optional<Outcome>()> answer = [] { return Outcome{}; };
  int cuts = 0;
  TimeNs repeat_at = Sink::kNever;
};
class FakeSink final : public Sink {
 public:
  explicit FakeSink(Script& script) : script_(script) {}
  const char* name() const override { return "fake"; }
  std::string where() const override { return "nowhere"; }
  void begin(const Notice& n, TimeNs now) override {
    script_.begun.push_back(n.alert.id + "/" + alert::to_string(n.alert.status));
    script_.begun_at.push_back(now);
  }
  std::optional<Outcome> progress(TimeNs) override { return script_.answer(); }
  void cut(TimeNs) override { ++script_.cuts; }
  TimeNs repeat_at() const override { return script_.repeat_at; }
  void begin_repeat(TimeNs now) override {
    script_.begun.push_back("repeat");
    script_.repeat_at = now + seconds(60);
  }

 private:
  Script& script_;
};

class ChannelTest : public testing::Test {
 protected:
  void step() {
    channel_.step(now_, [&](const Channel::Fate& f) {
      fates_.push_back(f.notice->alert.id + "/" + alert::to_string(f.notice->alert.status) + " " +
                       (f.sent ? "sent" : "given up: " + f.why));
    });
  }
  // Steps when the channel wants one, until `end`.
  void run_until(TimeNs end) {
    for (int i = 0; i < 100'000 && now_ < end; ++i) {
      step();
      now_ = std::max(now_ + milliseconds(1), std::min(channel_.next(now_), end));
    }
  }
  void add(const std::string& id, alert::Status status = alert::Status::kFiring) {
    channel_.add(a_notice(id, status), now_);
  }

  Script script_;
  double dice_ = 0.5;  // the pause itself
  TimeNs now_{seconds(1000).value};
  std::vector<std::string> fates_;
  Channel channel_{std::make_unique<FakeSink>(script_), seconds(10), seconds(600), [this] { return dice_; }};
};

TEST_F(ChannelTest, FiringIsSentBeforeResolvedHoweverOftenItFails) {
  int failures = 5;
  script_.answer = [&] { return failures-- > 0 ? Outcome{Kind::kRetry, "no", {}} : Outcome{}; };
  add("1");
  add("1", alert::Status::kResolved);
  add("2");
  run_until(now_ + seconds(120));
  EXPECT_THAT(script_.begun, ElementsAre("1/firing", "1/firing", "1/firing", "1/firing", "1/firing",
                                         "1/firing", "1/resolved", "2/firing"));
  EXPECT_THAT(fates_, ElementsAre("1/firing sent", "1/resolved sent", "2/firing sent"));
  EXPECT_EQ(channel_.sent(), 3u);
  EXPECT_EQ(channel_.failed(), 5u);
  EXPECT_EQ(channel_.given_up(), 0u);
  EXPECT_EQ(channel_.trouble(), "");
  EXPECT_EQ(channel_.next(now_), Sink::kNever);
}

TEST_F(ChannelTest, PausesDoubleUpToAMinuteAndAreSpread) {
  script_.answer = [] { return Outcome{Kind::kRetry, "no", {}}; };
  add("1");
  const TimeNs begin = now_;
  run_until(now_ + seconds(400));
  std::vector<std::int64_t> pauses;
  for (std::size_t i = 1; i < script_.begun_at.size(); ++i)
    pauses.push_back((script_.begun_at[i] - script_.begun_at[i - 1]).value / 100'000'000);
  EXPECT_THAT(pauses, ElementsAre(5, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 600));
  // The dice spread them by a half to both sides.
  for (const double dice : {0.0, 1.0}) {
    Script script;
    script.answer = [] { return Outcome{Kind::kRetry, "no", {}}; };
    Channel c(std::make_unique<FakeSink>(script), seconds(10), seconds(600), [&] { return dice; });
    c.add(a_notice("1"), begin);
    const auto ignore = [](const Channel::Fate&) {};
    c.step(begin, ignore);
    c.step(begin, ignore);
    EXPECT_EQ((c.next(begin) - begin).value, dice == 0 ? 250'000'000 : 750'000'000);
  }
}

TEST_F(ChannelTest, WhatIsNotTakenInTimeIsGivenUpAndCountedAndTheNextOneIsTried) {
  bool well = false;
  script_.answer = [&] { return well ? Outcome{} : Outcome{Kind::kRetry, "away", {}}; };
  add("1");
  run_until(now_ + seconds(300));
  add("2");
  run_until(now_ + seconds(400));
  EXPECT_THAT(fates_, ElementsAre("1/firing given up: away"));
  well = true;
  run_until(now_ + seconds(100));
  EXPECT_THAT(fates_, ElementsAre("1/firing given up: away", "2/firing sent"));
  EXPECT_EQ(channel_.given_up(), 1u);
  // Well again: the next one does not wait.
  add("3");
  const TimeNs then = now_;
  run_until(now_ + milliseconds(20));
  EXPECT_EQ(script_.begun_at.back(), then);
}

TEST_F(ChannelTest, WithoutPatienceASinkThatWasAwayIsStillTriedAgain) {
  bool well = false;
  script_.answer = [&] { return well ? Outcome{} : Outcome{Kind::kRetry, "away", {}}; };
  channel_ = Channel(std::make_unique<FakeSink>(script_), seconds(10), DurationNs(0), [] { return 0.5; });
  add("1");
  run_until(now_ + milliseconds(100));
  add("2");  // within the pause
  run_until(now_ + milliseconds(100));
  EXPECT_THAT(fates_, ElementsAre("1/firing given up: away", "2/firing given up: away"));
  run_until(now_ + seconds(60));
  well = true;
  add("3");
  run_until(now_ + milliseconds(100));
  EXPECT_THAT(script_.begun, ElementsAre("1/firing", "3/firing"));
  EXPECT_EQ(fates_.back(), "3/firing sent");
}

TEST_F(ChannelTest, TheQueueIsBoundedTheOldestGoAndAreCounted) {
  script_.answer = []() -> std::optional<Outcome> { return std::nullopt; };
  add("first");
  step();  // under way
  for (std::size_t i = 0; i < Channel::kMostWaiting + 10; ++i) add(std::to_string(i));
  EXPECT_EQ(channel_.waiting(), Channel::kMostWaiting);
  EXPECT_EQ(channel_.given_up(), 11u);
  step();
  EXPECT_EQ(fates_.size(), 11u);
  EXPECT_EQ(fates_.front(), "0/firing given up: too many wait");
  EXPECT_EQ(fates_.back(), "10/firing given up: too many wait");
  script_.answer = [] { return Outcome{}; };
  run_until(now_ + seconds(60));
  EXPECT_EQ(script_.begun.front(), "first/firing");
  EXPECT_EQ(script_.begun[1], "11/firing");
  EXPECT_EQ(channel_.sent() + channel_.given_up(), Channel::kMostWaiting + 11);
}

TEST_F(ChannelTest, OfUpdatesThatWaitOnlyTheNewestIsSent) {
  bool away = true;
  script_.answer = [&] { return away ? Outcome{Kind::kRetry, "no", {}} : Outcome{}; };
  const auto update = [&](const std::string& id, std::uint64_t n) {
    auto notice = a_notice(id);
    notice->alert.updates = n;
    channel_.add(notice, now_);
  };
  std::vector<std::string> sent;
  const auto step_once = [&] {
    channel_.step(now_, [&](const Channel::Fate& f) {
      sent.push_back(f.notice->alert.id + "/" + alert::step(f.notice->alert));
    });
  };
  add("1");
  update("1", 1);
  update("2", 1);
  step_once();  // the first word is under way
  for (std::uint64_t n = 2; n < 1000; ++n) update("1", n);
  EXPECT_EQ(channel_.waiting(), 3u);
  EXPECT_TRUE(channel_.holds("1", "firing#999"));
  EXPECT_FALSE(channel_.holds("1", "firing#1"));
  EXPECT_TRUE(channel_.holds("1", "firing"));
  away = false;
  for (int i = 0; i < 20; ++i, now_ = now_ + seconds(1)) step_once();
  EXPECT_THAT(sent, ElementsAre("1/firing", "1/firing#999", "2/firing#1"));
}

TEST_F(ChannelTest, AnUpdateWaitsFromWhenItCameNotFromWhenOneBeforeItDid) {
  bool away = true;
  script_.answer = [&] { return away ? Outcome{Kind::kRetry, "no", {}} : Outcome{}; };
  const auto update = [&](std::uint64_t n) {
    auto notice = a_notice("1");
    notice->alert.updates = n;
    channel_.add(notice, now_);
  };
  for (std::uint64_t n = 1; n <= 20; ++n) {
    update(n);
    run_until(now_ + seconds(60));
  }
  EXPECT_EQ(channel_.given_up(), 0u) << "the newest is younger than ten minutes";
  EXPECT_TRUE(channel_.holds("1", "firing#20"));
  run_until(now_ + seconds(600));
  EXPECT_EQ(channel_.given_up(), 1u);
  EXPECT_THAT(fates_, ElementsAre("1/firing given up: no"));
}

TEST_F(ChannelTest, WhatIsRefusedIsGivenUpAtOnceAndHoldsUpNobody) {
  script_.answer = [&] {
    return script_.begun.back() == "1/firing" ? Outcome{Kind::kRefused, "HTTP status 400", {}} : Outcome{};
  };
  add("1");
  add("2");
  run_until(now_ + milliseconds(20));
  EXPECT_THAT(fates_, ElementsAre("1/firing given up: HTTP status 400", "2/firing sent"));
}

TEST_F(ChannelTest, WhatTakesTooLongIsCutOnceAndTriedAgain) {
  std::optional<Outcome> answer;
  script_.answer = [&] { return answer; };
  add("1");
  run_until(now_ + seconds(9));
  EXPECT_EQ(script_.cuts, 0);
  run_until(now_ + seconds(5));
  EXPECT_EQ(script_.cuts, 1) << "and then it is waited for";
  EXPECT_EQ(script_.begun.size(), 1u) << "one at a time";
  answer = Outcome{Kind::kRetry, "took too long", {}};
  run_until(now_ + milliseconds(100));
  answer.reset();
  run_until(now_ + seconds(5));
  EXPECT_EQ(script_.begun.size(), 2u);
}

TEST_F(ChannelTest, TheOtherSideMayAskForALongerPauseWithinBounds) {
  script_.answer = [] { return Outcome{Kind::kRetry, "busy", seconds(7)}; };
  add("1");
  step();
  step();
  EXPECT_EQ(channel_.next(now_) - now_, seconds(7));
  script_.answer = [] { return Outcome{Kind::kRetry, "busy", seconds(3600)}; };
  now_ = now_ + seconds(7);
  step();
  step();
  EXPECT_EQ(channel_.next(now_) - now_, Channel::kLongestPause);
}

TEST_F(ChannelTest, RepeatsComeWhenNothingWaitsAndAFailedOneIsNoLoss) {
  script_.repeat_at = now_ + seconds(5);
  add("1");
  run_until(now_ + seconds(70));
  EXPECT_THAT(script_.begun, ElementsAre("1/firing", "repeat", "repeat"));
  script_.answer = [] { return Outcome{Kind::kRefused, "no", {}}; };
  run_until(now_ + seconds(120));
  EXPECT_EQ(script_.begun.size(), 5u);
  EXPECT_EQ(channel_.given_up(), 0u);
  EXPECT_EQ(channel_.failed(), 2u);
  EXPECT_EQ(channel_.sent(), 1u);
}

TEST_F(ChannelTest, AtTheEndPausesAreOverAndTheRestIsGivenUp) {
  script_.answer = [] { return Outcome{Kind::kRetry, "away", {}}; };
  add("1");
  add("1", alert::Status::kResolved);
  run_until(now_ + seconds(200));
  const std::size_t before = script_.begun.size();
  channel_.hurry();
  step();
  EXPECT_EQ(script_.begun.size(), before + 1);
  EXPECT_FALSE(channel_.idle());
  EXPECT_FALSE(channel_.hopeless());
  step();
  EXPECT_TRUE(channel_.hopeless()) << "it did not work before either";
  now_ = channel_.next(now_);
  step();  // under way again
  channel_.end(now_, [&](const Channel::Fate& f) { fates_.push_back(f.why); });
  EXPECT_THAT(fates_, ElementsAre("away", "away"));
  EXPECT_TRUE(channel_.idle());
  EXPECT_EQ(script_.cuts, 1);
}

}  // namespace channel_test
}  // namespace margay::sinks
