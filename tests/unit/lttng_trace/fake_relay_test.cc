// What real relay daemons do rarely: packets that are missing, clocks that run back, connections that break
// off.
#include "support/fake_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "recorder.h"
#include "support/ctf_writer.h"
#include "support/decoder_leaks.h"

namespace margay::lttng::test {
namespace fake_relay_test {

using test_support::CtfBytes;
using test_support::CtfTrace;
using test_support::DecoderLeaks;
using test_support::FakeRelay;
using testing::HasSubstr;
using Step_ = FakeRelay::Step;

// Three packets of ten events each, a microsecond apart; a millisecond between packets.
struct FakeRelayTest : testing::Test {
  const TemporaryFolder place;
  Recorder seen;
  Result<Step> last = Step::kAgain;
  std::unique_ptr<TraceReader> reader;

  void make(std::int64_t back = 0) {
    CtfTrace trace(place.path, {}, {{"app:x", {{"n", "i32"}}}});
    for (std::uint64_t packet = 0; packet < 3; ++packet) {
      const std::uint64_t begin =
          (packet + 1) * 1'000'000 - (packet == 2 ? static_cast<std::uint64_t>(back) : 0);
      for (std::uint64_t i = 0; i < 10; ++i)
        ASSERT_TRUE(
            trace.event(0, begin + i * 1'000, 0, CtfBytes().i32(1).i32(2).comm("x"), CtfBytes().i32(1)));
      ASSERT_TRUE(trace.end_packet(0, begin + 20'000));
    }
    ASSERT_TRUE(trace.finish());
  }
  void read(std::vector<Step_> steps) {
    FakeRelay relay(place.path, std::move(steps));
    ASSERT_NE(relay.url(), "");
    auto opened = TraceReader::open_live(relay.url(), seen);
    ASSERT_TRUE(opened) << opened.error().message;
    reader = std::move(*opened);
    for (int i = 0; i < 2000; ++i) {
      last = reader->run_once(1000);
      if (!last || *last == Step::kEnd) return;
      if (*last == Step::kAgain) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "it does not come to an end";
  }
};

TEST_F(FakeRelayTest, PacketsAreReadToTheEnd) {
  make();
  read({Step_::packet(), Step_::retry(), Step_::retry(), Step_::packet(), Step_::packet()});
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(seen.events.size(), 30u);
  EXPECT_TRUE(seen.in_order);
  EXPECT_TRUE(seen.discarded.empty());
}

TEST_F(FakeRelayTest, TimeGoesOnWhereNothingHappens) {
  make();
  read({Step_::packet(), Step_::inactive(1'500'000), Step_::inactive(1'900'000), Step_::packet(),
        Step_::packet()});
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(seen.events.size(), 30u);
  EXPECT_TRUE(seen.in_order);
  EXPECT_THAT(seen.progress,
              testing::Contains(testing::AllOf(testing::Ge(1'500'000), testing::Lt(2'000'000))));
}

TEST_F(FakeRelayTest, AMissingPacketIsTold) {
  make();
  read({Step_::packet(), Step_::skip(), Step_::packet()});
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(seen.events.size(), 20u);
  ASSERT_EQ(seen.discarded.size(), 1u);
  EXPECT_EQ(seen.discarded[0].events, 1u);
  EXPECT_FALSE(seen.discarded[0].exact);
  EXPECT_EQ(seen.discarded[0].begin.value, 1'020'000);
  EXPECT_EQ(seen.discarded[0].end.value, 3'000'000);
  EXPECT_EQ(reader->counts().discarded_packets, 1u);
}

TEST_F(FakeRelayTest, AClockThatRunsBackIsRefusedAfterWhatWasRight) {
  const DecoderLeaks leaks;
  make(1'500'000);
  read({Step_::packet(), Step_::retry(), Step_::packet(), Step_::retry(), Step_::packet()});
  ASSERT_FALSE(last);
  EXPECT_THAT(last.error().message, HasSubstr("net://127.0.0.1"));
  EXPECT_EQ(seen.events.size(), 20u);
  EXPECT_TRUE(seen.in_order);
}

TEST_F(FakeRelayTest, WhatBreaksOffIsAnErrorAfterWhatCame) {
  const DecoderLeaks leaks;
  for (const Step_& wrong : {Step_::broken(), Step_::garbage(), Step_::shortened(), Step_::error()}) {
    SCOPED_TRACE(static_cast<int>(wrong.kind));
    seen = Recorder();
    if (wrong.kind == Step_::Kind::kBreak) make();
    read({Step_::packet(), Step_::retry(), wrong, Step_::packet()});
    ASSERT_FALSE(last);
    EXPECT_THAT(last.error().message, HasSubstr("net://127.0.0.1"));
    EXPECT_EQ(seen.events.size(), 10u) << last.error().message;
    EXPECT_TRUE(last.error().code == ErrorCode::kUnavailable || last.error().code == ErrorCode::kCorrupt)
        << last.error().message;
    EXPECT_EQ(reader->run_once(1).error().message, last.error().message) << "and so it stays";
  }
}

TEST_F(FakeRelayTest, MetadataThatDoesNotDecodeIsAnError) {
  const DecoderLeaks leaks;
  make();
  { std::ofstream(place.path + "/metadata") << "/* CTF 1.8 */ event { name = "; }
  read({Step_::packet()});
  ASSERT_FALSE(last);
  EXPECT_TRUE(seen.events.empty());
  EXPECT_THAT(last.error().message, HasSubstr("net://127.0.0.1"));
}

}  // namespace fake_relay_test
}  // namespace margay::lttng::test
