// The policy by property, and an archive under it.
#include "margay/store/retention.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "margay/store/archive.h"
#include "margay/store/retention_manager.h"
#include "store_support.h"

namespace margay::store {
namespace retention_test {

using test::TemporaryFolder;
using testing::example_run;
using testing::must;

constexpr std::uint64_t kMiB = 1 << 20;

TEST(RetentionPolicy, RoomIsAskedForNearTheBudgetAndWhereTheFileSystemIsShort) {
  const DiskRules rules{1600 * kMiB, 100 * kMiB};
  const std::uint64_t large = 100'000 * kMiB;
  EXPECT_EQ(bytes_to_drop(rules, {1400 * kMiB, large, large}), 0u) << "at seven eighths";
  EXPECT_EQ(bytes_to_drop(rules, {1401 * kMiB, large, large}), 101 * kMiB);
  EXPECT_EQ(bytes_to_drop(rules, {10 * kMiB, 100 * kMiB, large}), 0u);
  EXPECT_EQ(bytes_to_drop(rules, {10 * kMiB, 99 * kMiB, large}), kMiB + 100 * kMiB / 16);
  EXPECT_EQ(bytes_to_drop(rules, {1401 * kMiB, 99 * kMiB, large}), 101 * kMiB) << "the greater of the two";
  EXPECT_EQ(bytes_to_drop({0, 0}, {large, 0, large}), 0u) << "no bounds";
  EXPECT_EQ(bytes_to_drop(rules, {10 * kMiB, 50 * kMiB, 1000 * kMiB}), 0u)
      << "of a small file system a twentieth is left alone";
}

TEST(RetentionPolicy, OldestFirstShelfByShelfNeverBeyondTheFloor) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 5000; ++round) {
    std::vector<Stock> stocks(1 + random() % 6);
    std::uint64_t may_go = 0;
    for (std::size_t i = 0; i < stocks.size(); ++i) {
      Stock& s = stocks[i];
      s.shelf = i == 0 ? Shelf::kRaw : i == 1 ? Shelf::kReports : Shelf::kSlices;
      s.level = LevelIndex(static_cast<std::uint8_t>(i < 2 ? 0 : i - 2));
      s.keep_from = TimeNs(static_cast<std::int64_t>(random() % 1000));
      TimeNs t(static_cast<std::int64_t>(random() % 300));
      for (unsigned n = random() % 20; n > 0; --n) {
        const TimeNs end = t + DurationNs(1 + static_cast<std::int64_t>(random() % 100));
        s.extents.push_back({t, end, random() % 3 == 0 ? 0 : random() % 1000});
        t = end;
      }
      for (const Extent& e : s.extents)
        if (e.end <= s.keep_from) may_go += e.bytes;
    }
    const std::uint64_t need = random() % 20'000;
    const DropPlan plan = plan_drops(need, stocks);
    EXPECT_EQ(plan.enough, may_go >= need);
    std::uint64_t sum = 0;
    std::size_t at = 0;
    bool more_may_go = false;  // of a shelf before the one looked at
    for (const Drop& d : plan.drops) {
      EXPECT_FALSE(more_may_go) << "a later shelf went before an earlier one was exhausted";
      while (at < stocks.size() && (stocks[at].shelf != d.shelf || stocks[at].level != d.level)) {
        for (const Extent& e : stocks[at].extents) EXPECT_TRUE(stocks[at].keep_from < e.end || need == 0);
        ++at;
      }
      ASSERT_LT(at, stocks.size()) << "out of order";
      const Stock& s = stocks[at++];
      EXPECT_LE(d.before, s.keep_from);
      std::uint64_t bytes = 0;
      for (const Extent& e : s.extents) {
        EXPECT_TRUE(e.end <= d.before || d.before <= e.begin) << "whole extents";
        if (e.end <= d.before) bytes += e.bytes;
        if (d.before < e.end && e.end <= s.keep_from) more_may_go = true;
      }
      EXPECT_EQ(bytes, d.bytes);
      sum += bytes;
    }
    EXPECT_EQ(sum, plan.bytes);
    if (plan.enough && !plan.drops.empty()) {
      // Not more than was needed, but for the last extent.
      EXPECT_LT(plan.bytes, need + 1000);
    }
    EXPECT_TRUE(need != 0 || plan.drops.empty());
  }
}

