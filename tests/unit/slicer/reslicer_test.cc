// The re-slicer against the slicer, the plain reference slicer, and sums over a list of intervals.
#include "margay/slicer/reslicer.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>

#include "margay/slicer/slicer.h"
#include "records_of_states.h"
#include "support/reference_slicer.h"

namespace margay::slicer {
namespace reslicer_test {

using E = test::ReferenceEvent;
using Kind = Reslicer::NameKind;
using Measure = Operator::Measure;

constexpr std::uint16_t kStates = 5;  // names 0 to 4; then a mark, a variable, a link
constexpr std::uint16_t kMark = 5, kVariable = 6, kLink = 7;

EventRecord record(std::uint8_t kind, std::uint16_t state, std::int64_t t, std::uint64_t bytes = 0,
                   std::int32_t peer = MARGAY_NO_PEER) {
  return {t, bytes, peer, MARGAY_NO_TAG, 0, state, kind, 0};
}

Reslicer reslicer(Grid grid, Operator op = {}, std::function<bool(std::string_view)> wanted = {}) {
  Reslicer r({grid, std::move(op), std::move(wanted)});
  for (std::uint16_t i = 0; i < kStates; ++i)
    EXPECT_TRUE(r.add_name(Kind::kState, "S" + std::to_string(i), model::StateFamily::kOther));
  EXPECT_TRUE(r.add_name(Kind::kMark, "mark", model::StateFamily::kOther));
  EXPECT_TRUE(r.add_name(Kind::kVariable, "load", model::StateFamily::kOther));
  EXPECT_TRUE(r.add_name(Kind::kLink, "link", model::StateFamily::kOther));
  EXPECT_TRUE(r.add_leaf());
  return r;
}

// A leaf's life: nested states, leaves of what is not open, gaps, an end and another begin, equal times.
std::vector<EventRecord> life(std::mt19937_64& random, std::size_t count, std::int64_t step) {
  std::vector<EventRecord> out;
  std::int64_t t = 1 + static_cast<std::int64_t>(random() % 1000);
  for (std::size_t i = 0; i < count; ++i) {
    if (random() % 8 != 0) t += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(step));
    const auto state = static_cast<std::uint16_t>(random() % kStates);
    const auto dice = random() % 100;
    const std::uint8_t kind = dice < 45   ? MARGAY_ENTER
                              : dice < 90 ? MARGAY_LEAVE
                              : dice < 93 ? MARGAY_GAP
                              : dice < 96 ? MARGAY_STACK
                              : dice < 98 ? MARGAY_END
                                          : MARGAY_BEGIN;
    out.push_back(record(kind, state, t, random() % 4 * 100, random() % 2 == 0 ? 3 : MARGAY_NO_PEER));
  }
  return out;
}

void feed(Reslicer& r, const std::vector<EventRecord>& records, std::mt19937_64& random) {
  ASSERT_TRUE(take_in_batches(r, records, random));
}

TEST(Reslicer, AlignedSlicesAreThoseOfTheReferenceAndTheSlicer) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const DurationNs slice(100);
    const auto records = life(random, 60, 80);
    const std::int64_t slices = records.back().time_ns / slice.value + 2;
    Reslicer r =
        reslicer(*Grid::make(TimeNs(0), TimeNs(slices * slice.value), static_cast<std::uint64_t>(slices)));
    feed(r, records, random);
    ASSERT_TRUE(r.finish(TimeNs(slices * slice.value)));

    Slicer slicer({slice, 1u << 20, 64});
    slicer.start(TimeNs(0));
    const LeafIndex leaf = slicer.add_leaf();
    for (const EventRecord& e : records) {
      const StateId state(static_cast<std::uint16_t>(3 + e.state));
      const TimeNs t(e.time_ns);
      if (e.kind == MARGAY_ENTER) static_cast<void>(slicer.enter(leaf, state, t));
      if (e.kind == MARGAY_LEAVE) static_cast<void>(slicer.leave(leaf, state, t));
      if (e.kind == MARGAY_GAP) static_cast<void>(slicer.gap(leaf, t, 1));
      if (e.kind == MARGAY_STACK) static_cast<void>(slicer.stack(leaf, state, t));
      if (e.kind == MARGAY_END) static_cast<void>(slicer.end(leaf, t));
      if (e.kind == MARGAY_BEGIN) static_cast<void>(slicer.begin(leaf, t));
    }
    static_cast<void>(slicer.close_through(TimeNs(slices * slice.value)));

