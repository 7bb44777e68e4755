// Single visits out of records: written out by hand, and against the re-slicer on made-up lives.
#include "margay/trace/occurrences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>

#include "margay/slicer/reslicer.h"

namespace margay::trace {
namespace occurrences_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = Occurrence::Kind;

constexpr std::uint16_t kSend = 3, kRecv = 4, kWork = 5, kStep = 6, kMark = 7, kLoad = 8;

EventRecord record(std::uint8_t kind, std::int64_t t, std::uint16_t state = 0, std::uint64_t bytes = 0,
                   std::int32_t peer = MARGAY_NO_PEER, std::uint32_t comm = 0) {
  return {t, bytes, peer, MARGAY_NO_TAG, comm, state, kind, 0};
}

// "Send@1 10-20", of what was open before "<10-20", of what goes on "10-20>".
class Told {
 public:
  Told(std::int64_t from, std::int64_t to)
      : occurrences_(TimeNs(from), TimeNs(to), [this](const Occurrence& o) {
          all.push_back(o);
          lines.push_back(text(o));
          return Status();
        }) {
    const char* const states[] = {"Absent", "Unknown", "Compute", "Send", "Recv", "Work"};
    std::uint16_t i = 0;
    for (const char* s : states) EXPECT_TRUE(occurrences_.on_name(i++, {Name::Kind::kState, s}));
    EXPECT_TRUE(occurrences_.on_name(i++, {Name::Kind::kRegion, "step"}));
    EXPECT_TRUE(occurrences_.on_name(i++, {Name::Kind::kMark, "mark"}));
    EXPECT_TRUE(occurrences_.on_name(i++, {Name::Kind::kVariable, "load"}));
    EXPECT_TRUE(occurrences_.on_leaf(LeafIndex(0), {}));
  }
  Told& take(const std::vector<EventRecord>& records) {
    EXPECT_TRUE(occurrences_.on_records(LeafIndex(0), records));
    return *this;
  }
  const std::vector<std::string>& until(std::int64_t t) {
    EXPECT_TRUE(occurrences_.on_covered(TimeNs(t)));
    EXPECT_FALSE(occurrences_.oldest_open());
    return lines;
  }
  std::optional<TimeNs> oldest_open() const { return occurrences_.oldest_open(); }
  std::vector<Occurrence> all;
  std::vector<std::string> lines;

