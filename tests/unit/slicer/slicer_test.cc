#include "margay/slicer/slicer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "margay/slicer/levels.h"
#include "support/reference_slicer.h"

namespace margay::slicer {
namespace slicer_test {

using test::ReferenceCell;
using test::ReferenceCells;
using test::ReferenceEvent;

constexpr DurationNs kSlice(100);
constexpr StateId kSend(3), kRecv(4);

// Keeps the newest version of every column the slicer reports, as the archive does.
struct Recorder {
  std::map<std::int64_t, model::SliceColumn> columns;
  // After each close_through().
  void take_left(const Slicer& slicer) {
    for (const model::SliceColumn& c : slicer.left()) columns[c.index.value] = c;
  }
  void take(Slicer& slicer) {
    for (const SliceIndex s : slicer.take_changed())
      if (const auto* c = slicer.column(s)) columns[s.value] = *c;
  }
  void expect_whole(std::int64_t slices) const {
    for (std::int64_t k = 0; k < slices; ++k) {
      ASSERT_TRUE(columns.contains(k)) << "slice " << k;
      const model::SliceColumn& c = columns.at(k);
      for (std::uint32_t l = 0; l < c.leaves(); ++l) {
        const auto row = c.duration_ns(LeafIndex(l));
        ASSERT_EQ(std::accumulate(row.begin(), row.end(), std::int64_t{0}), kSlice.value)
            << "slice " << k << " of leaf " << l;
      }
    }
  }
  ReferenceCells cells(LeafIndex leaf) const {
    ReferenceCells out;
    for (const auto& [k, c] : columns) {
      if (leaf.value >= c.leaves()) continue;
      for (std::uint16_t x = 0; x < c.states(); ++x) {
        const ReferenceCell cell{c.duration_ns(leaf)[x], c.longest_ns(leaf)[x], c.visits(leaf)[x]};
        if (cell != ReferenceCell{}) out[{k, x}] = cell;
      }
    }
    return out;
  }
};

void apply(Slicer& s, LeafIndex leaf, const ReferenceEvent& e) {
  switch (e.kind) {
    case ReferenceEvent::kBegin:
      static_cast<void>(s.begin(leaf, e.time));
      break;
    case ReferenceEvent::kEnter:
      static_cast<void>(s.enter(leaf, e.state, e.time));
      break;
    case ReferenceEvent::kLeave:
      static_cast<void>(s.leave(leaf, e.state, e.time));
      break;
    case ReferenceEvent::kEnd:
      static_cast<void>(s.end(leaf, e.time));
      break;
    case ReferenceEvent::kGap:
      static_cast<void>(s.gap(leaf, e.time, 1));
      break;
    case ReferenceEvent::kStack:
      static_cast<void>(s.stack(leaf, e.state, e.time));
      break;
    case ReferenceEvent::kVariable:
      static_cast<void>(s.note(leaf, {Note::Kind::kVariable, kUnknown, 0, e.value}, e.time));
      break;
  }
}

TEST(Slicer, TimeWithoutAStateIsTheBases) {
  Slicer s({kSlice});
  const LeafIndex leaf = s.add_leaf(), carrier = s.add_leaf();
  s.start(TimeNs(0));
  s.begin(leaf, TimeNs(10), kSend);
  s.begin(carrier, TimeNs(10), kAbsent);
  s.enter(leaf, kRecv, TimeNs(30));
  s.leave(leaf, kRecv, TimeNs(50));
  s.end(leaf, TimeNs(80));
  s.end(carrier, TimeNs(80));
  for (const LeafIndex l : {leaf, carrier}) s.cover(l, TimeNs(100));
  const auto closed = s.close_through(TimeNs(100));
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_EQ(closed[0]->duration_ns(leaf)[kSend.value], 50);
  EXPECT_EQ(closed[0]->duration_ns(leaf)[kRecv.value], 20);
  EXPECT_EQ(closed[0]->duration_ns(leaf)[kAbsent.value], 30);
  EXPECT_EQ(closed[0]->duration_ns(carrier)[kAbsent.value], 100);
  EXPECT_EQ(closed[0]->visits(carrier)[kAbsent.value], 0u);
}

TEST(Slicer, OpenStateCountsBeforeItReturns) {
  Slicer s({kSlice, 8, 64});
  const LeafIndex leaf = s.add_leaf();
  s.start(TimeNs(0));
  static_cast<void>(s.begin(leaf, TimeNs(10)));
  static_cast<void>(s.enter(leaf, kRecv, TimeNs(30)));
  s.cover(leaf, TimeNs(250));
  const auto closed = s.close_through(TimeNs(250));
  ASSERT_EQ(closed.size(), 2u);
  EXPECT_EQ(closed[0]->duration_ns(leaf)[kAbsent.value], 10);
  EXPECT_EQ(closed[0]->duration_ns(leaf)[kCompute.value], 20);
  EXPECT_EQ(closed[0]->duration_ns(leaf)[kRecv.value], 70);
  EXPECT_EQ(closed[1]->duration_ns(leaf)[kRecv.value], 100);
  EXPECT_EQ(closed[1]->longest_ns(leaf)[kRecv.value], 170);
  EXPECT_FALSE(closed[1]->provisional);
  EXPECT_EQ(closed[1]->open(leaf), (model::OpenState{kRecv, TimeNs(30)}));
}

TEST(Slicer, SilentLeafIsDrawnOutProvisionallyAndAmended) {
  Slicer s({kSlice, 8, 64});
  const LeafIndex leaf = s.add_leaf();
  s.start(TimeNs(0));
  static_cast<void>(s.begin(leaf, TimeNs(0)));
  auto closed = s.close_through(TimeNs(300));
  ASSERT_EQ(closed.size(), 3u);
  EXPECT_TRUE(closed[1]->provisional);
  static_cast<void>(s.take_amended());
  EXPECT_EQ(s.enter(leaf, kSend, TimeNs(150)), Outcome::kAmended);
  EXPECT_THAT(s.take_amended(), testing::ElementsAre(SliceIndex(0), SliceIndex(1), SliceIndex(2)));
  EXPECT_EQ(s.column(SliceIndex(1))->duration_ns(leaf)[kCompute.value], 50);
  EXPECT_EQ(s.column(SliceIndex(2))->duration_ns(leaf)[kCompute.value], 0);
}

TEST(Slicer, WhatWasDrawnOutIsMarkedUntilItIsConfirmed) {
  Slicer s({kSlice, 8, 64});
  const LeafIndex heard = s.add_leaf(), silent = s.add_leaf();
  s.start(TimeNs(0));
  for (const LeafIndex l : {heard, silent}) {
    static_cast<void>(s.begin(l, TimeNs(0)));
    s.cover(l, TimeNs(120));
  }
  s.cover(heard, TimeNs(400));
  s.silence(silent, TimeNs(120));
  static_cast<void>(s.close_through(TimeNs(400)));
  static_cast<void>(s.take_amended());
  const auto marks = [&] {
    std::string out;
    for (int i = 0; i < 4; ++i) {
      const auto& c = *s.column(SliceIndex(i));
      EXPECT_FALSE(c.evidence(heard).drawn_out);
      EXPECT_EQ(c.provisional, c.evidence(silent).drawn_out);
      out += c.provisional ? 'd' : '.';
    }
    return out;
  };
  EXPECT_EQ(marks(), ".ddd");
  EXPECT_EQ(s.column(SliceIndex(2))->evidence(silent).silent_since, TimeNs(120));
  EXPECT_EQ(s.column(SliceIndex(2))->evidence(heard).silent_since, TimeNs(0));
  // Confirmed as it was drawn: only the marks change.
  s.cover(silent, TimeNs(250));
  EXPECT_EQ(marks(), "..dd");
  EXPECT_THAT(s.take_amended(), testing::ElementsAre(SliceIndex(1)));
  // An event behind the promise: what follows is drawn out anew, from there.
  s.silence(silent, TimeNs(0));
  EXPECT_EQ(s.enter(silent, kSend, TimeNs(260)), Outcome::kAmended);
  static_cast<void>(s.close_through(TimeNs(400)));
  EXPECT_EQ(marks(), "..dd");
  EXPECT_EQ(s.column(SliceIndex(2))->duration_ns(silent)[kSend.value], 40);
  EXPECT_EQ(s.column(SliceIndex(3))->duration_ns(silent)[kSend.value], 100);
  s.cover(silent, TimeNs(400));
  EXPECT_EQ(marks(), "....");
  // After a restart the marks say where promises end.
  static_cast<void>(s.close_through(TimeNs(600)));
  std::vector<model::SliceColumn> columns;
  for (int i = 0; i < 7; ++i) columns.push_back(*s.column(SliceIndex(i)));
  std::vector<LeafState> leaves;
  for (const LeafIndex l : {heard, silent}) {
    leaves.push_back(s.leaf_state(l));
    leaves.back().drawn_out = false;  // an archive does not keep it
    leaves.back().promised = TimeNs(0);
  }
  Slicer t({kSlice, 8, 64});
  ASSERT_TRUE(t.restore(std::move(columns), s.next_open(), std::move(leaves)));
  EXPECT_TRUE(t.column(SliceIndex(5))->provisional);
  t.cover(heard, TimeNs(600));
  EXPECT_TRUE(t.column(SliceIndex(5))->provisional);
  t.cover(silent, TimeNs(600));
  EXPECT_FALSE(t.column(SliceIndex(5))->provisional);
}

// Also when no further slice closes with it: what is handed on is whole.
TEST(Slicer, ALateEventLeavesTheClosedRowsBehindItWhole) {
  Slicer s({kSlice, 64, 64});
  s.start(TimeNs(0));
  const LeafIndex leaf = s.add_leaf();
  static_cast<void>(s.begin(leaf, TimeNs(0)));
  EXPECT_EQ(s.close_through(TimeNs(1000)).size(), 10u);
  static_cast<void>(s.enter(leaf, kSend, TimeNs(250)));
  EXPECT_TRUE(s.close_through(TimeNs(1000)).empty());
  EXPECT_EQ(s.take_amended().size(), 10u);  // in two of them only the mark has changed
  for (std::int64_t k = 0; k < 10; ++k) {
    std::int64_t sum = 0;
    for (const std::int64_t d : s.column(SliceIndex(k))->duration_ns(leaf)) sum += d;
    EXPECT_EQ(sum, kSlice.value) << "slice " << k;
  }
}

TEST(Slicer, WhatIsTakenIsWholeAlsoBeforeTheNextClosing) {
  for (const bool amended : {false, true}) {
    Slicer s({kSlice, 64, 64});
    s.start(TimeNs(0));
    const LeafIndex leaf = s.add_leaf();
    static_cast<void>(s.begin(leaf, TimeNs(0)));
    Recorder recorder;
    EXPECT_EQ(s.close_through(TimeNs(1000)).size(), 10u);
    recorder.take(s);
    static_cast<void>(s.take_amended());
    static_cast<void>(s.enter(leaf, kSend, TimeNs(250)));
    if (amended) static_cast<void>(s.take_amended());  // must not make it forget that rows are open
    recorder.take(s);
    recorder.expect_whole(10);
    EXPECT_EQ(recorder.columns.at(9).duration_ns(leaf)[kSend.value], kSlice.value);
  }
}

// More slices close at once than stay amendable, and nobody has asked meanwhile.
TEST(Slicer, WhatLeavesWithAChangeThatNobodyHasTakenIsToldAsItStays) {
  Slicer s({kSlice, 2, 64});
  s.start(TimeNs(0));
  const LeafIndex leaf = s.add_leaf();
  static_cast<void>(s.begin(leaf, TimeNs(0)));
  s.cover(leaf, TimeNs(30));
  Recorder recorder;
  recorder.take(s);  // slice 0, while it is open
  static_cast<void>(s.gap(leaf, TimeNs(450), 3));
  s.cover(leaf, TimeNs(1000));
  EXPECT_EQ(s.close_through(TimeNs(500)).size(), 5u);
  EXPECT_TRUE(s.left().empty());
  EXPECT_EQ(s.close_through(TimeNs(1000)).size(), 5u);
  ASSERT_EQ(s.left().size(), 3u);
  EXPECT_EQ(s.left()[1].index, SliceIndex(1));
  EXPECT_EQ(s.left()[1].duration_ns(leaf)[kUnknown.value], kSlice.value);
  recorder.take_left(s);
  recorder.take(s);
  recorder.expect_whole(10);
  EXPECT_EQ(recorder.columns.at(0).duration_ns(leaf)[kUnknown.value], kSlice.value);
  // What was taken as it stays is not told again.
  static_cast<void>(s.close_through(TimeNs(2000)));
  EXPECT_TRUE(s.left().empty());
}

// Records are being dropped, and the word comes when the slices have left: they have said it.
TEST(Slicer, WhereRecordsAreBeingLostTheStateIsNotDrawnOut) {
  Slicer s({kSlice, 2, 64});
  s.start(TimeNs(0));
  const LeafIndex leaf = s.add_leaf(), absent = s.add_leaf();
  static_cast<void>(s.begin(leaf, TimeNs(0)));
  static_cast<void>(s.enter(leaf, kSend, TimeNs(50)));
  Recorder recorder;
  for (int t = 100; t <= 1000; t += 100) {
    if (t == 200) s.lose(leaf), s.lose(absent);  // a slice late itself
    if (t > 200) s.lose(leaf);                   // again and again
    static_cast<void>(s.close_through(TimeNs(t)));
    recorder.take_left(s);
    recorder.take(s);
  }
  recorder.expect_whole(10);
  const auto unknown = [&](std::int64_t k) {
    return recorder.columns.at(k).duration_ns(leaf)[kUnknown.value];
  };
  EXPECT_EQ(unknown(0), 50);
  for (int k = 1; k < 10; ++k) EXPECT_EQ(unknown(k), kSlice.value) << k;
  EXPECT_EQ(recorder.columns.at(5).duration_ns(absent)[kAbsent.value], kSlice.value);
  EXPECT_EQ(s.gap(leaf, TimeNs(350), 9), Outcome::kLateDropped);
  EXPECT_EQ(s.stack(leaf, kSend, TimeNs(1020)), Outcome::kModelled);
  EXPECT_EQ(s.current(leaf), kSend);
}

TEST(Slicer, EventOlderThanTheWindowIsDroppedButItsStateIsKept) {
  Slicer s({kSlice, 2, 64});
  const LeafIndex leaf = s.add_leaf();
  s.start(TimeNs(0));
  static_cast<void>(s.begin(leaf, TimeNs(0)));
  for (int t = 100; t <= 2000; t += 100) static_cast<void>(s.close_through(TimeNs(t)));
  EXPECT_EQ(s.enter(leaf, kSend, TimeNs(150)), Outcome::kLateDropped);
  EXPECT_EQ(s.current(leaf), kSend);
  s.cover(leaf, TimeNs(2100));
  EXPECT_EQ(s.column(SliceIndex(20))->duration_ns(leaf)[kSend.value], 100);
}

TEST(Slicer, EachOfManyLateEventsIsDroppedAndNoneIsAVisit) {
  Slicer s({kSlice, 2, 64});
  const LeafIndex leaf = s.add_leaf();
  s.start(TimeNs(0));
  static_cast<void>(s.begin(leaf, TimeNs(0)));
  for (int t = 100; t <= 2000; t += 100) static_cast<void>(s.close_through(TimeNs(t)));
  for (int t = 150; t < 350; t += 20) {
    EXPECT_EQ(s.enter(leaf, kSend, TimeNs(t)), Outcome::kLateDropped) << t;
    EXPECT_EQ(s.leave(leaf, kSend, TimeNs(t + 10)), Outcome::kLateDropped) << t;
  }
  EXPECT_EQ(s.gap(leaf, TimeNs(360), 7), Outcome::kLateDropped);
  EXPECT_EQ(s.stack(leaf, kCompute, TimeNs(370)), Outcome::kLateDropped);
  EXPECT_EQ(s.backwards(), 0u);
  s.cover(leaf, TimeNs(2100));
  for (int i = 0; i <= 20; ++i) {
    const auto* column = s.column(SliceIndex(i));
    if (column == nullptr) continue;
    for (std::uint16_t state = 0; state < column->states(); ++state)
      EXPECT_EQ(column->visits(leaf)[state], 0u) << "slice " << i << ", state " << state;
  }
  // In time again.
  EXPECT_EQ(s.enter(leaf, kSend, TimeNs(2150)), Outcome::kModelled);
  EXPECT_EQ(s.column(SliceIndex(21))->visits(leaf)[kCompute.value], 1u);
}

TEST(Slicer, LeaveOfWhatIsNotOpenChangesNothing) {
  Slicer s({kSlice, 8, 64});
  const LeafIndex leaf = s.add_leaf();
  static_cast<void>(s.begin(leaf, TimeNs(0)));
  static_cast<void>(s.leave(leaf, kSend, TimeNs(40)));
  s.cover(leaf, TimeNs(100));
  EXPECT_EQ(s.unbalanced(), 1u);
  EXPECT_EQ(s.column(SliceIndex(0))->duration_ns(leaf)[kCompute.value], 100);
}

std::vector<ReferenceEvent> random_events(std::mt19937_64& rng, int n) {
  std::vector<ReferenceEvent> events;
  std::int64_t t = static_cast<std::int64_t>(rng() % 300);
  events.push_back({ReferenceEvent::kBegin, kCompute, TimeNs(t)});
  std::vector<StateId> open;
  for (int i = 0; i < n; ++i) {
    t += static_cast<std::int64_t>(rng() % 8 == 0 ? rng() % 400 : rng() % 30);
    const StateId state(static_cast<std::uint16_t>(3 + rng() % 4));
    const auto what = rng() % 20;
    if (what == 0) {
      events.push_back({ReferenceEvent::kGap, kUnknown, TimeNs(t)});
      if (rng() % 2) events.push_back({ReferenceEvent::kStack, rng() % 2 ? state : kCompute, TimeNs(t)});
      open.clear();
    } else if (what == 1) {
      events.push_back({ReferenceEvent::kLeave, state, TimeNs(t)});  // perhaps of nothing
    } else if (!open.empty() && (open.size() > 2 || rng() % 2)) {
      events.push_back({ReferenceEvent::kLeave, open.back(), TimeNs(t)});
      open.pop_back();
    } else {
      events.push_back({ReferenceEvent::kEnter, state, TimeNs(t)});
      open.push_back(state);
    }
  }
  if (rng() % 2) events.push_back({ReferenceEvent::kEnd, kAbsent, TimeNs(t + 17)});
  return events;
}

// Any batching, any covering, any closing ahead of the events (amended later): the same cells.
TEST(Slicer, EqualsTheReferenceInAnyOrderOfCoverAndClose) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const int leaves = 1 + static_cast<int>(rng() % 3);
    std::vector<std::vector<ReferenceEvent>> events;
    TimeNs end(0);
    for (int l = 0; l < leaves; ++l) {
      events.push_back(random_events(rng, static_cast<int>(rng() % 120)));
      end = std::max(end, events.back().back().time);
    }
    end = slice_begin(slice_of(end, kSlice) + 2, kSlice);

