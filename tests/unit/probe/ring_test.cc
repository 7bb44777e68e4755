// The ring between a producer and a consumer, and the way from there through the outbox to a collector that
// loses things.
#include "margay/probe/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "../node/fake_collector.h"
#include "../node/fake_segment.h"
#include "margay/node/outbox.h"
#include "margay/node/segment_reader.h"

namespace margay::node {
namespace ring_test {

constexpr std::uint16_t kOne = 1;  // a state that is open

struct Ring {
  explicit Ring(std::uint64_t capacity) : slots(capacity), reader(&control, slots.data(), capacity) {
    writer.bind(&control, slots.data(), capacity);
  }
  std::vector<EventRecord> drain(TimeNs now = TimeNs(1)) {
    const auto look = reader.look(now);
    EXPECT_TRUE(look);
    std::vector<EventRecord> out;
    reader.take(*look, SIZE_MAX, out);
    return out;
  }
  void write(std::uint8_t kind, std::uint16_t state, std::uint16_t before, std::int64_t t) {
    writer.write(record_of(kind, state), &before, before == 0 ? 0 : 1, [=] { return t; });
  }
  bool balanced() const { return control.produced.load() == control.dropped.load() + control.head.load(); }
  probe::RingControl control{};
  std::vector<margay_record> slots;
  probe::RingWriter writer;
  RingReader reader;
};

TEST(Ring, RecordsComeOutInOrderAndOnce) {
  Ring ring(8);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 3; ++i) ring.write(MARGAY_ENTER, 1, 0, round * 3 + i);
    const auto got = ring.drain();
    ASSERT_EQ(got.size(), 3u);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)].time_ns, round * 3 + i);
    EXPECT_TRUE(ring.drain().empty());
  }
  EXPECT_EQ(ring.reader.tail(), 30u);
  EXPECT_TRUE(ring.balanced());
}

TEST(Ring, WhenFullItDropsCountsAndTellsOfTheGap) {
  Ring ring(4);
  for (int i = 0; i < 10; ++i) ring.write(i % 2 == 0 ? MARGAY_ENTER : MARGAY_LEAVE, 1, i % 2 == 0 ? 0 : 1, i);
  EXPECT_EQ(ring.control.dropped.load(), 6u);
  EXPECT_TRUE(ring.balanced());
  EXPECT_EQ(ring.drain().size(), 4u);
  ring.write(MARGAY_ENTER, 1, 0, 20);
  const auto got = ring.drain();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].kind, MARGAY_GAP);
  EXPECT_EQ(got[0].bytes, 6u);
  EXPECT_EQ(got[1].kind, MARGAY_STACK);
  EXPECT_EQ(got[1].state, 0);
  EXPECT_EQ(got[2].kind, MARGAY_ENTER);
  EXPECT_EQ(ring.control.produced.load(), 13u);  // the gap and the stack count as well
  EXPECT_TRUE(ring.balanced());
}

TEST(Ring, AfterAGapAllStatesThatWereOpenAreToldFromTheOutside) {
  Ring ring(8);
  const std::uint16_t open[] = {7, 8, 9};
  for (int i = 0; i < 9; ++i) ring.write(MARGAY_ENTER, 1, 0, i);  // one is dropped
  ASSERT_EQ(ring.drain().size(), 8u);
  ring.writer.write(record_of(MARGAY_LEAVE, 9), open, 3, [] { return 20; });
  const auto got = ring.drain();
  ASSERT_EQ(got.size(), 5u);
  EXPECT_EQ(got[0].kind, MARGAY_GAP);
  EXPECT_EQ(got[1].kind, MARGAY_STACK);
  EXPECT_EQ(got[1].state, 7);
  EXPECT_EQ(got[2].kind, MARGAY_ENTER);
  EXPECT_EQ(got[2].state, 8);
  EXPECT_EQ(got[3].kind, MARGAY_ENTER);
  EXPECT_EQ(got[3].state, 9);
  EXPECT_EQ(got[4].kind, MARGAY_LEAVE);
  EXPECT_EQ(got[4].state, 9);
  EXPECT_EQ(ring.control.produced.load(), 14u);
  EXPECT_TRUE(ring.balanced());
}

TEST(Ring, ALeaveWhoseEnterWasDroppedStandsBehindGapAndStack) {
  Ring ring(4);
  for (int i = 0; i < 4; ++i) ring.write(MARGAY_ENTER, 1, 0, i);
  ring.write(MARGAY_ENTER, 5, 0, 10);  // dropped
  ASSERT_EQ(ring.drain().size(), 4u);
  ring.write(MARGAY_LEAVE, 5, 5, 11);
  const auto got = ring.drain();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].bytes, 1u);
  EXPECT_EQ(got[1].kind, MARGAY_STACK);
  EXPECT_EQ(got[1].state, 5);
  EXPECT_EQ(got[2].kind, MARGAY_LEAVE);
}

