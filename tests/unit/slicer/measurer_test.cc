// The measured plane of the slicer against the re-slicer: the same records, in order and at once there, in
// batches that come late here, with slices closed, drawn out and amended in between.
#include "margay/slicer/measurer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "margay/slicer/levels.h"
#include "margay/slicer/reslicer.h"
#include "margay/slicer/slicer.h"

namespace margay::slicer {
namespace measurer_test {

using Measure = Operator::Measure;
using Kind = Reslicer::NameKind;

constexpr std::uint16_t kStates = 5;  // names 0 to 4; then
constexpr std::uint16_t kMark = 5, kVariable = 6, kLink = 7;
constexpr StateId kMarkState{8}, kLinkState{9};  // behind Absent, Unknown, Compute and the five
constexpr std::uint32_t kLeaves = 3;
constexpr DurationNs kSlice(100);

StateId state_of(std::uint16_t name) {
  return StateId(static_cast<std::uint16_t>(3 + name));
}

EventRecord record(std::uint8_t kind, std::uint16_t state, std::int64_t t, std::uint64_t bytes = 0,
                   std::int32_t peer = MARGAY_NO_PEER) {
  return {t, bytes, peer, MARGAY_NO_TAG, 0, state, kind, 0};
}

std::vector<EventRecord> life(std::mt19937_64& random, std::size_t count) {
  std::vector<EventRecord> out;
  std::int64_t t = 1 + static_cast<std::int64_t>(random() % 300);
  for (std::size_t i = 0; i < count; ++i) {
    if (random() % 8 != 0) t += static_cast<std::int64_t>(random() % 90);
    const auto state = static_cast<std::uint16_t>(random() % kStates);
    const auto dice = random() % 100;
    const std::int32_t peer = random() % 2 == 0 ? 3 : MARGAY_NO_PEER;
    if (dice < 35)
      out.push_back(record(MARGAY_ENTER, state, t, random() % 3 * 100, peer));
    else if (dice < 65)
      out.push_back(record(MARGAY_LEAVE, state, t, random() % 3 * 10, peer));
    else if (dice < 75)
      out.push_back(record(MARGAY_VARIABLE, kVariable, t,
                           std::bit_cast<std::uint64_t>(static_cast<double>(random() % 1'000'000) / 7.0)));
    else if (dice < 82)
      out.push_back(record(MARGAY_MARK, kMark, t));
    else if (dice < 89)
      out.push_back(record(random() % 2 == 0 ? MARGAY_LINK_BEGIN : MARGAY_LINK_END, kLink, t, 70));
    else if (dice < 92)
      out.push_back(record(MARGAY_GAP, 0, t, 5));
    else if (dice < 95)
      out.push_back(record(MARGAY_STACK, state, t, 40, peer));
    else if (dice < 98)
      out.push_back(record(MARGAY_END, 0, t));
    else
      out.push_back(record(MARGAY_BEGIN, 0, t));
  }
  return out;
}

void put(Slicer& slicer, LeafIndex leaf, const EventRecord& r, bool first) {
  const TimeNs t(r.time_ns);
  const Carried carried{r.bytes, r.peer != MARGAY_NO_PEER};
  const auto note = [&](Note::Kind kind, StateId name) {
    if (first) static_cast<void>(slicer.begin(leaf, t));
    static_cast<void>(slicer.note(leaf, {kind, name, r.bytes, std::bit_cast<double>(r.bytes)}, t));
  };
  switch (r.kind) {
    case MARGAY_ENTER:
      static_cast<void>(slicer.enter(leaf, state_of(r.state), t, carried));
      break;
    case MARGAY_LEAVE:
      static_cast<void>(slicer.leave(leaf, state_of(r.state), t, carried));
      break;
    case MARGAY_GAP:
      static_cast<void>(slicer.gap(leaf, t, r.bytes));
      break;
    case MARGAY_STACK:
      static_cast<void>(slicer.stack(leaf, state_of(r.state), t, carried));
      break;
    case MARGAY_END:
      static_cast<void>(slicer.end(leaf, t));
      break;
    case MARGAY_BEGIN:
      static_cast<void>(slicer.begin(leaf, t));
      break;
    case MARGAY_VARIABLE:
      note(Note::Kind::kVariable, kUnknown);
      break;
    case MARGAY_MARK:
      note(Note::Kind::kMark, kMarkState);
      break;
    case MARGAY_LINK_BEGIN:
      note(Note::Kind::kLinkBegin, kLinkState);
      break;
    default:
      note(Note::Kind::kLinkEnd, kLinkState);
      break;
  }
}

struct Job {
  std::vector<std::vector<EventRecord>> leaves;
  std::int64_t slices = 0;
};

Job job(std::mt19937_64& random) {
  Job j;
  std::int64_t end = 0;
  for (std::uint32_t l = 0; l < kLeaves; ++l) {
    j.leaves.push_back(life(random, 80));
    end = std::max(end, j.leaves.back().back().time_ns);
  }
  j.slices = end / kSlice.value + 2;
  return j;
}

// As they come: each leaf's records in order, in batches, the leaves apart by some slices; slices close
// behind or ahead of them, now and then something is promised.
Slicer live(const Job& j, const Operator& op, std::mt19937_64& random) {
  Slicer slicer({kSlice, 1u << 20, 64, op});
  slicer.start(TimeNs(0));
  for (std::uint32_t l = 0; l < kLeaves; ++l) slicer.add_leaf();
  std::vector<std::size_t> at(kLeaves, 0);
  for (std::int64_t now = 0; now < j.slices * kSlice.value;
       now += 1 + static_cast<std::int64_t>(random() % 250)) {
    for (std::uint32_t l = 0; l < kLeaves; ++l) {
      const std::int64_t behind = static_cast<std::int64_t>(random() % 500);
      const auto& records = j.leaves[l];
      for (; at[l] < records.size() && records[at[l]].time_ns < now - behind; ++at[l])
        put(slicer, LeafIndex(l), records[at[l]], at[l] == 0);
      if (random() % 3 == 0 && at[l] < records.size())
        slicer.cover(LeafIndex(l), TimeNs(std::min(records[at[l]].time_ns, now)));
    }
    static_cast<void>(slicer.close_through(TimeNs(now - static_cast<std::int64_t>(random() % 200))));
  }
  for (std::uint32_t l = 0; l < kLeaves; ++l)
    for (; at[l] < j.leaves[l].size(); ++at[l]) put(slicer, LeafIndex(l), j.leaves[l][at[l]], at[l] == 0);
  static_cast<void>(slicer.close_through(TimeNs(j.slices * kSlice.value)));
  return slicer;
}

Reslicer at_once(const Job& j, const Operator& op) {
  Reslicer r({*Grid::make(TimeNs(0), TimeNs(j.slices * kSlice.value), static_cast<std::uint64_t>(j.slices)),
              op,
              {}});
  for (std::uint16_t i = 0; i < kStates; ++i)
    EXPECT_TRUE(r.add_name(Kind::kState, "S" + std::to_string(i), model::StateFamily::kOther));
  EXPECT_TRUE(r.add_name(Kind::kMark, "mark", model::StateFamily::kOther));
  EXPECT_TRUE(r.add_name(Kind::kVariable, "load", model::StateFamily::kOther));
  EXPECT_TRUE(r.add_name(Kind::kLink, "link", model::StateFamily::kOther));
  for (std::uint32_t l = 0; l < kLeaves; ++l) {
    EXPECT_TRUE(r.add_leaf());
    EXPECT_TRUE(r.take(LeafIndex(l), j.leaves[l]));
  }
  EXPECT_TRUE(r.finish(TimeNs(j.slices * kSlice.value)));
  return r;
}

std::size_t column_of(const std::string& name) {
  if (name == "Compute") return kCompute.value;
  if (name == "mark") return kMarkState.value;
  if (name == "link") return kLinkState.value;
  return 3u + static_cast<std::size_t>(name[1] - '0');
}

TEST(Measurer, LateBatchesGiveTheCellsOfTheReslicer) {
  for (const Measure measure : {Measure::kOccurrences, Measure::kBytes, Measure::kMessages})
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const Operator op{measure, {}};
      SCOPED_TRACE(op.text() + ", seed " + std::to_string(seed));
      std::mt19937_64 random(seed);
      const Job j = job(random);
      const Slicer slicer = live(j, op, random);
      const Reslicer r = at_once(j, op);
      std::uint64_t total = 0, expected = 0;
      for (std::uint32_t k = 0; k < j.slices; ++k) {
        const model::SliceColumn* column = slicer.column(SliceIndex(k));
        ASSERT_NE(column, nullptr);
        ASSERT_EQ(column->plane(), model::Plane::kCounts);
        for (std::uint32_t l = 0; l < kLeaves; ++l) {
          for (const std::uint64_t n : column->measured(LeafIndex(l))) total += n;
          for (std::size_t c = 0; c < r.columns(); ++c) {
            const std::size_t x = column_of(r.column_name(c));
            expected += r.count(LeafIndex(l), k, c);
            ASSERT_EQ(x < column->states() ? column->measured(LeafIndex(l))[x] : 0,
                      r.count(LeafIndex(l), k, c))
                << "leaf " << l << " slice " << k << " " << r.column_name(c);
          }
        }
      }
      EXPECT_GT(expected, 0u);
      EXPECT_EQ(total, expected) << "something is in a column that the re-slicer does not have";
    }
}

TEST(Measurer, TheMeanIsThatOfTheReslicerWhateverWasDrawnOut) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Operator op{Measure::kMean, "load"};
    const Job j = job(random);
    const Slicer slicer = live(j, op, random);
    const Reslicer r = at_once(j, op);
    std::size_t with_value = 0;
    for (std::uint32_t k = 0; k < j.slices; ++k) {
      const model::SliceColumn& column = *slicer.column(SliceIndex(k));
      ASSERT_EQ(column.plane_columns(), 1u);
      for (std::uint32_t l = 0; l < kLeaves; ++l) {
        ASSERT_EQ(column.measured(LeafIndex(l))[0], r.count(LeafIndex(l), k, 0))
            << "leaf " << l << " slice " << k;
        const double expected = r.value(LeafIndex(l), k, 0);
        ASSERT_LE(std::abs(column.measured_value(LeafIndex(l), 0) - expected), 1e-12 * expected)
            << "leaf " << l << " slice " << k;
        with_value += expected > 0 ? 1 : 0;
      }
    }
    EXPECT_GT(with_value, 0u);
  }
}