TEST(RetentionPolicy, WhatIsTooOldGoesNowAndThenAndNeverBeyondTheFloor) {
  const TimeNs newest = TimeNs(0) + seconds(100'000);
  const TimeNs floor = newest - seconds(50);
  const auto before = [&](std::optional<DurationNs> age, DurationNs oldest) {
    return too_old(age, newest, floor, newest - oldest);
  };
  EXPECT_EQ(before({}, seconds(99'999)), std::nullopt) << "no bound";
  EXPECT_EQ(before(seconds(1600), seconds(1700)), std::nullopt) << "a sixteenth more is not worth it";
  EXPECT_EQ(before(seconds(1600), seconds(1701)), newest - seconds(1600));
  EXPECT_EQ(before(seconds(60), seconds(70)), std::nullopt) << "nor are 10 s";
  EXPECT_EQ(before(seconds(60), seconds(71)), newest - seconds(60));
  EXPECT_EQ(before(seconds(0), seconds(61)), floor);
  EXPECT_EQ(before(seconds(0), seconds(60)), std::nullopt);
  EXPECT_EQ(before(seconds(200'000), seconds(99'999)), std::nullopt);

  AgeRules rules;
  EXPECT_EQ(rules.level_out_of_order(), std::nullopt);
  rules.levels = {seconds(5), seconds(5), std::nullopt};
  EXPECT_EQ(rules.level_out_of_order(), std::nullopt);
  rules.levels = {seconds(4), seconds(6), seconds(5)};
  EXPECT_EQ(rules.level_out_of_order(), 1u);
  rules.levels = {std::nullopt, seconds(6)};
  EXPECT_EQ(rules.level_out_of_order(), 0u);
}

TEST(RetentionPolicy, TheFloorIsTheWindowAndWhatTheCoarsestIsMergedFrom) {
  EXPECT_EQ(restart_floor({milliseconds(100), seconds(1), seconds(60)}, 256, 64),
            (std::vector<std::int64_t>{600 + 128, 256, 256}));
  EXPECT_EQ(restart_floor({seconds(1)}, 256, 64), (std::vector<std::int64_t>{256 + 128}));
  EXPECT_TRUE(restart_floor({}, 256, 64).empty());
}

// Cuts of 100 ms each, as a daemon makes them: raw events that do not compress, slices, a report.
class Filling {
 public:
  Filling(Archive& archive, std::size_t raw_bytes) : archive_(archive), raw_bytes_(raw_bytes) {}
  ManualClock clock;
  Cut cut() {
    Cut c;
    c.sequence = ++sequence_;
    const SliceIndex slice(slice_of(example_run().begin, milliseconds(100)).value + sequence_);
    const TimeNs begin = slice_begin(slice, milliseconds(100));
    c.columns.push_back(testing::random_column(random_, LevelIndex(0), slice, 256, 8, milliseconds(100)));
    if (sequence_ % 10 == 0)
      c.columns.push_back(
          testing::random_column(random_, LevelIndex(1), slice_of(begin, seconds(1)), 64, 8, seconds(1)));
    c.closed = {{LevelIndex(0), slice}};
    if (raw_bytes_ > 0) {
      std::string noise(raw_bytes_, '\0');
      for (char& b : noise) b = static_cast<char>(random_());
      c.raw = {
          {LeafIndex(0), static_cast<std::uint64_t>(sequence_), begin, begin + milliseconds(99), 9, noise}};
    }
    c.report = ReportRecord{begin, std::string(2000, 'r')};
    if (sequence_ == 1) c.alerts = {{"a1", "{}", "firing"}};
    if (sequence_ == 1) c.phases = {{0, "A", "", begin, begin, 1, true}};
    return c;
  }
  Status commit(RetentionManager& retention) {
    const Cut c = cut();
    const Status s = archive_.commit(c, false);
    clock.mono = clock.mono + milliseconds(100);
    if (s) retention.after_commit(c);
    return s;
  }

 private:
  Archive& archive_;
  std::size_t raw_bytes_;
  std::int64_t sequence_ = 0;
  std::mt19937_64 random_{7};
};

ArchiveOptions within(std::uint64_t budget) {
  ArchiveOptions o;
  o.disk_budget = budget;
  return o;
}

RetentionOptions options(std::uint64_t budget) {
  RetentionOptions o;
  o.rules = {budget, 0};
  o.levels = example_run().levels;
  o.floor_slices = {50, 20, 20};
  o.period = seconds(1);  // every ten commits
  return o;
}

TEST(RetentionManager, TheArchiveStaysWithinItsBudgetAndKeepsTheNewest) {
  const TemporaryFolder dir;
  constexpr std::uint64_t kBudget = 32 * kMiB;
  const auto archive = must(Archive::create(dir / "a", example_run(), within(kBudget)));
  Filling filling(*archive, 256 << 10);
  RetentionManager retention(*archive, options(kBudget), filling.clock);
  std::uint64_t most = 0;
  for (int i = 0; i < 300; ++i) {  // 75 MiB of raw events
    ASSERT_TRUE(filling.commit(retention));
    most = std::max(most, retention.report().use.archive);
  }
  const RetentionReport r = retention.report();
  EXPECT_LE(most, kBudget);
  EXPECT_GT(r.raw_bytes_dropped, 20 * kMiB);
  EXPECT_EQ(r.slices_dropped, 0u) << "raw events were enough";
  EXPECT_EQ(r.error, "");
  EXPECT_FALSE(retention.full());
  ASSERT_TRUE(r.raw_kept);
  EXPECT_GT(*r.raw_kept, seconds(3));
  EXPECT_LT(*r.raw_kept, seconds(20));
  EXPECT_EQ(archive->alerts()->size(), 1u);
  EXPECT_EQ(archive->phases()->size(), 1u);
  const auto range = archive->column_range(LevelIndex(0));
  EXPECT_EQ((*range)->second.value - (*range)->first.value, 299) << "every slice is there";
}

TEST(RetentionManager, WhatIsTooOldGoesEachShelfAtItsAge) {
  const TemporaryFolder dir;
  const auto archive = must(Archive::create(dir / "a", example_run()));
  Filling filling(*archive, 1 << 10);
  RetentionOptions o = options(0);  // no bound but age
  o.ages = {seconds(20), seconds(40), {seconds(60), std::nullopt}};
  RetentionManager retention(*archive, o, filling.clock);
  for (int i = 0; i < 1200; ++i) {  // two minutes
    ASSERT_TRUE(filling.commit(retention));
    const RetentionReport r = retention.report();
    ASSERT_EQ(r.error, "");
    // Each is kept for its age at least, and 10 s and a look more at most.
    ASSERT_LE(r.raw_kept.value_or(DurationNs()), seconds(32));
    ASSERT_LE(r.fine_kept.value_or(DurationNs()), seconds(72));
    ASSERT_TRUE(i < 400 || *r.raw_kept >= seconds(20)) << i;
    ASSERT_TRUE(i < 800 || *r.fine_kept >= seconds(60)) << i;
  }
  const RetentionReport r = retention.report();
  EXPECT_TRUE(r.raw_for_age && r.reports_for_age && r.slices_for_age);
  EXPECT_FALSE(r.full);
  EXPECT_GT(r.slices_dropped, 450u);
  EXPECT_GE(r.times, 8u);
  EXPECT_LE(r.times, 30u) << "not for every slice";
  EXPECT_EQ(archive->alerts()->size(), 1u);
  EXPECT_EQ(archive->phases()->size(), 1u);
  const auto coarse = archive->column_range(LevelIndex(1));
  EXPECT_EQ((*coarse)->second.value - (*coarse)->first.value, 119) << "no age, no bound";
  const TimeNs newest = slice_end(archive->column_range(LevelIndex(0))->value().second, milliseconds(100));
  const TimeNs report = archive->oldest(Shelf::kReports, {})->value();
  EXPECT_GE(newest - report, seconds(40));
  EXPECT_LE(newest - report, seconds(52));

  // The clock goes on, the trace does not: nothing goes.
  const auto before = archive->oldest(Shelf::kRaw, {})->value();
  Cut nothing;
  for (int i = 0; i < 10; ++i) {
    filling.clock.mono = filling.clock.mono + seconds(1000);
    retention.after_commit(nothing);
  }
  EXPECT_EQ(archive->oldest(Shelf::kRaw, {})->value(), before);
  EXPECT_EQ(retention.report().times, r.times);
}

TEST(RetentionManager, NoAgeReachesBelowTheFloorOrHoldsUpTheBudget) {
  const TemporaryFolder dir;
  constexpr std::uint64_t kBudget = 32 * kMiB;
  const auto archive = must(Archive::create(dir / "a", example_run(), within(kBudget)));
  Filling filling(*archive, 256 << 10);
  RetentionOptions o = options(kBudget);
  o.floor_slices = {200, 20, 20};
  o.ages = {seconds(1000), {}, {seconds(1), seconds(1), seconds(1)}};
  RetentionManager retention(*archive, o, filling.clock);
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(filling.commit(retention));
  const RetentionReport r = retention.report();
  EXPECT_LE(r.use.archive, kBudget);
  EXPECT_GT(r.raw_bytes_dropped, 20 * kMiB) << "though it is to be kept for longer";
  EXPECT_FALSE(r.raw_for_age);
  EXPECT_TRUE(r.slices_for_age);
  EXPECT_GE(*r.fine_kept, seconds(20)) << "the floor, though the age is 1 s";
  EXPECT_LE(*r.fine_kept, seconds(32));
  EXPECT_LE(*r.raw_kept, seconds(20));
}

TEST(RetentionManager, MuchAtOnceIsLookedAtAtOnce) {
  const TemporaryFolder dir;
  constexpr std::uint64_t kBudget = 64 * kMiB;
  const auto archive = must(Archive::create(dir / "a", example_run()));
  Filling filling(*archive, 3 << 20);
  RetentionOptions o = options(kBudget);
  o.period = seconds(1'000'000);
  RetentionManager retention(*archive, o, filling.clock);
  ASSERT_TRUE(filling.commit(retention));
  const std::uint64_t first = retention.report().use.archive;
  // Files take their room in large pieces, so several of them.
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(filling.commit(retention));
  EXPECT_GT(retention.report().use.archive, first) << "3 MiB are more than a 32nd of 64 MiB";
}

TEST(RetentionManager, AtTheFloorItSaysThatItIsFullAndTheSlicesStay) {
  const TemporaryFolder dir;
  const auto archive = must(Archive::create(dir / "a", example_run()));
  Filling filling(*archive, 1 << 10);
  RetentionManager retention(*archive, options(64 << 10), filling.clock);  // no archive is so small
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(filling.commit(retention));
  EXPECT_TRUE(retention.full());
  EXPECT_TRUE(retention.report().full);
  const auto fine = archive->column_range(LevelIndex(0));
  ASSERT_TRUE(fine && *fine);
  EXPECT_GE((*fine)->second.value - (*fine)->first.value, 49) << "the floor";
  EXPECT_EQ(archive->read_columns(LevelIndex(0), (*fine)->first, (*fine)->second)->size(),
            static_cast<std::size_t>((*fine)->second.value - (*fine)->first.value + 1));
  const auto coarse = archive->column_range(LevelIndex(1));
  ASSERT_TRUE(coarse && *coarse);
  EXPECT_GE((*coarse)->second.value - (*coarse)->first.value, 18);
  EXPECT_EQ(archive->phases()->size(), 1u);
}

TEST(RetentionManager, SlicesGoWhenRawEventsAndReportsAreNotEnoughTheFinestFirst) {
  const TemporaryFolder dir;
  constexpr std::uint64_t kBudget = 6 * kMiB;
  const auto archive = must(Archive::create(dir / "a", example_run(), within(kBudget)));
  Filling filling(*archive, 0);
  RetentionManager retention(*archive, options(kBudget), filling.clock);
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(filling.commit(retention));
  EXPECT_GT(retention.report().slices_dropped, 100u);
  EXPECT_LT(*retention.report().fine_kept, seconds(49));
  EXPECT_EQ(*archive->oldest(Shelf::kRaw, {}), std::nullopt);
}

TEST(Archive, WhoReadsSeesAllThatWasThereAlsoWhenItIsDroppedMeanwhile) {
  const TemporaryFolder dir;
  const auto archive = must(Archive::create(dir / "a", example_run()));
  Filling filling(*archive, 1000);
  RetentionManager retention(*archive, options(0), filling.clock);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(filling.commit(retention));
  const TimeNs all(std::numeric_limits<std::int64_t>::max());
  int seen = 0;
  ASSERT_TRUE(archive->read_raw({}, TimeNs(0), all, [&](RawBlock&&) {
    if (seen++ == 0) {
      std::thread writer([&] { EXPECT_TRUE(archive->drop_raw_before(all)); });
      writer.join();  // and does not wait for this reader
    }
    return true;
  }));
  EXPECT_EQ(seen, 50);
  EXPECT_EQ(*archive->oldest(Shelf::kRaw, {}), std::nullopt);
}

TEST(Archive, ExtentsCoverAShelfFromItsOldestToTheLimit) {
  const TemporaryFolder dir;
  const std::string path = dir / "a";
  {
    const auto archive = must(Archive::create(path, example_run()));
    ManualClock clock;
    RetentionManager retention(*archive, options(0), clock);
    Filling filling(*archive, 100 << 10);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(filling.commit(retention));
  }
  const auto archive = must(Archive::open(path, Mode::kWrite));  // its log has become files
  for (const Shelf shelf : {Shelf::kRaw, Shelf::kReports, Shelf::kSlices}) {
    const auto oldest = archive->oldest(shelf, LevelIndex(0));
    ASSERT_TRUE(oldest && *oldest);
    const TimeNs until = **oldest + seconds(5);
    const auto extents = archive->extents(shelf, LevelIndex(0), until, 7);
    ASSERT_TRUE(extents);
    ASSERT_EQ(extents->size(), 7u);
    EXPECT_EQ(extents->front().begin, **oldest);
    EXPECT_EQ(extents->back().end, until);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < extents->size(); ++i) {
      EXPECT_EQ(i == 0 ? **oldest : (*extents)[i - 1].end, (*extents)[i].begin);
      sum += (*extents)[i].bytes;
    }
    if (shelf == Shelf::kRaw) {
      EXPECT_GT(sum, 50 * (100 << 10) * 3 / 4u);
      EXPECT_LT(sum, 50 * (100 << 10) * 5 / 4u);
    }
    EXPECT_TRUE(archive->extents(shelf, LevelIndex(0), **oldest, 7)->empty());
  }
  EXPECT_TRUE(archive->extents(Shelf::kSlices, LevelIndex(9), TimeNs(0), 7)->empty());
  EXPECT_GT(archive->disk_use()->archive, 10u << 20);
}

}  // namespace retention_test
}  // namespace margay::store
