// Calls that are summed in the process and calls that are recorded give the same cells.
#include "margay/probe/sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>

#include "margay/slicer/reslicer.h"
#include "sum_line.h"

namespace margay::node {
namespace sums_test {

struct Event {
  margay_record r;
  std::int64_t t;
};

// A program: calls in a row, some within states of its own, now and then a long one, a region, many states.
std::vector<Event> program(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Event> events;
  std::vector<int> open;
  bool in_mpi = false;
  std::int64_t t = kBegin.value + 1'000'000 + upto(1000);
  const int states = upto(5) == 0 ? 40 : 6;
  const std::size_t deepest = upto(4) == 0 ? 20 : 3;
  for (int i = 0; i < 4000; ++i) {
    const int what = upto(200);
    t += what == 0   ? upto(60'000'000)
         : what < 5  ? upto(3'000'000)
         : what < 20 ? 0
         : what < 30 ? kSlice.value - t % kSlice.value  // on the edge of a slice, to the nanosecond
                     : upto(20'000);
    if (what == 31) {
      events.push_back({call(MARGAY_REGION_ENTER, 50), t});
    } else if (open.empty() || (!in_mpi && open.size() < deepest && upto(3) == 0)) {
      // Calls of MPI are the innermost, and only they move anything.
      in_mpi = upto(3) != 0;
      const int state = in_mpi ? 5 + upto(states) : 1 + upto(4);
      events.push_back({in_mpi
                            ? call(MARGAY_ENTER, state, upto(2) ? static_cast<std::uint64_t>(upto(1000)) : 0,
                                   upto(2) ? upto(8) : MARGAY_NO_PEER, static_cast<std::uint32_t>(upto(2)))
                            : call(MARGAY_ENTER, state),
                        t});
      open.push_back(state);
    } else {
      events.push_back(
          {in_mpi ? call(MARGAY_LEAVE, open.back(), upto(4) ? 0 : static_cast<std::uint64_t>(upto(500)),
                         upto(3) ? MARGAY_NO_PEER : upto(8))
                  : call(MARGAY_LEAVE, open.back()),
           t});
      in_mpi = false;
      open.pop_back();
    }
  }
  return events;
}

// Slices made later, of raw events, by the re-slicer.
void expect_same_again(const slicer::Operator& op, const std::vector<EventRecord>& one,
                       const std::vector<EventRecord>& summed) {
  const auto end = slice_end(slice_of(TimeNs(one.back().time_ns), kSlice), kSlice);
  const auto slices = static_cast<std::uint32_t>((end - kBegin).value / kSlice.value);
  slicer::Reslicer a({{kBegin, end, slices}, op, {}}), b({{kBegin, end, slices}, op, {}});
  for (slicer::Reslicer* r : {&a, &b}) {
    ASSERT_TRUE(r->add_name(slicer::Reslicer::NameKind::kState, "Compute", model::StateFamily::kCompute));
    for (int i = 1; i < 60; ++i)
      ASSERT_TRUE(r->add_name(slicer::Reslicer::NameKind::kState, "s" + std::to_string(i),
                              model::StateFamily::kPointToPoint));
    ASSERT_TRUE(r->add_leaf());
    ASSERT_TRUE(r->take(kLeaf, r == &a ? one : summed));
    ASSERT_TRUE(r->finish(end));
  }
  ASSERT_EQ(a.columns(), b.columns());
  for (std::uint32_t s = 0; s < slices; ++s)
    for (std::size_t c = 0; c < a.columns(); ++c)
      ASSERT_EQ(a.count(kLeaf, s, c), b.count(kLeaf, s, c)) << "slice " << s << " " << a.column_name(c);
}

// Every event, one by one and summed as somebody asks for it now and then; the cells of both.
void compare(std::uint32_t seed, const slicer::Operator& op) {
  SCOPED_TRACE("seed " + std::to_string(seed) + " " + op.text());
  std::mt19937 random(seed + 1'000'000);
  const slicer::Options options{kSlice, 64, 64, op};
  slicer::Slicer one(options), summed(options);
  for (slicer::Slicer* s : {&one, &summed}) {
    s->start(kBegin);
    static_cast<void>(s->add_leaf());
  }
  Line line;
  const std::vector<Event> events = program(seed);
  std::vector<EventRecord> all_one, all_summed;
  std::uint64_t ordinal = 0, records = 0;
  TimeNs promised{};
  bool amended = false;
  const auto drain = [&](TimeNs now, bool last = false) {
    const auto got = line.drain(now, last);
    ASSERT_EQ(got.first, ordinal);
    ordinal += got.records.size();
    records += got.records.size();
    for (const EventRecord& r : got.records) {
      ASSERT_GE(r.time_ns, promised.value) << "after the promise";
      tell(summed, r);
      all_summed.push_back(r);
    }
    promised = std::max(promised, got.covered);
    one.cover(kLeaf, got.covered);
    summed.cover(kLeaf, got.covered);
    static_cast<void>(one.close_through(got.covered));
    static_cast<void>(summed.close_through(got.covered));
    amended = amended || !summed.take_amended().empty();
    for (const SliceIndex s : one.take_changed())
      if (s < one.next_open()) {
        ASSERT_NE(summed.column(s), nullptr);
        expect_same(*one.column(s), *summed.column(s));
      }
    static_cast<void>(summed.take_changed());
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (random() % 300 == 0) line.reader.sum(random() % 4 != 0);
    line.event(events[i].r, events[i].t);
    all_one.push_back(events[i].r);
    all_one.back().time_ns = events[i].t;
    tell(one, all_one.back());
    // Meanwhile the thread is in a call, or computes: an agent comes by, perhaps often.
    const std::int64_t next = i + 1 < events.size() ? events[i + 1].t : events[i].t + 50'000'000;
    const std::int64_t guarded = next + probe::kGuardNs - 1;
    for (std::int64_t now = events[i].t + 1 + static_cast<std::int64_t>(random() % 20'000'000); now < guarded;
         now += static_cast<std::int64_t>(random() % 20'000'000))
      drain(TimeNs(now));
    if (random() % 500 == 0) drain(TimeNs(events[i].t));
    if (testing::Test::HasFatalFailure()) return;
  }
  drain(TimeNs(events.back().t + 70'000'000), true);
  drain(TimeNs(events.back().t + 90'000'000), true);
  EXPECT_FALSE(amended);
  EXPECT_TRUE(line.balanced() || line.control().head.load() < line.reader.tail());
  // Of the states round the innermost it does not matter since when: they begin anew when they are innermost.
  slicer::LeafState a = one.leaf_state(kLeaf), b = summed.leaf_state(kLeaf);
  for (slicer::LeafState* l : {&a, &b}) {
    for (std::size_t i = 0; i + 1 < l->stack.size(); ++i) l->stack[i].since = TimeNs();
    if (!l->stack.empty()) l->base_since = TimeNs();
  }
  EXPECT_EQ(a, b);
  expect_same_again(op, all_one, all_summed);
  EXPECT_EQ(one.unbalanced(), 0u);
  EXPECT_EQ(summed.backwards(), 0u);
  EXPECT_EQ(line.table().summed.load() > 0, records != events.size());
}

TEST(Sums, GiveTheSameCells) {
  for (const char* op : {"duration", "occurrences", "bytes", "messages"}) {
    const auto parsed = slicer::Operator::parse(op);
    ASSERT_TRUE(parsed);
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
      compare(seed, *parsed);
      if (HasFatalFailure()) return;
    }
  }
}

// Whatever a broken agent sends: rows are whole, and nothing is negative.
TEST(Sums, InAnyOrderKeepRowsWhole) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    slicer::Slicer s({kSlice, 8, 4});
    s.start(kBegin);
    static_cast<void>(s.add_leaf());
    TimeNs now = kBegin;
    for (int i = 0; i < 300; ++i) {
      now = now + DurationNs(static_cast<std::int64_t>(random() % 4'000'000));
      EventRecord r{};
      r.kind = static_cast<std::uint8_t>(1 + random() % MARGAY_SUM_INSIDE);
      if (r.kind == MARGAY_GAP) r.bytes = random() % 10;
      if (r.kind >= MARGAY_SUM) r.bytes = random() % 3 ? random() : random() % 1'000'000;
      r.time_ns = now.value - static_cast<std::int64_t>(random() % 5 ? 0 : random() % 200'000'000);
      r.comm = static_cast<std::uint32_t>(random() % 100);
      r.state = static_cast<std::uint16_t>(random() % 5);
      tell(s, r);
      if (random() % 10 == 0) {
        s.cover(kLeaf, now);
        for (const auto* c : s.close_through(now)) {
          std::int64_t sum = 0;
          for (const std::int64_t d : c->duration_ns(kLeaf)) {
            ASSERT_GE(d, 0);
            sum += d;
          }
          ASSERT_EQ(sum, kSlice.value);
          for (const std::int64_t l : c->longest_ns(kLeaf)) ASSERT_GE(l, 0);
        }
      }
    }
  }
}

