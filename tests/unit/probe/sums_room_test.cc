// Sums and the room in a ring: they begin by themselves where it fills, and what finds none is dropped and
// counted.
#include <gtest/gtest.h>

#include "margay/probe/sums.h"
#include "sum_line.h"

namespace margay::node {
namespace sums_room_test {

// Nobody drains for a second: 200,000 events for a ring of 4096 records.
TEST(Sums, BeginByThemselvesOnceTheRingIsHalfFullSoThatNothingIsLost) {
  Line line;
  slicer::Slicer one({kSlice, 512, 512}), drained({kSlice, 512, 512});
  for (slicer::Slicer* s : {&one, &drained}) {
    s->start(kBegin);
    static_cast<void>(s->add_leaf());
  }
  const auto both = [&](margay_record r, std::int64_t t) {
    line.event(r, t);
    r.time_ns = t;
    tell(one, r);
  };
  constexpr int kCalls = 100'000;
  for (int i = 0; i < kCalls; ++i) {
    both(call(MARGAY_ENTER, 1 + i % 5, 100, 3), kBegin.value + i * 10'000);
    both(call(MARGAY_LEAVE, 1 + i % 5), kBegin.value + i * 10'000 + 4'000);
  }
  EXPECT_EQ(line.control().dropped.load(), 0u);
  const TimeNs end = kBegin + seconds(3);
  const auto got = line.drain(end);
  EXPECT_EQ(std::count_if(got.records.begin(), got.records.begin() + 2048,
                          [](const EventRecord& r) { return r.kind >= MARGAY_SUM; }),
            0)
      << "half of the ring has each call";
  for (const EventRecord& r : got.records) tell(drained, r);
  // The agent wants single calls: it gets them again.
  line.reader.sum(false);
  const std::uint64_t summed = line.table().summed.load();
  both(call(MARGAY_ENTER, 1), end.value);
  both(call(MARGAY_LEAVE, 1), end.value + 1'000);
  EXPECT_EQ(line.table().summed.load(), summed);
  for (const EventRecord& r : line.drain(end + seconds(1)).records) tell(drained, r);
  for (slicer::Slicer* s : {&one, &drained}) {
    s->cover(kLeaf, end + seconds(1));
    static_cast<void>(s->close_through(end + seconds(1)));
  }
  for (SliceIndex s = slice_of(kBegin, kSlice); s < one.next_open(); ++s.value)
    expect_same(*one.column(s), *drained.column(s));
}

TEST(Sums, DoNotBeginByThemselvesWhereEachCallIsToBeRecorded) {
  Line line;
  line.header->slice_ns = 0;
  for (int i = 0; i < 5000; ++i)
    line.event(call(i % 2 ? MARGAY_LEAVE : MARGAY_ENTER, 1), kBegin.value + i * 10'000);
  EXPECT_EQ(line.control().dropped.load(), 5000u - 4096u);
  EXPECT_EQ(line.table().summed.load(), 0u);
}

TEST(Sums, WithoutRoomAreDroppedAndCounted) {
  Line line(64);
  line.reader.sum(true);
  for (int i = 0; i < 100'000; ++i) {
    line.event(call(MARGAY_ENTER, 1 + i % 5), kBegin.value + i * 10'000);
    line.event(call(MARGAY_LEAVE, 1 + i % 5), kBegin.value + i * 10'000 + 4'000);
  }
  EXPECT_GT(line.control().dropped.load(), 0u);
  EXPECT_TRUE(line.balanced());
  const auto got = line.drain(kBegin + seconds(1));
  EXPECT_EQ(got.records.front().kind, MARGAY_ENTER);
  line.event(call(MARGAY_ENTER, 1), kBegin.value + 1'100'000'000);
  line.event(call(MARGAY_LEAVE, 1), kBegin.value + 1'100'000'001);
  line.reader.sum(false);
  line.event(call(MARGAY_ENTER, 1), kBegin.value + 1'200'000'000);
  const auto after = line.drain(kBegin + milliseconds(1300));
  ASSERT_FALSE(after.records.empty());
  EXPECT_EQ(after.records.front().kind, MARGAY_GAP);
  std::uint64_t told = 0;
  for (const auto& part : {got, after})
    for (const EventRecord& r : part.records)
      if (r.kind == MARGAY_GAP) told += r.bytes;
  EXPECT_EQ(told, line.control().dropped.load());
  EXPECT_TRUE(line.balanced());
}

}  // namespace sums_room_test
}  // namespace margay::node