 private:
  std::string text(const Occurrence& o) const {
    return occurrences_.names()[o.name].text + (o.depth > 0 ? "@" + std::to_string(o.depth) : "") + " " +
           (o.begun_before ? "<" : "") + std::to_string(o.begin.value) +
           (o.kind >= Kind::kVariable ? "" : "-" + std::to_string(o.end.value)) + (o.goes_on ? ">" : "");
  }
  Occurrences occurrences_;
};

TEST(Occurrences, VisitsAreNestedAndWhatLiesBetweenIsTheBase) {
  Told told(0, 1000);
  told.take({record(MARGAY_ENTER, 10, kWork), record(MARGAY_ENTER, 12, kSend, 100, 3),
             record(MARGAY_LEAVE, 15, kSend), record(MARGAY_LEAVE, 20, kWork),
             record(MARGAY_ENTER, 20, kRecv), record(MARGAY_LEAVE, 30, kRecv, 8, 7),
             record(MARGAY_ENTER, 40, kSend)});
  EXPECT_EQ(told.oldest_open(), TimeNs(40));
  EXPECT_THAT(told.until(50),
              ElementsAre("Send@1 12-15", "Work 10-20", "Recv 20-30", "Compute 30-40", "Send 40-50>"));
  EXPECT_EQ(told.all[0].peer, 3);
  EXPECT_EQ(told.all[0].bytes, 100u);
  EXPECT_EQ(told.all[2].peer, 7) << "as completed";
}

TEST(Occurrences, OnlyWhatTouchesTheRangeIsToldButWithItsOwnTimes) {
  const std::vector<EventRecord> records = {record(MARGAY_BEGIN, 0), record(MARGAY_ENTER, 10, kSend),
                                            record(MARGAY_LEAVE, 20, kSend), record(MARGAY_ENTER, 30, kRecv),
                                            record(MARGAY_LEAVE, 40, kRecv)};
  EXPECT_THAT(Told(15, 30).take(records).until(50), ElementsAre("Send 10-20", "Compute 20-30"));
  EXPECT_THAT(Told(20, 21).take(records).until(50), ElementsAre("Compute 20-30"));
  EXPECT_THAT(Told(50, 60).take(records).until(50), IsEmpty());
  EXPECT_THAT(Told(5, 11).take(records).until(50), ElementsAre("Compute <0-10", "Send 10-20"));
}

TEST(Occurrences, WhatIsLostIsUnknownFromTheLastRecordOn) {
  Told told(0, 1000);
  told.take({record(MARGAY_ENTER, 10, kSend), record(MARGAY_REGION_ENTER, 11, kStep),
             record(MARGAY_GAP, 50, 0, 9), record(MARGAY_GAP, 60, 0, 1), record(MARGAY_STACK, 70, kRecv),
             record(MARGAY_LEAVE, 80, kRecv), record(MARGAY_GAP, 90), record(MARGAY_LEAVE, 95, kSend),
             record(MARGAY_END, 99)});
  EXPECT_THAT(told.until(200), ElementsAre("step 11-11", "Send 10-11", "Unknown 11-70", "Recv <70-80",
                                           "Unknown 80-95", "Compute 95-99"));
}

// Of calls that were summed each state is one visit, one behind the other.
TEST(Occurrences, SummedCallsAreOneVisitOfMany) {
  Told told(0, 1000);
  told.take({record(MARGAY_ENTER, 10, kSend), record(MARGAY_LEAVE, 20, kSend),
             record(MARGAY_SUM, 50, kCompute.value, 5, MARGAY_NO_PEER, 40),
             record(MARGAY_SUM, 90, kRecv, 7, 2, 40), record(MARGAY_SUM_MOVED, 90, kRecv, 4096),
             record(MARGAY_SUM_OPEN, 90, kSend)});
  EXPECT_THAT(told.until(100), ElementsAre("Send 10-20", "Compute 20-50", "Recv 50-90", "Send 90-100>"));
  EXPECT_EQ(told.all[2].calls, 40u);
  EXPECT_EQ(told.all[2].longest, DurationNs(7));
  EXPECT_EQ(told.all[2].bytes, 4096u);
  EXPECT_EQ(told.all[2].peer, 2);
}

// A probe that begins to sum within a call says behind the sums what is open then.
TEST(Occurrences, WhatWasOpenWhenCallsAreSummedIsOverThere) {
  Told told(0, 1000);
  told.take({record(MARGAY_ENTER, 10, kRecv), record(MARGAY_SUM, 40, kRecv, 5, MARGAY_NO_PEER, 9),
             record(MARGAY_SUM, 90, kSend, 5, MARGAY_NO_PEER, 9), record(MARGAY_SUM_OPEN, 90, kWork),
             record(MARGAY_SUM_INSIDE, 90, kSend), record(MARGAY_LEAVE, 95, kSend)});
  EXPECT_THAT(told.until(100),
              ElementsAre("Recv 10-10", "Recv 10-40", "Send 40-90", "Send@1 90-95", "Work 90-100>"));
}

TEST(Occurrences, MomentsAndRegionsStandBesideTheStates) {
  Told told(0, 1000);
  told.take({record(MARGAY_ENTER, 10, kSend), record(MARGAY_REGION_ENTER, 12, kStep),
             record(MARGAY_VARIABLE, 13, kLoad, std::bit_cast<std::uint64_t>(2.5)),
             record(MARGAY_MARK, 14, kMark), record(MARGAY_LEAVE, 20, kSend),
             record(MARGAY_REGION_LEAVE, 25, kStep)});
  EXPECT_THAT(told.until(30),
              ElementsAre("load@1 13", "mark@1 14", "Send 10-20", "step 12-25", "Compute 20-30>"));
  EXPECT_EQ(std::bit_cast<double>(told.all[0].bytes), 2.5);
}

TEST(Occurrences, AnErrorOfWhoIsToldEndsTheReading) {
  Occurrences o(TimeNs(0), TimeNs(100), [](const Occurrence&) { return fail(ErrorCode::kIo, "full"); });
  ASSERT_TRUE(o.on_leaf(LeafIndex(0), {}));
  const std::vector<EventRecord> records = {record(MARGAY_ENTER, 1, kSend), record(MARGAY_LEAVE, 2, kSend)};
  EXPECT_FALSE(o.on_records(LeafIndex(0), records));
  EXPECT_FALSE(o.on_records(LeafIndex(1), records)) << "no such leaf";
}

// A leaf's life: nested states, leaves of what is not open, gaps, sums, ends and begins, equal times.
std::vector<EventRecord> life(std::mt19937_64& random) {
  std::vector<EventRecord> out;
  std::int64_t t = 1 + static_cast<std::int64_t>(random() % 100);
  for (int i = 0; i < 80; ++i) {
    if (random() % 8 != 0) t += static_cast<std::int64_t>(random() % 80);
    const auto state = static_cast<std::uint16_t>(kSend + random() % 3);
    const auto dice = random() % 100;
    const std::uint8_t kind = dice < 45   ? MARGAY_ENTER
                              : dice < 85 ? MARGAY_LEAVE
                              : dice < 88 ? MARGAY_GAP
                              : dice < 91 ? MARGAY_STACK
                              : dice < 93 ? MARGAY_END
                              : dice < 95 ? MARGAY_BEGIN
                              : dice < 98 ? MARGAY_SUM
                                          : MARGAY_SUM_OPEN;
    out.push_back(record(kind, t, state, 1, MARGAY_NO_PEER, 3));
  }
  return out;
}

TEST(Occurrences, TheInnermostOnesCoverTheTimeThatTheReslicerGivesEachState) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::vector<EventRecord> records = life(random);
    const std::int64_t end = records.back().time_ns + 50;
    const std::int64_t from = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end / 2));
    const std::int64_t to = from + 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));

    slicer::Reslicer reslicer(
        {.grid = *slicer::Grid::make(TimeNs(from), TimeNs(to), 1), .op = {}, .wanted = {}});
    for (const char* s : {"Absent", "Unknown", "Compute", "Send", "Recv", "Work"})
      ASSERT_TRUE(reslicer.add_name(model::NameKind::kState, s, model::StateFamily::kOther));
    ASSERT_TRUE(reslicer.add_leaf());
    ASSERT_TRUE(reslicer.take(LeafIndex(0), records));
    ASSERT_TRUE(reslicer.finish(TimeNs(end)));
    std::map<std::string, std::int64_t> expected;
    for (std::size_t c = 0; c < reslicer.columns(); ++c)
      expected[reslicer.column_name(c)] = static_cast<std::int64_t>(reslicer.count(LeafIndex(0), 0, c));

    Told told(from, to);
    told.take(records).until(end);
    // What is inside one is told before it, and no part of its time.
    std::map<std::string, std::int64_t> found;
    std::map<std::size_t, std::int64_t> inside;
    for (const Occurrence& o : told.all) {
      const std::int64_t ns =
          std::max<std::int64_t>(0, std::min(o.end.value, to) - std::max(o.begin.value, from));
      const char* const names[] = {"", "Unknown", "Compute", "Send", "Recv", "Work"};
      if (o.name != kUnknown.value) found[names[o.name]] += ns - inside[o.depth + std::size_t{1}];
      inside[o.depth + std::size_t{1}] = 0;
      inside[o.depth] += ns;
    }
    for (const auto& [state, ns] : expected) EXPECT_EQ(found[state], ns) << state;
  }
}

