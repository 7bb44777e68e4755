// What operators make of a variable, against their definitions: the reference keeps each value that the
// variable had, and for how long.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "margay/slicer/reslicer.h"
#include "support/reference_slicer.h"

namespace margay::slicer {
namespace variable_test {

using E = test::ReferenceEvent;
using Kind = Reslicer::NameKind;
using Measure = Operator::Measure;

constexpr std::uint16_t kState = 0, kVariable = 1, kOther = 2;
constexpr DurationNs kSlice(100);

EventRecord record(std::uint8_t kind, std::uint16_t name, std::int64_t t, double value = 0) {
  return {t, std::bit_cast<std::uint64_t>(value), MARGAY_NO_PEER, MARGAY_NO_TAG, 0, name, kind, 0};
}
EventRecord sample(std::int64_t t, double value) {
  return record(MARGAY_VARIABLE, kVariable, t, value);
}

// Samples among other records, many of them at one time, or where a slice begins; losses, ends, begins.
std::vector<EventRecord> life(std::mt19937_64& random) {
  std::vector<EventRecord> out;
  std::int64_t t = 1 + static_cast<std::int64_t>(random() % 300);
  for (int i = 0; i < 80; ++i) {
    const auto step = random() % 8;
    if (step == 0) t = (t / kSlice.value + 1) * kSlice.value;
    if (step > 2) t += static_cast<std::int64_t>(random() % 90);
    const auto dice = random() % 100;
    if (dice < 50)
      out.push_back(sample(t, static_cast<double>(random() % 1000) / 7));
    else if (dice < 60)
      out.push_back(record(MARGAY_VARIABLE, kOther, t, 1e6));
    else if (dice < 92)
      out.push_back(record(dice % 2 == 0 ? MARGAY_ENTER : MARGAY_LEAVE, kState, t));
    else
      out.push_back(record(dice < 95 ? MARGAY_GAP : dice < 98 ? MARGAY_END : MARGAY_BEGIN, 0, t));
  }
  return out;
}

std::vector<E> reference_events(const std::vector<EventRecord>& records) {
  std::vector<E> out;
  for (const EventRecord& r : records) {
    const bool other = r.kind == MARGAY_VARIABLE && r.state == kOther;  // changes nothing but the last time
    const E::Kind kind = other                       ? E::kEnter
                         : r.kind == MARGAY_VARIABLE ? E::kVariable
                         : r.kind == MARGAY_ENTER    ? E::kEnter
                         : r.kind == MARGAY_LEAVE    ? E::kLeave
                         : r.kind == MARGAY_GAP      ? E::kGap
                         : r.kind == MARGAY_END      ? E::kEnd
                                                     : E::kBegin;
    out.push_back({kind, StateId(3), TimeNs(r.time_ns), std::bit_cast<double>(r.bytes)});
  }
  return out;
}

// In batches of any size.
Reslicer resliced(const std::vector<EventRecord>& records, Measure measure, std::int64_t slices,
                  std::mt19937_64& random) {
  Reslicer r({*Grid::make(TimeNs(0), TimeNs(slices * kSlice.value), static_cast<std::uint64_t>(slices)),
              {measure, "load"},
              {}});
  EXPECT_TRUE(r.add_name(Kind::kState, "S", model::StateFamily::kOther));
  EXPECT_TRUE(r.add_name(Kind::kVariable, "load", model::StateFamily::kOther));
  EXPECT_TRUE(r.add_name(Kind::kVariable, "other", model::StateFamily::kOther));
  EXPECT_TRUE(r.add_leaf());
  for (std::size_t i = 0; i < records.size();) {
    const std::size_t n = std::min<std::size_t>(1 + random() % 7, records.size() - i);
    EXPECT_TRUE(r.take(LeafIndex(0), std::span(records).subspan(i, n)));
    i += n;
  }
  EXPECT_TRUE(r.finish(TimeNs(slices * kSlice.value)));
  return r;
}

// What the definition makes of the values that it had in a slice.
double expected(Measure measure, const std::vector<test::ReferenceValue>& had) {
  double greatest = 0, sum = 0, time = 0;
  for (const auto& v : had) {
    const auto ns = static_cast<double>((v.end - v.begin).value);
    greatest = std::max(greatest, v.value);
    sum += v.value * ns, time += ns;
  }
  return measure == Measure::kMax ? greatest : time > 0 ? sum / time : 0;
}

TEST(Variable, CellsAreThoseOfTheDefinitionInAnyBatches) {
  for (const Measure measure : {Measure::kMean, Measure::kMax})
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      const Operator op{measure, "load"};
      SCOPED_TRACE(op.text() + ", seed " + std::to_string(seed));
      std::mt19937_64 random(seed);
      const auto records = life(random);
      const std::int64_t slices = records.back().time_ns / kSlice.value + 2;
      const Reslicer r = resliced(records, measure, slices, random);
      ASSERT_EQ(r.columns(), 1u);
      EXPECT_EQ(r.column_name(0), "load");
      const auto had =
          test::reference_values(reference_events(records), TimeNs(slices * kSlice.value), kSlice);
      std::size_t some = 0;
      for (std::uint32_t k = 0; k < slices; ++k) {
        const auto here = had.find(k);
        const double value = here == had.end() ? 0 : expected(measure, here->second);
        // A mean is rounded, a maximum is one of the values.
        ASSERT_NEAR(r.value(LeafIndex(0), k, 0), value, measure == Measure::kMax ? 0 : 1e-9 * value)
            << "slice " << k;
        some += value > 0 ? 1 : 0;
      }
      EXPECT_GT(some, 0u);
    }
}

TEST(Variable, TheRateIsTheGrowthOfTheSlicesSamplesInAnyBatches) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto records = life(random);
    const std::int64_t slices = records.back().time_ns / kSlice.value + 2;
    const Reslicer r = resliced(records, Measure::kRate, slices, random);
    auto grown = test::reference_growth(reference_events(records), TimeNs(slices * kSlice.value), kSlice);
    EXPECT_FALSE(grown.empty());
    for (std::uint32_t k = 0; k < slices; ++k) {
      const double a_second = grown[k] * 1e9 / static_cast<double>(kSlice.value);
      ASSERT_NEAR(r.value(LeafIndex(0), k, 0), a_second, 1e-9 * a_second) << "slice " << k;
    }
  }
}

