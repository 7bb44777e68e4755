// Lengths of visits, against a list of all visits that knows no slices.
#include <gtest/gtest.h>

#include <random>

#include "margay/slicer/reslicer.h"
#include "records_of_states.h"
#include "support/reference_slicer.h"

namespace margay::slicer {
namespace length_test {

using E = test::ReferenceEvent;
using Measure = Operator::Measure;

constexpr std::uint16_t kStates = 4;
const Operator kLength{Measure::kLength, {}};

EventRecord record(std::uint8_t kind, std::uint16_t state, std::int64_t t, std::uint32_t comm = 0) {
  return {t, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, comm, state, kind, 0};
}

// Nested states, leaves of what is not open, losses, ends, begins, equal times.
std::vector<EventRecord> life(std::mt19937_64& random) {
  std::vector<EventRecord> out;
  std::int64_t t = 1 + static_cast<std::int64_t>(random() % 300);
  for (int i = 0; i < 60; ++i) {
    if (random() % 8 != 0) t += static_cast<std::int64_t>(random() % (random() % 9 == 0 ? 900 : 80));
    const auto dice = random() % 100;
    const std::uint8_t kind = dice < 44   ? MARGAY_ENTER
                              : dice < 90 ? MARGAY_LEAVE
                              : dice < 93 ? MARGAY_GAP
                              : dice < 96 ? MARGAY_STACK
                              : dice < 98 ? MARGAY_END
                                          : MARGAY_BEGIN;
    out.push_back(record(kind, static_cast<std::uint16_t>(random() % kStates), t));
  }
  return out;
}

// In batches of any size.
Reslicer resliced(const std::vector<EventRecord>& records, const Grid& grid, std::int64_t until,
                  std::mt19937_64& random, std::function<bool(std::string_view)> wanted = {}) {
  Reslicer r({grid, kLength, std::move(wanted)});
  for (std::uint16_t i = 0; i < kStates; ++i)
    EXPECT_TRUE(r.add_name(model::NameKind::kState, "S" + std::to_string(i), model::StateFamily::kOther));
  EXPECT_TRUE(r.add_name(model::NameKind::kLink, "link", model::StateFamily::kOther));
  EXPECT_TRUE(r.add_leaf());
  EXPECT_TRUE(take_in_batches(r, records, random));
  EXPECT_TRUE(r.finish(TimeNs(until)));
  return r;
}

TEST(Length, IsTheMeanOfTheVisitsThatTouchTheSliceInAnyBatches) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto records = life(random);
    const std::int64_t end = records.back().time_ns + 50;
    const std::int64_t from = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
    const std::int64_t to = from + 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
    const auto slices = 1 + random() % std::min<std::uint64_t>(static_cast<std::uint64_t>(to - from), 30);
    const Grid grid = *Grid::make(TimeNs(from), TimeNs(to), slices);
    const Reslicer r = resliced(records, grid, end, random);
    ASSERT_EQ(r.columns(), kStates + 1u) << "Compute and the states";
    const auto visits = test::reference_visits(reference_events(records), TimeNs(end));
    for (std::uint32_t k = 0; k < slices; ++k)
      for (std::size_t c = 0; c < r.columns(); ++c) {
        std::uint64_t count = 0;
        double sum = 0;
        for (const auto& v : visits)
          if (v.state.value == kCompute.value + c && touches(v, grid.boundary(k), grid.boundary(k + 1)))
            ++count, sum += static_cast<double>((v.end - v.begin).value);
        ASSERT_EQ(r.count(LeafIndex(0), k, c), count) << "slice " << k << " " << r.column_name(c);
        ASSERT_DOUBLE_EQ(r.value(LeafIndex(0), k, c), count > 0 ? sum / static_cast<double>(count) : 0)
            << "slice " << k << " " << r.column_name(c);
      }
  }
}

// One of three slices is as long in each of them, and holds what is nested in it.
TEST(Length, OfAVisitIsTheSameInEachSliceThatItTouches) {
  std::mt19937_64 random(1);
  const std::vector<EventRecord> records = {
      record(MARGAY_BEGIN, 0, 0),   record(MARGAY_ENTER, 0, 40),  record(MARGAY_ENTER, 1, 110),
      record(MARGAY_LEAVE, 1, 120), record(MARGAY_ENTER, 1, 130), record(MARGAY_LEAVE, 1, 160),
      record(MARGAY_LEAVE, 0, 300), record(MARGAY_ENTER, 2, 350), record(MARGAY_LEAVE, 2, 350)};
  const Grid grid = *Grid::make(TimeNs(0), TimeNs(500), 5);
  const Reslicer r = resliced(records, grid, 500, random);
  const double expected[5][4] = {// Compute, S0, S1, S2
                                 {40, 260, 0, 0},
                                 {0, 260, 20, 0},
                                 {0, 260, 0, 0},
                                 {(50 + 150) / 2.0, 0, 0, 0},
                                 {150, 0, 0, 0}};
  for (std::uint32_t k = 0; k < 5; ++k)
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_EQ(r.value(LeafIndex(0), k, c), expected[k][c]) << k << " " << c;
  EXPECT_EQ(r.count(LeafIndex(0), 3, 3), 1u) << "of no length, and a visit";
  const Reslicer some = resliced(records, grid, 500, random, [](std::string_view s) { return s == "S1"; });
  ASSERT_EQ(some.columns(), 1u);
  EXPECT_EQ(some.value(LeafIndex(0), 1, 0), 20);
  EXPECT_EQ(some.not_there(LeafIndex(0), 1), 0u);
}

// A probe's sums: 10 visits that took 200 between them; what was open before is over, and open anew behind.
TEST(Length, OfSummedCallsIsTheirMean) {
  std::mt19937_64 random(1);
  const std::vector<EventRecord> records = {
      record(MARGAY_BEGIN, 0, 0),       record(MARGAY_ENTER, 0, 10),     record(MARGAY_LEAVE, 0, 40),
      record(MARGAY_ENTER, 2, 50),      record(MARGAY_SUM, 1, 250, 10),  record(MARGAY_SUM, 0, 290, 4),
      record(MARGAY_SUM_MOVED, 0, 290), record(MARGAY_SUM_OPEN, 2, 290), record(MARGAY_SUM_INSIDE, 0, 290),
      record(MARGAY_LEAVE, 0, 310),     record(MARGAY_LEAVE, 2, 390)};
  const Reslicer r = resliced(records, *Grid::make(TimeNs(0), TimeNs(400), 1), 400, random);
  EXPECT_EQ(r.value(LeafIndex(0), 0, 2), 20) << "S1";
  EXPECT_EQ(r.value(LeafIndex(0), 0, 1), (30 + 40 + 20) / 6.0) << "S0";
  EXPECT_EQ(r.value(LeafIndex(0), 0, 3), (0 + 100) / 2.0) << "S2, over where sums began";
}

TEST(Length, TakesTwiceTheMemory) {
  for (const Operator& op : {Operator{}, kLength}) {
    Reslicer r({*Grid::make(TimeNs(0), TimeNs(1'000'000), 10'000), op, {}, 10'100 * 8 * 10});
    ASSERT_TRUE(r.add_leaf());
    EXPECT_EQ(r.take(LeafIndex(0), std::vector{record(MARGAY_BEGIN, 0, 1)}).has_value(), op == Operator{});
  }
}

}  // namespace length_test
}  // namespace margay::slicer
