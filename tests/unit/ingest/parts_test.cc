// The parts of the ingest, each stepped by itself.
#include <gtest/gtest.h>

#include <string>

#include "margay/ingest/acknowledgements.h"
#include "margay/ingest/agent_table.h"
#include "margay/ingest/coverage.h"
#include "margay/ingest/quarantine.h"

namespace margay::ingest::test {
namespace {

const std::string kAgent = "agent", kHere = kLocalOwner, kKey = owner_of_key("node7");

TEST(Quota, AKeyIsLeftOutOfTheLastQuarterOnceItHasAnEighth) {
  EXPECT_TRUE(Quota::has_room(kHere, 99, 100, 99));
  EXPECT_FALSE(Quota::has_room(kHere, 100, 100, 0));
  EXPECT_TRUE(Quota::has_room(kKey, 74, 100, 74));
  EXPECT_FALSE(Quota::has_room(kKey, 75, 100, 12));
  EXPECT_TRUE(Quota::has_room(kKey, 75, 100, 11)) << "little of it is its own";
}

TEST(Quota, TextIsBoundedAndWhatIsRefusedIsCounted) {
  Limits limits;
  limits.text_bytes = 100;
  MessageCounters counters;
  Quota quota(limits, counters);
  EXPECT_TRUE(quota.take_text(0, 90));
  EXPECT_FALSE(quota.take_text(0, 11));
  EXPECT_EQ(counters.refused_by_limit, 1u);
  EXPECT_TRUE(quota.take_text(90, 30)) << "less than before always fits";
  EXPECT_EQ(quota.text_bytes(), 30u);
}

TEST(Replies, BeyondTheBoundAReplyGoesNowhere) {
  Replies replies(7);
  for (std::size_t i = 0; i < Replies::kMostAgents + 5; ++i)
    replies.ask_for_hello(std::to_string(i), SourceId(i));
  replies.ask_for_hello("3", SourceId(3));
  const auto taken = replies.take();
  EXPECT_EQ(taken.size(), Replies::kMostAgents);
  for (const auto& [agent, message] : taken) {
    ASSERT_EQ(message.need_hello_size(), 1) << "asked once for each source";
    EXPECT_EQ(std::to_string(message.need_hello(0)), agent);
    EXPECT_EQ(message.instance(), 7u);
  }
  EXPECT_TRUE(replies.take().empty());
}

TEST(AgentTable, TheOneHeardOfLongestAgoMakesWay) {
  MessageCounters counters;
  AgentTable agents(counters);
  for (std::size_t i = 0; i < AgentTable::kMostAgents; ++i)
    EXPECT_FALSE(agents.hear(std::to_string(i), TimeNs(static_cast<std::int64_t>(i) + 1)));
  EXPECT_TRUE(agents.hear("0", TimeNs(5000)));
  EXPECT_FALSE(agents.hear("new", TimeNs(5001)));
  EXPECT_EQ(agents.find("1"), nullptr);
  EXPECT_NE(agents.find("0"), nullptr);
  agents.forget_silent(TimeNs(5001), DurationNs(1));
  EXPECT_EQ(agents.all().size(), 2u);
  EXPECT_EQ(counters.agents_forgotten, AgentTable::kMostAgents - 1);
}

TEST(Quarantine, AMessageIsCountedOnceHoweverOftenItThrows) {
  MessageCounters counters;
  Quarantine quarantine(counters);
  for (int part = 0; part < 2; ++part)
    EXPECT_FALSE(quarantine.survives([&] { throw std::runtime_error("part " + std::to_string(part)); }));
  EXPECT_TRUE(quarantine.survives([] {}));
  EXPECT_EQ(quarantine.trouble(), "part 1");
  EXPECT_EQ(counters.quarantined, 1u);
  quarantine.begin_message();
  EXPECT_TRUE(quarantine.trouble().empty());
}

// Tables with a slicer, and sources by hand.
struct Tables {
  Options options;
  MessageCounters counters;
  Quota quota{options.limits, counters};
  SourceTable sources{options, quota, counters};
  model::StateTable states;
  slicer::Slicer slicer{{milliseconds(100), 256, 64}};
  LeafTable leaves{options, sources, quota, slicer, states, counters};
  Replies replies{7};