TEST(Variable, ACounterThatFallsBeganAnew) {
  std::mt19937_64 random(1);
  // Of each slice of 100 ns: 5 that nobody knows the begin of, then 2 more; 0 more; 3 of a new one, and 1
  // more; behind a loss, and behind an end, nobody knows.
  const std::vector<EventRecord> records = {sample(10, 5),
                                            sample(90, 7),
                                            sample(150, 7),
                                            sample(200, 3),
                                            sample(299, 4),
                                            record(MARGAY_GAP, 0, 350),
                                            sample(360, 9),
                                            sample(370, 9),
                                            sample(420, 1),
                                            sample(499, 2.5),
                                            record(MARGAY_END, 0, 500),
                                            sample(510, 8)};
  const Reslicer r = resliced(records, Measure::kRate, 7, random);
  const double grown[] = {2, 0, 4, 0, 2.5, 0, 0};
  for (std::uint32_t k = 0; k < 7; ++k)
    EXPECT_DOUBLE_EQ(r.value(LeafIndex(0), k, 0), grown[k] * 1e7) << "slice " << k;
}

TEST(Variable, TheGreatestIsAlsoOneFromBeforeAndOneThatWasThereForAMoment) {
  std::mt19937_64 random(1);
  // 3 from 50 on, 8 for a moment at 120, then 1; where the fifth slice begins 7, until it is lost.
  const std::vector<EventRecord> records = {sample(50, 3),  sample(120, 8), sample(120, 1),
                                            sample(400, 7), sample(450, 2), record(MARGAY_GAP, 0, 560),
                                            sample(620, 1), sample(650, 9), record(MARGAY_END, 0, 690)};
  const Reslicer r = resliced(records, Measure::kMax, 9, random);
  const double values[] = {3, 8, 1, 1, 7, 0, 9, 0, 0};
  for (std::uint32_t k = 0; k < 9; ++k) EXPECT_EQ(r.value(LeafIndex(0), k, 0), values[k]) << "slice " << k;
  EXPECT_EQ(r.count(LeafIndex(0), 0, 0), 50u) << "so long it had a value";
  EXPECT_EQ(r.not_there(LeafIndex(0), 7), 100u);
}

TEST(Variable, ANegativeValueIsRefused) {
  for (const Measure measure : {Measure::kMean, Measure::kMax, Measure::kRate}) {
    Reslicer r({*Grid::make(TimeNs(0), TimeNs(10), 1), {measure, "load"}, {}});
    ASSERT_TRUE(r.add_name(Kind::kState, "S", model::StateFamily::kOther));
    ASSERT_TRUE(r.add_name(Kind::kVariable, "load", model::StateFamily::kOther));
    ASSERT_TRUE(r.add_leaf());
    const auto ok = r.take(LeafIndex(0), std::vector{sample(1, -2)});
    ASSERT_FALSE(ok);
    EXPECT_NE(ok.error().message.find("'load' has the value -2"), std::string::npos) << ok.error().message;
  }
}

TEST(Operator, ThoseThatSlicesCannotHoldAreForEventsAlone) {
  for (const char* word : {"max:cpu load", "rate:sent", "length"}) {
    const auto op = Operator::parse(word);
    ASSERT_TRUE(op) << word;
    EXPECT_EQ(op->text(), word);
    EXPECT_FALSE(op->adds_up());
    const auto kept = Operator::parse_kept(word);
    ASSERT_FALSE(kept) << word;
    EXPECT_EQ(
        kept.error().message,
        "slices cannot hold it; of the events of any archive margay partition and margay render have it; "
        "expected duration, occurrences, mean:VARIABLE, bytes or messages");
  }
  for (const char* word : {"duration", "occurrences", "mean:load", "bytes", "messages"})
    EXPECT_TRUE(Operator::parse_kept(word)) << word;
  for (const char* word : {"max", "max:", "MAX:load", "rate", "rate:", "length:x"})
    EXPECT_NE(Operator::parse(word).error().message.find("bytes, messages"), std::string::npos) << word;
}

}  // namespace variable_test
}  // namespace margay::slicer