    Slicer s({kSlice, 1000, 64});
    Recorder recorder;
    s.start(TimeNs(0));
    for (int l = 0; l < leaves; ++l) static_cast<void>(s.add_leaf());
    std::vector<std::size_t> next(events.size(), 0);
    for (bool more = true; more;) {
      more = false;
      for (std::size_t l = 0; l < events.size(); ++l) {
        for (auto burst = rng() % 5; burst > 0 && next[l] < events[l].size(); --burst)
          apply(s, LeafIndex(static_cast<std::uint32_t>(l)), events[l][next[l]++]);
        // It may be known that records are being lost before the gap tells.
        if (next[l] < events[l].size() && events[l][next[l]].kind == ReferenceEvent::kGap && rng() % 2)
          s.lose(LeafIndex(static_cast<std::uint32_t>(l)));
        more |= next[l] < events[l].size();
        const bool broken_promise = rng() % 4 == 0;
        const TimeNs honest = next[l] < events[l].size() ? events[l][next[l]].time : end;
        if (rng() % 2)
          s.cover(LeafIndex(static_cast<std::uint32_t>(l)),
                  std::min(end, broken_promise ? honest + DurationNs(static_cast<std::int64_t>(rng() % 500))
                                               : honest));
      }
      if (rng() % 3 == 0)
        static_cast<void>(s.close_through(
            TimeNs(static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(end.value)))));
      if (rng() % 2) recorder.take(s);
    }
    static_cast<void>(s.close_through(end));
    recorder.take(s);
    for (std::size_t l = 0; l < events.size(); ++l) {
      const LeafIndex leaf(static_cast<std::uint32_t>(l));
      ASSERT_EQ(recorder.cells(leaf) == test::reference_cells(events[l], TimeNs(0), end, kSlice), true)
          << "leaf " << l;
      for (const auto& [k, c] : recorder.columns) {
        if (slice_end(SliceIndex(k), kSlice) > end) continue;
        std::int64_t sum = 0;
        for (const std::int64_t d : c.duration_ns(leaf)) sum += d;
        ASSERT_EQ(sum, kSlice.value) << "slice " << k << " of leaf " << l;
      }
    }
  }
}