    auto reference =
        test::reference_cells(reference_events(records), TimeNs(0), TimeNs(slices * slice.value), slice);
    for (std::uint32_t k = 0; k < slices; ++k) {
      std::int64_t not_there = 0;
      for (std::uint16_t s = 0; s < 3 + kStates; ++s) {
        const std::int64_t expected = reference[{k, s}].duration_ns;
        const auto* column = slicer.column(SliceIndex(k));
        EXPECT_EQ(expected, s < column->states() ? column->duration_ns(leaf)[s] : 0)
            << "slice " << k << " state " << s;
        if (s < kCompute.value)
          not_there += expected;
        else  // columns: Compute, S0, S1 ...
          EXPECT_EQ(r.count(LeafIndex(0), k, s - kCompute.value), static_cast<std::uint64_t>(expected))
              << "slice " << k << " state " << s;
      }
      EXPECT_EQ(r.not_there(LeafIndex(0), k), static_cast<std::uint64_t>(not_there)) << "slice " << k;
    }
  }
}

// Any range and number of slices: sums over the reference's cells of one nanosecond each.
TEST(Reslicer, AnySlicesAreSumsOfNanoseconds) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto records = life(random, 40, 60);
    const std::int64_t end = records.back().time_ns + 50;
    const std::int64_t from = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
    const std::int64_t to = from + 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
    const auto slices = 1 + random() % std::min<std::uint64_t>(static_cast<std::uint64_t>(to - from), 20);
    const Grid grid = *Grid::make(TimeNs(from), TimeNs(to), slices);
    Reslicer r = reslicer(grid);
    feed(r, records, random);
    ASSERT_TRUE(r.finish(TimeNs(to)));
    const auto cells = test::reference_cells(reference_events(records), TimeNs(0), TimeNs(to), DurationNs(1));
    for (std::uint32_t k = 0; k < slices; ++k) {
      std::map<std::uint16_t, std::uint64_t> sums;
      for (auto it = cells.lower_bound({grid.boundary(k).value, 0});
           it != cells.end() && it->first.first < grid.boundary(k + 1).value; ++it)
        sums[it->first.second] += static_cast<std::uint64_t>(it->second.duration_ns);
      for (std::uint16_t s = kCompute.value; s < 3 + kStates; ++s)
        EXPECT_EQ(r.count(LeafIndex(0), k, s - kCompute.value), sums[s]) << "slice " << k << " state " << s;
      EXPECT_EQ(r.not_there(LeafIndex(0), k), sums[0] + sums[1]) << "slice " << k;
    }
  }
}

// Counts against a walk over a list, slice by slice.
TEST(Reslicer, CountsAreThoseOfAList) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto records = life(random, 60, 60);
    for (EventRecord& e : records)
      if (random() % 6 == 0)
        e = record(random() % 2 == 0 ? MARGAY_MARK : MARGAY_LINK_BEGIN, 0, e.time_ns, 70);
    for (EventRecord& e : records)
      if (e.kind == MARGAY_MARK || e.kind == MARGAY_LINK_BEGIN)
        e.state = e.kind == MARGAY_MARK ? kMark : kLink;
    const Grid grid = *Grid::make(TimeNs(500), TimeNs(records.back().time_ns + 1), 7);
    struct Sums {
      std::map<std::string, std::uint64_t> occurrences, bytes, messages;
    };
    std::vector<Sums> expected(7);
    std::vector<EventRecord> open;
    for (const EventRecord& e : records) {
      Sums ignored;
      Sums* in = &ignored;
      for (std::uint32_t k = 0; k < 7; ++k)
        if (e.time_ns >= grid.boundary(k).value && e.time_ns < grid.boundary(k + 1).value) in = &expected[k];
      const std::string name = "S" + std::to_string(e.state);
      if (e.kind == MARGAY_ENTER) ++in->occurrences[name], open.push_back(e);
      if (e.kind == MARGAY_MARK) ++in->occurrences["mark"];
      if (e.kind == MARGAY_LINK_BEGIN) in->bytes["link"] += e.bytes, ++in->messages["link"];
      if (e.kind == MARGAY_LEAVE) {
        for (std::size_t d = open.size(); d-- > 0;) {
          if (open[d].state != e.state) continue;
          const std::uint64_t bytes = e.bytes != 0 ? e.bytes : open[d].bytes;
          in->bytes[name] += bytes;
          if (bytes != 0 || e.peer >= 0 || open[d].peer >= 0) ++in->messages[name];
          open.resize(d);
          break;
        }
      }
      if (e.kind == MARGAY_GAP || e.kind == MARGAY_BEGIN || e.kind == MARGAY_END || e.kind == MARGAY_STACK)
        open.clear();
      if (e.kind == MARGAY_STACK) open.push_back(e);
    }
    for (const auto& [op, sums] :
         {std::pair(Measure::kOccurrences, &Sums::occurrences), std::pair(Measure::kBytes, &Sums::bytes),
          std::pair(Measure::kMessages, &Sums::messages)}) {
      Reslicer r = reslicer(grid, {op, ""});
      feed(r, records, random);
      ASSERT_TRUE(r.finish(grid.to));
      std::uint64_t total = 0;
      for (std::uint32_t k = 0; k < 7; ++k)
        for (std::size_t c = 0; c < r.columns(); ++c) {
          total += r.count(LeafIndex(0), k, c);
          EXPECT_EQ(r.count(LeafIndex(0), k, c), (expected[k].*sums)[r.column_name(c)])
              << Operator{op, ""}.text() << " slice " << k << " " << r.column_name(c);
        }
      EXPECT_GT(total, 0u);
    }
  }
}

