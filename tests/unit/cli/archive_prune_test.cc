// What `margay archive prune`, `compact` and `rm` do to archives, and what they leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "../store/store_support.h"
#include "archive/archive_change.h"
#include "archive/archive_check.h"
#include "archive/archive_facts.h"
#include "typed.h"

namespace margay::daemon {
namespace archive_prune_test {

using store::Archive;
using store::Cut;
using store::testing::random_column;
using test::TemporaryFolder;
using testing::HasSubstr;

constexpr DurationNs kFine = milliseconds(100), kCoarse = seconds(1);
constexpr std::int64_t kSlices = 1000;  // 100 s

class ArchivePrune : public testing::Test {
 protected:
  // 100 s of slices at two levels, raw events and reports, each second one block and one report.
  std::string make(const std::string& name, bool ended) {
    store::RunMeta run = store::testing::example_run();
    run.begin = TimeNs(0);
    run.levels = {kFine, kCoarse};
    auto archive = Archive::create(dir_ / name, run);
    EXPECT_TRUE(archive) << archive.error().message;
    std::mt19937_64 random(3);
    for (std::int64_t s = 0; s < kSlices / 10; ++s) {
      Cut cut;
      cut.sequence = static_cast<std::uint64_t>(s) + 1;
      for (std::int64_t i = 0; i < 10; ++i)
        cut.columns.push_back(random_column(random, LevelIndex(0), SliceIndex(s * 10 + i), 64, 3, kFine));
      cut.columns.push_back(random_column(random, LevelIndex(1), SliceIndex(s), 64, 3, kCoarse));
      std::string noise(20'000, '\0');
      for (char& b : noise) b = static_cast<char>(random());
      const TimeNs begin = TimeNs(0) + seconds(s);
      cut.raw = {{LeafIndex(0), static_cast<std::uint64_t>(s), begin, begin + milliseconds(900), 9, noise}};
      cut.report = store::ReportRecord{begin, "a report"};
      cut.closed = {{LevelIndex(0), SliceIndex(s * 10 + 9)}, {LevelIndex(1), SliceIndex(s)}};
      if (s == 0) {
        for (std::uint32_t l = 0; l < 64; ++l) cut.leaves.push_back({LeafIndex(l), SourceId(l), 0, {}});
        cut.alerts = {{"a1", "{}", "resolved"}};
        cut.phases = {{0, "A", "", begin, begin, 1, true}};
      }
      if (s == kSlices / 10 - 1 && ended) {
        cut.run = run;
        cut.run->end = TimeNs(kSlices * kFine.value);
      }
      EXPECT_TRUE((*archive)->commit(cut, false));
    }
    return dir_ / name;
  }
  static Pruned prune(const std::string& path, const PruneRules& rules) {
    const auto pruned = prune_archive(path, rules);
    EXPECT_TRUE(pruned) << pruned.error().message;
    return pruned.value_or(Pruned());
  }
  struct Left {
    std::int64_t fine, coarse, raw, reports;
    bool operator==(const Left&) const = default;
    friend std::ostream& operator<<(std::ostream& o, const Left& l) {
      return o << l.fine << " " << l.coarse << " " << l.raw << " " << l.reports;
    }
  };
  // How many of each there are; what is left must be whole, alerts and phases are there.
  static Left left(const std::string& path) {
    const auto archive = Archive::open(path, store::Mode::kReadOnly);
    EXPECT_TRUE(archive) << archive.error().message;
    const auto check = check_archive(**archive, {});
    EXPECT_EQ(check->damages, 0u) << testing::PrintToString(check->damaged);
    EXPECT_EQ((*archive)->alerts()->size(), 1u);
    EXPECT_EQ((*archive)->phases()->size(), 1u);
    const auto count = [&](LevelIndex level) -> std::int64_t {
      const auto kept = (*archive)->column_range(level);
      return *kept ? (*kept)->second.value - (*kept)->first.value + 1 : 0;
    };
    return {count(LevelIndex(0)), count(LevelIndex(1)), static_cast<std::int64_t>(check->raw_blocks),
            static_cast<std::int64_t>(check->reports)};
  }

  TemporaryFolder dir_;
};

TEST_F(ArchivePrune, EachGoesAtItsAgeAndADryRunChangesNothing) {
  const std::string path = make("a", true);
  PruneRules rules;
  rules.keep_raw = seconds(10);
  rules.keep_reports = seconds(20);
  rules.keep_levels = {{kFine, seconds(30)}, {kCoarse, seconds(50)}};
  rules.dry_run = true;
  const Pruned would = prune(path, rules);
  EXPECT_EQ(left(path), (Left{1000, 100, 100, 100}));
  rules.dry_run = false;
  const Pruned done = prune(path, rules);
  EXPECT_EQ(left(path), (Left{300, 50, 10, 20}));
  ASSERT_EQ(would.gone.size(), 4u);
  ASSERT_EQ(done.gone.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(would.gone[i].shelf, done.gone[i].shelf);
    EXPECT_EQ(would.gone[i].before, done.gone[i].before);
    EXPECT_EQ(would.gone[i].slices, done.gone[i].slices);
  }
  EXPECT_EQ(done.gone[2].slices, 700u);
  EXPECT_LT(done.bytes_after, done.bytes_before);
  const std::string text = pruned_text(path, done, rules);
  for (const char* part : {"raw events before 1970-01-01 ", "slices of 100 ms before", "are gone, 700"})
    EXPECT_THAT(text, HasSubstr(part));
  const auto json = nlohmann::json::parse(pruned_json(path, done, rules));
  EXPECT_EQ(json["gone"][0]["what"], "raw");
  EXPECT_EQ(json["gone"][0]["before_ns"], 90'000'000'000);
  EXPECT_EQ(json["gone"][3]["slice_ns"], kCoarse.value);
  EXPECT_TRUE(json["size_reached"]);
  // Again: all of it has gone.
  const Pruned again = prune(path, rules);
  EXPECT_TRUE(again.gone.empty());
  EXPECT_THAT(pruned_text(path, again, rules), HasSubstr("nothing is as old as that"));
}

TEST_F(ArchivePrune, OfARunThatHasNotEndedTheFloorStays) {
  PruneRules rules;
  rules.keep_raw = seconds(0);
  rules.keep_levels = {{kFine, seconds(0)}, {kCoarse, seconds(0)}};
  const std::string open = make("open", false);
  prune(open, rules);
  EXPECT_EQ(left(open), (Left{256 + 128, 100, 0, 100})) << "256 coarse ones there are not";
  const std::string ended = make("ended", true);
  prune(ended, rules);
  EXPECT_EQ(left(ended), (Left{1, 1, 0, 100}));
}

TEST_F(ArchivePrune, ToASizeTheOldestGoesRawEventsFirst) {
  const std::string path = make("a", true);
  PruneRules rules;
  rules.to_size = 2'000'000;
  rules.dry_run = true;
  const Pruned would = prune(path, rules);
  EXPECT_TRUE(would.enough);
  EXPECT_LE(would.bytes_after, 2'000'000u);
  EXPECT_EQ(left(path), (Left{1000, 100, 100, 100}));
  rules.dry_run = false;
  const Pruned done = prune(path, rules);
  EXPECT_TRUE(done.enough) << done.bytes_after << " of " << done.bytes_before;
  EXPECT_LE(archive_facts(path)->bytes, 2'000'000u);
  const Left some = left(path);
  EXPECT_GT(some.raw, 0);
  EXPECT_LT(some.raw, 60);
  EXPECT_EQ(some.fine, 1000) << "raw events were enough";
  rules.to_size = 1;
  const Pruned least = prune(path, rules);
  EXPECT_FALSE(least.enough);
  EXPECT_LE(left(path).raw, 1) << "the newest block may stay";
  EXPECT_GE(left(path).fine, 1);
  EXPECT_THAT(pruned_text(path, least, rules), HasSubstr("1 B were not reached"));
}

TEST_F(ArchivePrune, WhatMakesNoSenseIsRefusedAndChangesNothing) {
  const std::string path = make("a", true);
  PruneRules rules;
  rules.keep_levels = {{kCoarse, seconds(5)}};
  auto refused = prune_archive(path, rules);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("slices of 100 ms would be kept for longer than the coarser"));
  rules.keep_levels = {{seconds(7), seconds(5)}};
  refused = prune_archive(path, rules);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("has no slices of 7 s; its levels are 100 ms, 1 s"));
  EXPECT_EQ(left(path), (Left{1000, 100, 100, 100}));
  const auto writer = Archive::open(path, store::Mode::kWrite);
  rules.keep_levels.clear();
  rules.keep_raw = seconds(0);
  refused = prune_archive(path, rules);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
}

TEST_F(ArchivePrune, OptionsAreCheckedAndNamed) {
  ArchiveRequest r;
  const auto said = [&] {
    const auto rules = prune_rules(r);
    return rules ? "" : rules.error().message;
  };
  EXPECT_THAT(said(), HasSubstr("nothing to prune by"));
  r.keep_raw = "7x";
  EXPECT_THAT(said(), HasSubstr("--keep-raw: '7x' is not a duration"));
  r.keep_raw = "0";
  r.keep_levels = {"100ms"};
  EXPECT_THAT(said(), HasSubstr("expected SLICE=AGE"));
  r.keep_levels = {"100ms=7d", "1s=-3"};
  EXPECT_THAT(said(), HasSubstr("--keep-level 1s=-3"));
  r.keep_levels = {"100ms=7d"};
  r.to_size = "2MB";
  EXPECT_THAT(said(), HasSubstr("--to-size: '2MB' is not a size"));
  r.to_size = "2MiB";
  EXPECT_EQ(said(), "");
  EXPECT_EQ(prune_rules(r)->keep_levels.front(), std::pair(kFine, seconds(7 * 86'400)));
  EXPECT_EQ(prune_rules(r)->to_size, 2u << 20);
}

TEST_F(ArchivePrune, TheCommandsAsTheyAreTyped) {
  const std::string path = make("a", true), other = make("b", true);
  const auto run = [](std::vector<std::string> words) {
    return run_typed(add_archive_command, archive_command, std::move(words));
  };
  EXPECT_EQ(run({"prune", path, "--keep-raw", "5s"}), 0);
  EXPECT_EQ(left(path).raw, 5);
  EXPECT_EQ(run({"compact", path}), 0);
  EXPECT_EQ(left(path), (Left{1000, 100, 5, 100}));
  EXPECT_EQ(run({"compact", dir_ / "missing"}), 2);
  // The tests' standard input is no terminal, or nobody answers: then nothing goes.
  if (isatty(STDIN_FILENO) == 0) {
    EXPECT_EQ(run({"rm", path}), 2);
    EXPECT_TRUE(is_archive(path));
  }
  EXPECT_EQ(run({"rm", "--force", path, dir_ / "missing", other}), 2);
  EXPECT_FALSE(is_archive(path));
  EXPECT_FALSE(is_archive(other)) << "one that is not there does not hold up the others";
}

}  // namespace archive_prune_test
}  // namespace margay::daemon