TEST(Slicer, HoweverSeldomItIsAskedNothingOfASliceIsMissed) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const auto events = random_events(rng, 150);
    const TimeNs end = slice_begin(slice_of(events.back().time, kSlice) + 2, kSlice);
    Slicer s({kSlice, 2, 64});
    s.start(TimeNs(0));
    const LeafIndex leaf = s.add_leaf();
    Recorder recorder;
    for (std::size_t i = 0; i < events.size(); ++i) {
      apply(s, leaf, events[i]);
      const TimeNs next = i + 1 < events.size() ? events[i + 1].time : end;
      if (rng() % 2) s.cover(leaf, next);
      if (rng() % 4 == 0) {
        static_cast<void>(s.close_through(next));
        recorder.take_left(s);
      }
      if (rng() % 32 == 0) recorder.take(s);
    }
    static_cast<void>(s.close_through(end));
    recorder.take_left(s);
    recorder.take(s);
    ASSERT_EQ(recorder.cells(leaf) == test::reference_cells(events, TimeNs(0), end, kSlice), true);
    recorder.expect_whole(slice_of(end, kSlice).value);
  }
}

TEST(Slicer, RestoredGoesOnAsIfNothingHappened) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const auto events = random_events(rng, 80);
    const TimeNs end = slice_begin(slice_of(events.back().time, kSlice) + 2, kSlice);
    const auto run = [&](bool restart) {
      Slicer s({kSlice, 1000, 64});
      s.start(TimeNs(0));
      const LeafIndex leaf = s.add_leaf();
      Recorder recorder;
      for (std::size_t i = 0; i < events.size(); ++i) {
        apply(s, leaf, events[i]);
        s.cover(leaf, events[i].time + DurationNs(60));
        if (i % 7 == 0) static_cast<void>(s.close_through(events[i].time + DurationNs(120)));
        if (restart && i == events.size() / 2) {
          recorder.take(s);
          std::vector<model::SliceColumn> columns;
          for (auto& [k, c] : recorder.columns) columns.push_back(c);
          const SliceIndex next_open = s.next_open();
          std::vector<LeafState> leaves{s.leaf_state(leaf)};
          s = Slicer({kSlice, 1000, 64});
          EXPECT_TRUE(s.restore(columns, next_open, leaves));
        }
      }
      static_cast<void>(s.close_through(end));
      recorder.take(s);
      return recorder.cells(leaf);
    };
    ASSERT_EQ(run(true) == run(false), true);
  }
}