// The two agree on what a visit is, and so do pictures of lengths and lists of visits.
TEST(Occurrences, TheirMeanLengthIsThatOfTheReslicer) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::vector<EventRecord> records = life(random);
    const std::int64_t end = records.back().time_ns + 50;
    const slicer::Grid grid = *slicer::Grid::make(TimeNs(0), TimeNs(end), 7);
    slicer::Reslicer reslicer({.grid = grid, .op = {slicer::Operator::Measure::kLength, {}}, .wanted = {}});
    const char* const names[] = {"Absent", "Unknown", "Compute", "Send", "Recv", "Work"};
    for (const char* s : names)
      ASSERT_TRUE(reslicer.add_name(model::NameKind::kState, s, model::StateFamily::kOther));
    ASSERT_TRUE(reslicer.add_leaf());
    ASSERT_TRUE(reslicer.take(LeafIndex(0), records));
    ASSERT_TRUE(reslicer.finish(TimeNs(end)));
    Told told(0, end);
    told.take(records).until(end);
    for (std::uint32_t k = 0; k < 7; ++k)
      for (std::size_t c = 0; c < reslicer.columns(); ++c) {
        std::uint64_t visits = 0;
        double sum = 0;
        for (const Occurrence& o : told.all) {
          if (names[o.name] != reslicer.column_name(c) || o.begin >= grid.boundary(k + 1) ||
              (o.end <= grid.boundary(k) && o.begin < grid.boundary(k)))
            continue;
          visits += o.calls, sum += static_cast<double>((o.end - o.begin).value);
        }
        ASSERT_EQ(reslicer.count(LeafIndex(0), k, c), visits) << k << " " << reslicer.column_name(c);
        ASSERT_DOUBLE_EQ(reslicer.value(LeafIndex(0), k, c),
                         visits > 0 ? sum / static_cast<double>(visits) : 0)
            << k << " " << reslicer.column_name(c);
      }
  }
}

}  // namespace occurrences_test
}  // namespace margay::trace