TEST(Reslicer, MeanIsWeightedByTime) {
  Reslicer r = reslicer(*Grid::make(TimeNs(0), TimeNs(40), 4), {Measure::kMean, "load"});
  const auto value = [](std::int64_t t, double v) {
    return record(MARGAY_VARIABLE, kVariable, t, std::bit_cast<std::uint64_t>(v));
  };
  // 1 from 5 on, 4 from 12 on, 0 from 16 on; lost from 25 on.
  const std::vector<EventRecord> records = {
      value(5, 1),  record(MARGAY_ENTER, 1, 7),  value(12, 4),
      value(16, 0), record(MARGAY_LEAVE, 1, 25), record(MARGAY_GAP, 0, 39)};
  ASSERT_TRUE(r.take(LeafIndex(0), records));
  ASSERT_TRUE(r.finish(TimeNs(40)));
  ASSERT_EQ(r.columns(), 1u);
  EXPECT_EQ(r.column_name(0), "load");
  EXPECT_DOUBLE_EQ(r.value(LeafIndex(0), 0, 0), 1);  // of the 5 ns in which it has a value
  EXPECT_DOUBLE_EQ(r.value(LeafIndex(0), 1, 0), (2 * 1 + 4 * 4) / 10.0);
  EXPECT_DOUBLE_EQ(r.value(LeafIndex(0), 2, 0), 0);
  EXPECT_DOUBLE_EQ(r.value(LeafIndex(0), 3, 0), 0);
  EXPECT_EQ(r.not_there(LeafIndex(0), 0), 5u);
  EXPECT_EQ(r.not_there(LeafIndex(0), 2), 5u);
  EXPECT_EQ(r.not_there(LeafIndex(0), 3), 10u);
}

TEST(Reslicer, ANegativeValueIsRefused) {
  Reslicer r = reslicer(*Grid::make(TimeNs(0), TimeNs(40), 4), {Measure::kMean, "load"});
  const auto ok = r.take(
      LeafIndex(0), std::vector{record(MARGAY_VARIABLE, kVariable, 1, std::bit_cast<std::uint64_t>(-2.0))});
  ASSERT_FALSE(ok);
  EXPECT_NE(ok.error().message.find("'load' has the value -2"), std::string::npos) << ok.error().message;
}

TEST(Reslicer, TheFilterTakesColumnsAndNoPresence) {
  const Grid grid = *Grid::make(TimeNs(0), TimeNs(100), 1);
  Reslicer r = reslicer(grid, {}, [](std::string_view name) { return name == "S2"; });
  ASSERT_TRUE(r.take(LeafIndex(0), std::vector{record(MARGAY_ENTER, 1, 10), record(MARGAY_LEAVE, 1, 30),
                                               record(MARGAY_ENTER, 2, 60)}));
  ASSERT_TRUE(r.finish(TimeNs(100)));
  ASSERT_EQ(r.columns(), 1u);
  EXPECT_EQ(r.column_name(0), "S2");
  EXPECT_EQ(r.count(LeafIndex(0), 0, 0), 40u);
  EXPECT_EQ(r.not_there(LeafIndex(0), 0), 10u);
}