TEST(Ring, ARecordAfterAGapNeedsRoomForAllThree) {
  Ring ring(4);
  for (int i = 0; i < 5; ++i) ring.write(MARGAY_ENTER, 1, 0, i);
  const auto look = ring.reader.look(TimeNs(9));
  std::vector<EventRecord> out;
  ASSERT_EQ(ring.reader.take(*look, 2, out), 2u);
  ring.write(MARGAY_ENTER, 1, 0, 6);  // two places are not enough
  EXPECT_EQ(ring.control.dropped.load(), 2u);
  ASSERT_EQ(ring.drain().size(), 2u);
  ring.write(MARGAY_ENTER, 1, 0, 7);
  EXPECT_EQ(ring.drain()[0].bytes, 2u);
  EXPECT_TRUE(ring.balanced());
}

TEST(Ring, CoveredUntilIsTheClockWhenIdleAndTheLastRecordWhenNot) {
  Ring ring(8);
  ring.write(MARGAY_ENTER, 1, 0, 1'000'000);
  auto look = ring.reader.look(TimeNs(2'000'000));
  std::vector<EventRecord> out;
  EXPECT_EQ(ring.reader.covered_until(*look).value, 0);  // not drained: nothing is promised
  ring.reader.take(*look, 8, out);
  EXPECT_EQ(ring.reader.covered_until(*look).value, 2'000'000 - probe::kGuardNs);
  ring.control.pending = 1;
  ring.control.head = 2;
  ring.slots[1].time_ns = 1'990'000;
  look = ring.reader.look(TimeNs(3'000'000));
  ring.reader.take(*look, 8, out);
  EXPECT_EQ(ring.reader.covered_until(*look).value, 1'990'000);
  look = ring.reader.look(TimeNs(1'000'000));  // never back
  EXPECT_EQ(ring.reader.covered_until(*look).value, 1'990'000);
}

TEST(Ring, ImpossibleHeadsAreRefused) {
  Ring ring(8);
  ring.control.head = 9;
  EXPECT_EQ(ring.reader.look(TimeNs(1)).error().code, ErrorCode::kCorrupt);
  ring.control.head = ~std::uint64_t{0};
  EXPECT_FALSE(ring.reader.look(TimeNs(1)));
  Ring other(8);
  other.control.tail = 1000;  // a broken agent: the probe drops, and writes nowhere it should not
  for (int i = 0; i < 20; ++i) other.write(MARGAY_ENTER, 1, 0, i);
  EXPECT_TRUE(other.balanced());
}