TEST(Measurer, DurationsAreTheSameWithAnyOperator) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Job j = job(random);
    const std::mt19937_64 same = random;
    auto first = same;
    const Slicer plain = live(j, {}, first);
    for (const Measure measure : {Measure::kOccurrences, Measure::kMean, Measure::kBytes}) {
      auto again = same;
      const Slicer measured = live(j, {measure, "load"}, again);
      for (std::uint32_t k = 0; k < j.slices; ++k) {
        model::SliceColumn a = *plain.column(SliceIndex(k)), b = *measured.column(SliceIndex(k));
        EXPECT_EQ(a.plane(), model::Plane::kNone);
        b.measure(model::Plane::kNone);
        a.resize(0, b.states());
        b.resize(0, a.states());
        ASSERT_TRUE(a == b) << "slice " << k;
      }
    }
  }
}

TEST(Measurer, WhatComesTooLateIsNotMeasuredAndAValueGoesOnFromThere) {
  Slicer slicer({kSlice, 1, 64, {Measure::kMean, "load"}});
  slicer.start(TimeNs(0));
  const LeafIndex leaf = slicer.add_leaf();
  static_cast<void>(slicer.begin(leaf, TimeNs(10)));
  for (std::int64_t t = 100; t <= 500; t += 100) static_cast<void>(slicer.close_through(TimeNs(t)));
  EXPECT_EQ(slicer.note(leaf, {Note::Kind::kVariable, kUnknown, 0, 4}, TimeNs(50)), Outcome::kLateDropped);
  static_cast<void>(slicer.close_through(TimeNs(600)));
  EXPECT_EQ(slicer.column(SliceIndex(0)), nullptr);
  EXPECT_EQ(slicer.column(SliceIndex(5))->measured(leaf)[0], 100u);
  EXPECT_EQ(slicer.column(SliceIndex(5))->measured_value(leaf, 0), 4);

  Slicer counts({kSlice, 1, 64, {Measure::kOccurrences, {}}});
  counts.start(TimeNs(0));
  const LeafIndex other = counts.add_leaf();
  static_cast<void>(counts.begin(other, TimeNs(10)));
  for (std::int64_t t = 100; t <= 500; t += 100) static_cast<void>(counts.close_through(TimeNs(t)));
  EXPECT_EQ(counts.enter(other, StateId(3), TimeNs(60)), Outcome::kLateDropped);
  static_cast<void>(counts.close_through(TimeNs(600)));
  ASSERT_NE(counts.column(SliceIndex(5)), nullptr);
  for (std::int64_t k = 0; k < 6; ++k) {
    const auto* column = counts.column(SliceIndex(k));
    for (std::uint32_t x = 0; column != nullptr && x < column->plane_columns(); ++x)
      EXPECT_EQ(column->measured(other)[x], 0u);
  }
}