TEST(Levels, CoarseSlicesEqualAMergeOfTheFineOnesAlsoWhenAmended) {
  auto levels = Levels::make({DurationNs(100), DurationNs(500), DurationNs(2000)}, 64);
  ASSERT_TRUE(levels);
  std::mt19937_64 rng(5);
  Slicer s({kSlice, 64, 64});
  s.start(TimeNs(0));
  const LeafIndex leaf = s.add_leaf();
  std::map<std::pair<int, std::int64_t>, model::SliceColumn> coarse;
  std::map<std::int64_t, model::SliceColumn> fine;
  const auto put = [&](const model::SliceColumn& c) {
    fine[c.index.value] = c;
    std::vector<model::SliceColumn> out;
    levels->update(c, out);
    for (auto& o : out) coarse[{o.level.value, o.index.value}] = o;
  };
  static_cast<void>(s.begin(leaf, TimeNs(0)));
  for (int i = 1; i < 400; ++i) {
    const TimeNs t(i * 37);
    static_cast<void>(i % 2 ? s.enter(leaf, kSend, t) : s.leave(leaf, kSend, t));
    if (i % 5 == 0) {
      // Far ahead of the events: nearly everything gets amended once.
      for (const auto* c : s.close_through(t + DurationNs(static_cast<std::int64_t>(rng() % 900)))) put(*c);
      for (const SliceIndex a : s.take_amended()) put(*s.column(a));
    }
  }
  int compared = 0;
  for (const auto& [key, c] : coarse) {
    const std::int64_t ratio = key.first == 1 ? 5 : 20;
    std::int64_t send = 0, longest = 0;
    std::uint32_t visits = 0;
    for (std::int64_t k = key.second * ratio; k < (key.second + 1) * ratio; ++k) {
      const auto& f = fine.at(k);
      if (kSend.value >= f.states()) continue;
      send += f.duration_ns(leaf)[kSend.value];
      longest = std::max(longest, f.longest_ns(leaf)[kSend.value]);
      visits += f.visits(leaf)[kSend.value];
    }
    ASSERT_EQ(c.duration_ns(leaf)[kSend.value], send) << key.first << ' ' << key.second;
    ASSERT_EQ(c.longest_ns(leaf)[kSend.value], longest);
    ASSERT_EQ(c.visits(leaf)[kSend.value], visits);
    ++compared;
  }
  EXPECT_GE(compared, 30);
}

TEST(Levels, DurationsThatDoNotNestAreRefused) {
  const auto bad = Levels::make({DurationNs(100), DurationNs(250)}, 8);
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, testing::HasSubstr("level 1"));
}

}  // namespace slicer_test
}  // namespace margay::slicer