  explicit Tables(const Options& o = {}) : options(o) { slicer.start(TimeNs()); }
  Source* add(std::uint64_t id, TimeNs now) {
    const Sender from{kAgent, kHere, 1, now};
    Source* const source = sources.add(SourceId(id), from);
    if (source == nullptr) return nullptr;
    source->agent = kAgent;
    source->heard = now;
    return source;
  }
};

TEST(SourceTable, GhostsMakeRoomAndOthersDoNot) {
  Options options;
  options.limits.sources = 2;
  Tables t(options);
  Source* const first = t.add(1, TimeNs());
  ASSERT_NE(first, nullptr);
  ASSERT_NE(t.leaves.stream_of(*first, 0, ""), nullptr);
  ASSERT_NE(t.add(2, TimeNs()), nullptr);
  EXPECT_EQ(t.add(3, TimeNs() + milliseconds(1)), nullptr);
  EXPECT_EQ(t.counters.refused_by_limit, 1u);
  EXPECT_NE(t.add(3, TimeNs() + seconds(2)), nullptr) << "2 has sent nothing";
  EXPECT_EQ(t.sources.find(SourceId(2)), nullptr);
  EXPECT_NE(t.sources.find(SourceId(1)), nullptr);
  EXPECT_EQ(t.counters.ghosts_forgotten, 1u);
}

TEST(Coverage, ASilentSourceHoldsTheWatermarkForAWhileUnlessWeWereAway) {
  Tables t;
  Source* const source = t.add(1, TimeNs() + seconds(10));
  ASSERT_NE(source, nullptr);
  Stream* const stream = t.leaves.stream_of(*source, 0, "");
  ASSERT_NE(stream, nullptr);
  stream->covered = TimeNs() + seconds(10);
  Coverage coverage(t.options, t.sources, t.leaves, t.slicer, t.counters);
  const TimeNs now = TimeNs() + seconds(12);
  EXPECT_EQ(coverage.watermark(now), now - t.options.silence_hold - t.options.lateness);
  coverage.catch_up(TimeNs() + seconds(20));
  EXPECT_EQ(coverage.watermark(now), stream->covered - t.options.lateness);
  coverage.listen(now);
  EXPECT_EQ(t.counters.sources_silenced, 0u) << "the silence may be ours";
  stream->covered = now;
  coverage.check_caught_up(now);
  coverage.listen(now);
  EXPECT_EQ(t.counters.sources_silenced, 1u);
  EXPECT_TRUE(coverage.is_promised(LeafIndex(0), now));
  EXPECT_FALSE(coverage.is_promised(LeafIndex(0), now + DurationNs(1)));
}

TEST(Acknowledgements, WhatIsTakenIsToldWhereNoCommitTellsIt) {
  Tables t;
  Source* const source = t.add(1, TimeNs());
  ASSERT_NE(source, nullptr);
  Stream* const stream = t.leaves.stream_of(*source, 0, "");
  ASSERT_NE(stream, nullptr);
  stream->account.next = 5;
  source->news = true;
  Acknowledgements acknowledgements(t.sources, t.replies);
  const AckPoint point = acknowledgements.point();
  stream->account.next = 8;
  acknowledgements.committed(point);
  auto told = t.replies.take();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].second.acks(0).next(), 5u) << "what is in the cut, not what came since";
  EXPECT_EQ(told[0].second.acks(0).taken(), 8u);
  acknowledgements.tick(TimeNs() + seconds(1));
  EXPECT_TRUE(t.replies.take().empty()) << "a commit has told it";
  acknowledgements.tick(TimeNs() + seconds(2));
  told = t.replies.take();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].second.acks(0).taken(), 8u);
  EXPECT_EQ(told[0].second.acks(0).next(), 0u) << "nothing is promised";
}

}  // namespace
}  // namespace margay::ingest::test