TEST(Reslicer, HalvesJoinToTheWhole) {
  std::mt19937_64 random(5);
  const Grid grid = *Grid::make(TimeNs(0), TimeNs(5000), 13);
  std::vector<std::vector<EventRecord>> lives;
  for (int l = 0; l < 5; ++l) lives.push_back(life(random, 50, 90));
  const auto make = [&] {
    Reslicer r = reslicer(grid);
    for (int l = 1; l < 5; ++l) EXPECT_TRUE(r.add_leaf());
    return r;
  };
  Reslicer whole = make(), even = make(), odd = make();
  for (std::uint32_t l = 0; l < 5; ++l) {
    ASSERT_TRUE(whole.take(LeafIndex(l), lives[l]));
    ASSERT_TRUE((l % 2 == 0 ? even : odd).take(LeafIndex(l), lives[l]));
  }
  ASSERT_TRUE(whole.finish(grid.to));
  ASSERT_TRUE(even.finish(grid.to));
  ASSERT_TRUE(odd.finish(grid.to));
  ASSERT_TRUE(even.adopt(odd, 1, 2));
  EXPECT_EQ(even.records(), whole.records());
  for (std::uint32_t l = 0; l < 5; ++l)
    for (std::uint32_t k = 0; k < 13; ++k)
      for (std::size_t c = 0; c < whole.columns(); ++c)
        EXPECT_EQ(even.count(LeafIndex(l), k, c), whole.count(LeafIndex(l), k, c));
}

TEST(Reslicer, TheModelStaysWithinItsBudget) {
  Reslicer r({*Grid::make(TimeNs(0), TimeNs(1'000'000), 100'000), {}, {}, 1 << 20});
  ASSERT_TRUE(r.add_leaf());
  const auto ok = r.take(LeafIndex(0), std::vector{record(MARGAY_BEGIN, 0, 1)});
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, ErrorCode::kLimit);
}

TEST(Reslicer, ARecordOfAnUnknownNameOrLeafIsRefused) {
  Reslicer r = reslicer(*Grid::make(TimeNs(0), TimeNs(10), 1));
  EXPECT_FALSE(r.take(LeafIndex(0), std::vector{record(MARGAY_ENTER, 8, 1)}));
  EXPECT_FALSE(r.take(LeafIndex(1), std::vector{record(MARGAY_ENTER, 1, 1)}));
  EXPECT_TRUE(r.take(LeafIndex(0), std::vector{record(MARGAY_ENTER, 4, 1)}));
}

TEST(Grid, BoundariesCutWithoutARest) {
  const Grid g = *Grid::make(TimeNs(-7), TimeNs(93), 30);
  EXPECT_EQ(g.boundary(0), g.from);
  EXPECT_EQ(g.boundary(30), g.to);
  for (std::uint32_t k = 0; k < 30; ++k) {
    const std::int64_t length = (g.boundary(k + 1) - g.boundary(k)).value;
    EXPECT_TRUE(length == 3 || length == 4) << length;
  }
  EXPECT_FALSE(Grid::make(TimeNs(5), TimeNs(5), 1));
  EXPECT_FALSE(Grid::make(TimeNs(5), TimeNs(9), 5));
  EXPECT_FALSE(Grid::make(TimeNs(5), TimeNs(9), 0));
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                     most = std::numeric_limits<std::int64_t>::max();
  const Grid all = *Grid::make(TimeNs(least), TimeNs(most), 3);
  EXPECT_EQ(all.boundary(3), TimeNs(most));
  EXPECT_LT(all.boundary(1), all.boundary(2));
}

TEST(Operator, WordsAreReadAndWritten) {
  for (const char* word : {"duration", "occurrences", "mean:cpu load", "bytes", "messages"}) {
    const auto op = Operator::parse(word);
    ASSERT_TRUE(op) << word;
    EXPECT_EQ(op->text(), word);
  }
  for (const char* word : {"", "mean", "mean:", "Duration", "temporal"})
    EXPECT_FALSE(Operator::parse(word)) << word;
}

}  // namespace reslicer_test
}  // namespace margay::slicer