// A slicer that is taken apart and put together again goes on as if nothing had been.
TEST(Measurer, ARestoredSlicerGoesOn) {
  for (const Measure measure : {Measure::kOccurrences, Measure::kMean, Measure::kBytes, Measure::kMessages})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const Operator op{measure, "load"};
      SCOPED_TRACE(op.text() + ", seed " + std::to_string(seed));
      std::mt19937_64 random(seed);
      const auto records = life(random, 80);
      const TimeNs end((records.back().time_ns / 100 + 2) * 100);
      Slicer whole({kSlice, 1u << 20, 64, op});
      whole.start(TimeNs(0));
      whole.add_leaf();
      for (std::size_t i = 0; i < records.size(); ++i) put(whole, LeafIndex(0), records[i], i == 0);
      static_cast<void>(whole.close_through(end));

      Slicer before({kSlice, 1u << 20, 64, op});
      before.start(TimeNs(0));
      before.add_leaf();
      const std::size_t half = 1 + random() % 78;
      for (std::size_t i = 0; i < half; ++i) put(before, LeafIndex(0), records[i], i == 0);
      static_cast<void>(before.close_through(TimeNs(records[half].time_ns + 150)));  // drawn out
      std::vector<model::SliceColumn> columns;
      for (SliceIndex s(0); before.column(s) != nullptr; ++s) columns.push_back(*before.column(s));
      Slicer after({kSlice, 1u << 20, 64, op});
      ASSERT_TRUE(after.restore(std::move(columns), before.next_open(), {before.leaf_state(LeafIndex(0))}));
      for (std::size_t i = half; i < records.size(); ++i) put(after, LeafIndex(0), records[i], false);
      static_cast<void>(after.close_through(end));
      for (SliceIndex s(0); slice_end(s, kSlice) <= end; ++s) {
        model::SliceColumn a = *whole.column(s), b = *after.column(s);
        a.resize(0, b.states());
        b.resize(0, a.states());
        for (std::uint32_t x = 0; x < a.plane_columns(); ++x)
          ASSERT_EQ(a.measured(LeafIndex(0))[x], b.measured(LeafIndex(0))[x]) << "slice " << s.value;
        if (measure == Measure::kMean) {
          ASSERT_EQ(a.integral(LeafIndex(0)), b.integral(LeafIndex(0)));
        }
      }
    }
}