// A slice of 1000 calls: how many records it takes.
TEST(Sums, AreFewRecords) {
  Line line;
  line.reader.sum(true);
  for (int i = 0; i < 5000; ++i) {
    line.event(call(MARGAY_ENTER, 1, 100, 3), kBegin.value + i * 10'000);
    line.event(call(MARGAY_LEAVE, 1), kBegin.value + i * 10'000 + 4'000);
  }
  const auto got = line.drain(kBegin + milliseconds(60));
  EXPECT_LT(got.records.size(), 30u);
  EXPECT_EQ(line.table().summed.load(), 10'000u - 5u);  // the first event of each slice is a record
  std::uint64_t visits = 0, bytes = 0, messages = 0;
  for (const EventRecord& r : got.records) {
    if (r.kind == MARGAY_SUM && r.state == 1) {
      visits += r.comm;
      EXPECT_EQ(r.bytes, 4'000u);
      EXPECT_EQ(r.peer, 3);
      EXPECT_EQ(r.tag, 7);
    }
    if (r.kind == MARGAY_SUM_MOVED && r.state == 1) {
      bytes += r.bytes;
      messages += static_cast<std::uint64_t>(r.tag);
    }
  }
  // The last slice is not published yet.
  EXPECT_EQ(visits, 4000u - 0u);
  EXPECT_EQ(bytes, 400'000u);
  EXPECT_EQ(messages, 4000u);
}

// Calls of 4 us, every 10 us from kBegin on; their sums are wanted.
void summed_calls(Line& line, int count) {
  line.reader.sum(true);
  for (int i = 0; i < count; ++i) {
    line.event(call(MARGAY_ENTER, 1), kBegin.value + i * 10'000);
    line.event(call(MARGAY_LEAVE, 1), kBegin.value + i * 10'000 + 4'000);
  }
}

TEST(Sums, OfAThreadThatSleepsInACallAreTakenFromIt) {
  Line line;
  summed_calls(line, 10);
  line.event(call(MARGAY_ENTER, 2, 0, 5), kBegin.value + 200'000);
  // Within the slice nothing is taken, and nothing promised.
  auto got = line.drain(kBegin + milliseconds(5));
  EXPECT_EQ(got.records.size(), 1u);
  EXPECT_EQ(got.covered, kBegin);
  // Then the thread is asked; and as it does not come, its sums are taken.
  got = line.drain(kBegin + milliseconds(30));
  EXPECT_TRUE(got.records.empty());
  EXPECT_EQ(got.covered, kBegin);
  got = line.drain(kBegin + milliseconds(50));
  ASSERT_EQ(got.records.size(), 5u);
  EXPECT_EQ(got.records.back().kind, MARGAY_SUM_OPEN);
  EXPECT_EQ(got.records.back().state, 2);
  EXPECT_EQ(got.records.back().peer, 5);
  EXPECT_EQ(got.records.back().time_ns, kBegin.value + 200'000);
  EXPECT_EQ(got.covered, kBegin + milliseconds(50) - DurationNs(probe::kGuardNs));
  EXPECT_EQ(line.control().head.load(), 1u);
  // It goes on being covered, and nothing comes twice.
  got = line.drain(kBegin + milliseconds(70));
  EXPECT_TRUE(got.records.empty());
  EXPECT_EQ(got.covered, kBegin + milliseconds(70) - DurationNs(probe::kGuardNs));
  const std::uint64_t tail = line.reader.tail();
  EXPECT_EQ(tail, 6u);
  // Awake again, it publishes the same.
  line.event(call(MARGAY_LEAVE, 2), kBegin.value + 90'000'000);
  EXPECT_EQ(line.control().head.load(), 7u);
  got = line.drain(kBegin + milliseconds(91));
  ASSERT_EQ(got.records.size(), 1u);
  EXPECT_EQ(got.first, tail);
  EXPECT_EQ(got.records[0].kind, MARGAY_LEAVE);
  EXPECT_TRUE(line.balanced());
}

// Another agent knows nothing of what the one before it took out of the table: it takes it again, by the same
// ordinals.
TEST(Sums, AreTakenAgainByTheNextAgent) {
  Line line;
  summed_calls(line, 10);
  line.drain(kBegin + milliseconds(30));
  const auto first = line.drain(kBegin + milliseconds(50));
  ASSERT_GT(first.records.size(), 1u);
  RingReader next(&line.control(), line.slots.data(), line.slots.size(), &line.table());
  std::vector<EventRecord> again;
  auto look = next.look(kBegin + milliseconds(60));
  ASSERT_TRUE(look);
  EXPECT_EQ(next.tail(), first.first);
  EXPECT_GT(next.take_sums(*look, false, again), 0u);
  ASSERT_EQ(again.size(), first.records.size());
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].time_ns, first.records[i].time_ns);
    EXPECT_EQ(again[i].kind, first.records[i].kind);
    EXPECT_EQ(again[i].bytes, first.records[i].bytes);
  }
}

TEST(Sums, AreNotMadeWhileNobodyHasToldWhatSlicesAre) {
  Line line;
  line.header->slice_ns = 0;
  summed_calls(line, 100);
  EXPECT_EQ(line.drain(kBegin + milliseconds(5)).records.size(), 200u);
  EXPECT_EQ(line.table().summed.load(), 0u);
}

TEST(Sums, OfAThreadThatEndsArePublished) {
  Line line;
  summed_calls(line, 10);
  line.writer.flush();
  const auto got = line.drain(kBegin + milliseconds(5));
  ASSERT_FALSE(got.records.empty());
  EXPECT_EQ(got.records.back().kind, MARGAY_SUM_OPEN);
  EXPECT_EQ(line.table().held.load(), 0u);
  EXPECT_TRUE(line.balanced());
}

// Killed between two stores of an event: whatever is there becomes records in order of time.
TEST(Sums, OfAThreadThatWasKilledWhileItAddedAreTaken) {
  Line line;
  summed_calls(line, 10);
  line.control().pending = 1;
  line.table().entry[0].duration_ns = line.table().entry[0].duration_ns + 12'345;  // and not yet `until`
  const auto got = line.drain(kBegin + milliseconds(5), true);
  ASSERT_GT(got.records.size(), 2u);
  for (std::size_t i = 1; i < got.records.size(); ++i)
    EXPECT_GE(got.records[i].time_ns, got.records[i - 1].time_ns);
  EXPECT_EQ(got.records.back().kind, MARGAY_SUM_OPEN);
}

// What is in the table may be anything: the process has it in its memory, and may be broken.
TEST(Sums, OfASpoiltTableAreRecordsAllTheSame) {
  std::mt19937 random(20261123);
  for (int round = 0; round < 2000; ++round) {
    probe::SumTable table{};
    auto* bytes = reinterpret_cast<unsigned char*>(&table);
    for (std::size_t i = 0; i < sizeof table; ++i) bytes[i] = static_cast<unsigned char>(random());
    margay_record out[probe::kMostPieceRecords + 1];
    out[probe::kMostPieceRecords].kind = 77;
    const std::uint32_t n = probe::piece_records(probe::SumPiece(table), out);
    ASSERT_GE(n, 1u);
    ASSERT_LE(n, probe::kMostPieceRecords);
    EXPECT_EQ(out[probe::kMostPieceRecords].kind, 77);
  }
}

// Nor does it stay what it was: another thread writes lengths while they are read. That none of them is read
// twice is seen by what lies behind the records.
TEST(Sums, OfATableThatChangesWhileItIsReadAreNoMoreRecordsThanFit) {
  probe::SumTable table{};
  for (std::uint32_t i = 0; i < probe::kMostSums; ++i) {
    table.entry[i].visits = 1;
    table.entry[i].entered = 1;
  }
  std::atomic<bool> over{false};
  std::thread spoiler([&] {
    while (!over.load(std::memory_order_relaxed)) {
      table.entries = 3;
      table.depth = 2;
      table.entries = 0xffff;
      table.depth = 0xffff;
    }
  });
  std::uint32_t most = 0;
  for (int round = 0; round < 2'000'000; ++round) {
    struct {
      margay_record records[probe::kMostPieceRecords];
      std::uint64_t behind = 0x5eed;
    } out;
    const std::uint32_t n = probe::piece_records(probe::SumPiece(table), out.records);
    ASSERT_EQ(out.behind, 0x5eedu) << "round " << round;
    ASSERT_LE(n, probe::kMostPieceRecords);
    most = std::max(most, n);
  }
  over = true;
  spoiler.join();
  EXPECT_EQ(most, probe::kMostPieceRecords) << "the other thread was not seen to write";
}

// A thread and its agent, both as fast as they can: every call is in a record or in a sum, once, and what is
// promised holds.
TEST(Sums, BetweenThreadsNothingIsLostAndNoPromiseBroken) {
  Line line(4096);
  constexpr int kCalls = 100'000;
  std::atomic<bool> asked{false}, over{false};
  std::atomic<int> calls{0};
  std::thread program([&] {
    const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
    std::uint16_t open = 1;
    while (!asked) std::this_thread::yield();
    for (int i = 0; i < kCalls; ++i) {
      calls.store(i, std::memory_order_relaxed);
      line.writer.write(call(MARGAY_ENTER, 1), nullptr, 0, now);
      line.writer.write(call(MARGAY_LEAVE, 1, 1), &open, 1, now);
      if (i % 20'000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    over = true;
  });
  std::uint64_t ended = 0, bytes = 0, ordinal = 0, gaps = 0;
  TimeNs promised{};
  bool summing = false;
  for (;;) {
    const bool last = over;
    // On when the first call comes, and then off and on as calls go, however seldom this thread is let.
    const bool wanted = calls.load(std::memory_order_relaxed) / 5'000 % 2 == 0;
    if (wanted != summing) line.reader.sum(summing = wanted);
    asked = true;
    const auto got = line.drain(TimeNs(std::chrono::steady_clock::now().time_since_epoch().count()), last);
    EXPECT_EQ(got.first, ordinal);
    ordinal += got.records.size();
    for (const EventRecord& r : got.records) {
      EXPECT_GE(r.time_ns, promised.value);
      if (r.kind == MARGAY_LEAVE) ++ended, bytes += r.bytes;
      if (r.kind == MARGAY_SUM && r.state == 1) ended += r.comm;
      if (r.kind == MARGAY_SUM_MOVED) bytes += r.bytes;
      if (r.kind == MARGAY_GAP) ++gaps;
    }
    EXPECT_GE(got.covered, promised);
    promised = got.covered;
    if (last && got.records.empty()) break;
    if (!last) std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  program.join();
  if (line.control().dropped.load() == 0) {
    EXPECT_EQ(ended, static_cast<std::uint64_t>(kCalls));
    EXPECT_EQ(bytes, static_cast<std::uint64_t>(kCalls));
  }
  EXPECT_GT(line.table().summed.load(), 0u);
}

}  // namespace sums_test
}  // namespace margay::node