// A producer at full speed and a consumer that dawdles: everything that is not dropped arrives, in order, and
// no promise is broken.
TEST(Ring, Threads_NothingIsLostUncountedAndNoPromiseIsBroken) {
  const std::uint64_t seed = 41;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Ring ring(256);
  const SystemClock clock;
  std::atomic<bool> ended{false};
  std::thread producer([&] {
    std::mt19937_64 rng(seed);
    std::uint64_t number = 0;
    for (int call = 0; call < 60'000; ++call) {
      const auto now = [&] { return clock.monotonic().value; };
      // Some stretches outrun the consumer, most do not.
      if (call % 5000 > 1000)
        while (ring.control.head.load() - ring.control.tail.load() > 200) std::this_thread::yield();
      ring.writer.write(record_of(MARGAY_ENTER, 1, ++number), nullptr, 0, now);
      for (auto spin = rng() % 50; spin > 0; --spin) std::atomic_signal_fence(std::memory_order_seq_cst);
      ring.writer.write(record_of(MARGAY_LEAVE, 1, ++number), &kOne, 1, now);
    }
    ended = true;
  });
  std::mt19937_64 rng(seed + 1);
  std::uint64_t arrived = 0, last_number = 0, gaps = 0, promises = 0;
  std::int64_t promised = INT64_MIN, last_time = 0;
  std::uint16_t open = 0;
  for (bool last = false; !last;) {
    last = ended.load();
    const auto look = ring.reader.look(clock.monotonic());
    ASSERT_TRUE(look);
    std::vector<EventRecord> out;
    ring.reader.take(*look, last ? SIZE_MAX : rng() % 300, out);
    for (const auto& r : out) {
      ASSERT_GE(r.time_ns, promised);
      ASSERT_GE(r.time_ns, last_time);
      last_time = r.time_ns;
      if (r.kind == MARGAY_GAP) {
        gaps += r.bytes;
      } else if (r.kind == MARGAY_STACK) {
        open = r.state;
      } else {
        ASSERT_GT(r.bytes, last_number);
        last_number = r.bytes;
        ASSERT_EQ(open, r.kind == MARGAY_ENTER ? 0 : 1);
        open = r.kind == MARGAY_ENTER ? 1 : 0;
      }
    }
    arrived += out.size();
    const std::int64_t promise = ring.reader.covered_until(*look).value;
    ASSERT_GE(promise, promised);
    promises += promise > promised ? 1 : 0;
    promised = promise;
    if (rng() % 8 == 0) std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(arrived, ring.control.head.load());
  EXPECT_EQ(gaps + ring.control.lost.load(), ring.control.dropped.load());
  EXPECT_TRUE(ring.balanced());
  std::printf("%llu arrived, %llu dropped, %llu promises\n", static_cast<unsigned long long>(arrived),
              static_cast<unsigned long long>(ring.control.dropped.load()),
              static_cast<unsigned long long>(promises));
}

// The whole way: ring, outbox, and a collector that loses messages and is killed now and then.
TEST(Ring, Threads_ThroughTheOutboxToACollectorThatDies) {
  const std::uint64_t seed = 43;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Ring ring(1024);
  const SystemClock clock;
  std::atomic<bool> ended{false};
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < 100'000; ++i) {
      // Mostly at the consumer's pace: a ring that is full now and then, not always.
      if (i % 7000 > 2000)
        while (ring.control.head.load() - ring.control.tail.load() > 1000) std::this_thread::yield();
      ring.writer.write(record_of(i % 2 == 0 ? MARGAY_ENTER : MARGAY_LEAVE, 1, i), &kOne, i % 2,
                        [&] { return clock.monotonic().value; });
    }
    ended = true;
  });
  OutboxOptions options;
  options.memory_bytes = 256 << 10;
  options.window_bytes = 64 << 10;
  options.message_bytes = 16 << 10;
  Outbox outbox(options);
  wire::Hello hello;
  hello.set_source(5);
  hello.set_epoch(1);
  hello.add_names()->set_name("Compute");
  hello.add_names()->set_name("MPI_Send");
  outbox.put_hello(hello);
  FakeCollector collector;
  std::mt19937_64 rng(seed);
  ManualClock time;  // of the outbox: a step a round
  int restarts = 0;
  const auto drained = [&] { return ring.reader.tail() == ring.control.head.load() && outbox.bytes() == 0; };
  for (bool last = false; !(last && drained());) {
    last = ended.load();
    time.mono = time.mono + milliseconds(100);
    const auto look = ring.reader.look(clock.monotonic());
    ASSERT_TRUE(look);
    bool any = false;
    while (outbox.has_room()) {
      wire::EventBatch batch;
      batch.set_source(5);
      batch.set_epoch(1);
      batch.set_first(ring.reader.tail());
      std::vector<EventRecord> records;
      if (ring.reader.take(*look, 100, records) == 0) break;
      any = true;
      batch.set_count(static_cast<std::uint32_t>(records.size()));
      batch.set_covered_until_ns(ring.reader.covered_until(*look).value);
      wire::encode_columns(records, *batch.mutable_columns());
      outbox.put_batch(std::move(batch));
    }
    if (!any) {
      wire::EventBatch beat;
      beat.set_source(5);
      beat.set_epoch(1);
      beat.set_first(ring.reader.tail());
      beat.set_covered_until_ns(ring.reader.covered_until(*look).value);
      outbox.put_heartbeat(beat);
    }
    ASSERT_LE(outbox.bytes(), options.memory_bytes + 8192);
    outbox.flush(time.mono, [&](const wire::ToCollector& m) {
      if (rng() % 10 == 0) return false;       // the queue is full
      if (rng() % 20 != 0) collector.take(m);  // else lost on the way
      return true;
    });
    outbox.take_reconnect();
    if (rng() % 30 == 0 && restarts < 20) {
      collector.restart();
      ++restarts;
    }
    const auto reply = rng() % 2 == 0 ? collector.commit() : collector.reply();
    if (rng() % 4 != 0) outbox.on_reply_untrusted(reply, time.mono);
  }
  producer.join();
  collector.commit();
  const auto& stream = collector.streams[{5, 0}];
  EXPECT_EQ(stream.committed.size(), ring.control.head.load());
  EXPECT_TRUE(ring.balanced());
  EXPECT_EQ(collector.broken_promises, 0u);
  EXPECT_GT(outbox.resends(), 0u);
  EXPECT_EQ(outbox.refused_acks(), 0u);
  std::printf("%zu committed, %llu dropped, %llu repeats ignored, %d restarts\n", stream.committed.size(),
              static_cast<unsigned long long>(ring.control.dropped.load()),
              static_cast<unsigned long long>(collector.repeats), restarts);
}

}  // namespace ring_test
}  // namespace margay::node