// Coarser levels are sums, and the mean over their time.
TEST(Measurer, LevelsAddUp) {
  for (const Measure measure : {Measure::kBytes, Measure::kMean})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      std::mt19937_64 random(seed);
      const Operator op{measure, "load"};
      const Job j = job(random);
      const Slicer slicer = live(j, op, random);
      auto levels = Levels::make({kSlice, kSlice * 5}, 1000);
      ASSERT_TRUE(levels);
      std::vector<model::SliceColumn> coarse;
      for (std::int64_t k = 0; k < j.slices; ++k) levels->update(*slicer.column(SliceIndex(k)), coarse);
      ASSERT_FALSE(coarse.empty());
      for (const model::SliceColumn& c : coarse)
        for (std::uint32_t l = 0; l < kLeaves; ++l)
          for (std::uint32_t x = 0; x < c.plane_columns(); ++x) {
            std::uint64_t sum = 0;
            double integral = 0;
            for (std::int64_t k = c.index.value * 5; k < c.index.value * 5 + 5; ++k) {
              const model::SliceColumn& fine = *slicer.column(SliceIndex(k));
              if (x < fine.plane_columns()) sum += fine.measured(LeafIndex(l))[x];
              if (measure == Measure::kMean) integral += fine.integral(LeafIndex(l));
            }
            EXPECT_EQ(c.measured(LeafIndex(l))[x], sum);
            if (measure == Measure::kMean) {
              EXPECT_DOUBLE_EQ(c.integral(LeafIndex(l)), integral);
            }
          }
    }
}

TEST(Measurer, SumsEndAtTheLargestNumber) {
  model::SliceColumn a(LevelIndex(0), SliceIndex(0), 1, 3), b = a;
  b.measure(model::Plane::kCounts);
  b.measured(LeafIndex(0))[2] = ~std::uint64_t{0} - 1;
  a.merge(b);
  EXPECT_EQ(a.plane(), model::Plane::kCounts);
  a.merge(b);
  EXPECT_EQ(a.measured(LeafIndex(0))[2], ~std::uint64_t{0});
}

}  // namespace measurer_test
}  // namespace margay::slicer
