// What `margay archive` says of archives that are whole, and of some that are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "../store/store_support.h"
#include "archive/archive_output.h"

namespace margay::daemon {
namespace archive_command_test {

using store::Archive;
using store::Cut;
using store::testing::example_run;
using store::testing::random_column;
using test::TemporaryFolder;
using testing::HasSubstr;

constexpr std::uint32_t kLeaves = 7, kStates = 5;
constexpr DurationNs kSlice = milliseconds(100);

// Slices 0 to 19 of the finest level, all but the last closed; two alerts, three phases, raw events.
Cut whole_cut(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Cut c;
  c.sequence = 1;
  for (std::int64_t s = 0; s < 20; ++s)
    c.columns.push_back(random_column(random, LevelIndex(0), SliceIndex(s), kLeaves, kStates, kSlice));
  c.states = {{StateId(3), {"MPI_Send", model::StateFamily::kPointToPoint}},
              {StateId(4), {"MPI_Wait", model::StateFamily::kWait}}};
  for (std::uint32_t l = 0; l < kLeaves; ++l) c.leaves.push_back({LeafIndex(l), SourceId(l), 0, {}});
  store::StreamRecord stream;
  stream.source = SourceId(1);
  stream.produced = 100;
  stream.modelled = 90;
  stream.late_dropped = 3;
  stream.probe_dropped = 7;
  c.streams = {stream};
  c.closed = {{LevelIndex(0), SliceIndex(18)}};
  c.alerts = {{"a1", R"({"id":"a1"})", "firing"}, {"a2", R"({"id":"a2"})", "resolved"}};
  c.phases = {{0, "A", "", TimeNs(0), TimeNs(5), 1, false},
              {1, "B", "", TimeNs(5), TimeNs(9), 1, false},
              {2, "A", "", TimeNs(9), TimeNs(12), 2, true}};
  c.raw = {{LeafIndex(0), 0, TimeNs(10), TimeNs(90), 3, "columns"}};
  c.report = store::ReportRecord{TimeNs(600'000'000), "a report"};
  return c;
}

class ArchiveCommand : public testing::Test {
 protected:
  std::string make(const std::string& name, const Cut& cut) {
    const auto archive = Archive::create(dir_ / name, example_run());
    EXPECT_TRUE(archive) << archive.error().message;
    const auto ok = (*archive)->commit(cut, true);
    EXPECT_TRUE(ok) << ok.error().message;
    return dir_ / name;
  }
  static ArchiveCheck check(const std::string& path) {
    const auto archive = Archive::open(path, store::Mode::kReadOnly);
    EXPECT_TRUE(archive);
    const auto found = check_archive(**archive, {});
    EXPECT_TRUE(found) << found.error().message;
    return *found;
  }

  TemporaryFolder dir_;
};

TEST_F(ArchiveCommand, FactsAreWhatWasCommitted) {
  const auto facts = archive_facts(make("a", whole_cut(1)));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->run, example_run());
  EXPECT_EQ(facts->leaves, kLeaves);
  EXPECT_EQ(facts->states.size(), kStates);
  ASSERT_EQ(facts->levels.size(), 3u);
  EXPECT_EQ(facts->levels[0].kept, std::pair(SliceIndex(0), SliceIndex(19)));
  EXPECT_EQ(facts->levels[1].kept, std::nullopt);
  EXPECT_EQ(facts->until, TimeNs(20 * kSlice.value));
  EXPECT_EQ(facts->phases, 3u);
  EXPECT_THAT(facts->phase_names, testing::ElementsAre("A", "B"));
  EXPECT_EQ(facts->alerts.at("firing"), 1u);
  EXPECT_EQ(facts->alerts.at("resolved"), 1u);
  EXPECT_EQ(facts->events.produced, 100u);
  EXPECT_EQ(facts->raw_from, TimeNs(10));
  EXPECT_GT(facts->bytes, 0u);

  const std::string text = info_text(*facts);
  for (const char* part : {"job-4711, not ended", "mpirun -np 64 ./app", "20, the last 2", "MPI_Send",
                           "3: A, B", "2, 1 firing, 1 resolved", "10 lost: 7 dropped", "3 too late"})
    EXPECT_THAT(text, HasSubstr(part));
  const auto json = nlohmann::json::parse(info_json(*facts));
  EXPECT_EQ(json["levels"][0]["last"], 19);
  EXPECT_EQ(json["events"]["probe_dropped"], 7);
  EXPECT_EQ(json["cells"], "exact");
  EXPECT_FALSE(json.contains("newest_cells")) << "for info alone: it reads slices";
  EXPECT_FALSE(json.contains("end_ns"));
  EXPECT_THAT(text, HasSubstr(" on, times exact to 1ns"));
  EXPECT_EQ(json["raw_resolution_ns"], 1);
  // What the run lost in precision is said.
  ArchiveFacts rounded = *facts;
  rounded.raw_resolution = DurationNs(16);
  EXPECT_THAT(info_text(rounded), HasSubstr(" on, times rounded down to 16ns"));
}

TEST_F(ArchiveCommand, InfoTellsWhatACellTakes) {
  const auto facts = archive_facts_counted(make("counted", whole_cut(1)));
  ASSERT_TRUE(facts) << facts.error().message;
  ASSERT_TRUE(facts->newest);
  EXPECT_EQ(facts->newest->slices, 20u);
  EXPECT_GT(facts->newest->cells, 0u);
  EXPECT_GT(facts->newest->bytes, 0u);
  EXPECT_THAT(info_text(*facts), HasSubstr("exact to the nanosecond; "));
  EXPECT_THAT(info_text(*facts), HasSubstr(" bytes each in the newest 20 slices"));
  EXPECT_EQ(nlohmann::json::parse(info_json(*facts))["newest_cells"]["slices"], 20);
}

TEST_F(ArchiveCommand, ListShowsWhatCannotBeRead) {
  std::vector<ListedArchive> list;
  list.push_back({"a", *archive_facts(make("a", whole_cut(2))), {}});
  list.push_back({"b", std::nullopt, "b: written by a newer Margay"});
  const std::string text = list_text(list);
  EXPECT_THAT(text, HasSubstr("job-4711"));
  EXPECT_THAT(text, HasSubstr("written by a newer Margay"));
  EXPECT_EQ(nlohmann::json::parse(list_json(list))[1]["problem"], "b: written by a newer Margay");
  EXPECT_THAT(list_text({}), HasSubstr("no archives here"));
}

TEST_F(ArchiveCommand, WholeArchiveIsWhole) {
  const ArchiveCheck found = check(make("a", whole_cut(3)));
  EXPECT_EQ(found.damages, 0u) << testing::PrintToString(found.damaged);
  EXPECT_EQ(found.slices, 20u);
  EXPECT_GE(found.cells, 19u * kLeaves);
  EXPECT_EQ(found.raw_events, 3u);
  EXPECT_EQ(found.reports, 1u);
  EXPECT_THAT(check_text("a", found), HasSubstr("whole"));
}

TEST_F(ArchiveCommand, DamageIsToldWithItsPlace) {
  Cut hole = whole_cut(4);
  hole.columns.erase(hole.columns.begin() + 5, hole.columns.begin() + 7);
  Cut sum = whole_cut(5);
  auto changed = std::make_shared<model::SliceColumn>(*sum.columns[8]);
  changed->duration_ns(LeafIndex(3))[0] += 1;
  sum.columns[8] = changed;
  Cut open = whole_cut(6);  // the same in a slice that is still open is no damage
  changed = std::make_shared<model::SliceColumn>(*open.columns[19]);
  changed->duration_ns(LeafIndex(3))[0] += 1;
  open.columns[19] = changed;
  Cut leaf = whole_cut(7);
  leaf.raw[0].leaf = LeafIndex(kLeaves);
  Cut phase = whole_cut(8);
  phase.phases[2].begin = TimeNs(3);
  Cut account = whole_cut(9);
  account.streams[0].modelled = 95;

  struct Case {
    const char* name;
    const Cut& cut;
    const char* said;
  };
  for (const Case& c :
       {Case{"hole", hole, "level 0, slice 5: it and those up to 7 are missing"},
        Case{"sum", sum, "level 0, slice 8, leaf 3: its times sum to 100000001 ns, not 100000000"},
        Case{"open", open, ""}, Case{"leaf", leaf, "raw block of leaf 7"}, Case{"phase", phase, "phase 2"},
        Case{"account", account, "source 1, stream 0"}}) {
    SCOPED_TRACE(c.name);
    const ArchiveCheck found = check(make(c.name, c.cut));
    EXPECT_EQ(found.damages, *c.said == 0 ? 0u : 1u) << testing::PrintToString(found.damaged);
    EXPECT_THAT(check_text(c.name, found), HasSubstr(*c.said == 0 ? "whole" : c.said));
  }
}

TEST_F(ArchiveCommand, ImpossibleNumbersAreShownAndFound) {
  // What no run writes, but a file can say: slices and durations at the ends of the numbers.
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  std::mt19937_64 random(12);
  Cut cut = whole_cut(12);
  cut.run = example_run();
  cut.run->begin = TimeNs(kLeast);
  cut.run->end = TimeNs(kMost);
  cut.run->levels = {DurationNs(kMost)};
  cut.columns.clear();
  for (const std::int64_t s : {kLeast, std::int64_t{0}, kMost - 1}) {
    // Of a possible slice, and said to be of an impossible one.
    const auto column = random_column(random, LevelIndex(0), SliceIndex(0), kLeaves, kStates, kSlice);
    column->index = SliceIndex(s);
    cut.columns.push_back(column);
  }
  auto full = std::make_shared<model::SliceColumn>(*cut.columns[1]);
  for (std::int64_t& ns : full->duration_ns(LeafIndex(2))) ns = kMost;
  cut.columns[1] = full;
  cut.raw.clear();
  cut.closed = {{LevelIndex(0), SliceIndex(kMost)}};
  cut.streams[0].modelled = ~std::uint64_t{0};
  cut.streams.push_back(cut.streams[0]);
  cut.streams[1].stream = 1;
  const std::string path = make("a", cut);
  const ArchiveCheck found = check(path);
  // Rows of three slices, two holes, two streams.
  EXPECT_EQ(found.damages, 3u * kLeaves + 2 + 2) << testing::PrintToString(found.damaged);
  const auto facts = archive_facts(path);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->until, TimeNs(kMost));
  EXPECT_EQ(facts->events.modelled, ~std::uint64_t{0});
  EXPECT_EQ(facts->events.produced, 200u);
  EXPECT_THAT(info_text(*facts), HasSubstr("9,223,372,036,854,775,807, the last 106751 d"));
  EXPECT_EQ(nlohmann::json::parse(info_json(*facts))["events"]["modelled"], ~std::uint64_t{0});
  EXPECT_THAT(list_text({{path, *facts, {}}}), HasSubstr("job-4711"));
}

TEST_F(ArchiveCommand, DamageBeyondTheListIsCounted) {
  Cut cut = whole_cut(10);
  for (auto& column : cut.columns) {
    auto changed = std::make_shared<model::SliceColumn>(*column);
    for (std::uint32_t l = 0; l < kLeaves; ++l) changed->duration_ns(LeafIndex(l))[0] -= 1'000'000'000;
    column = changed;
  }
  const ArchiveCheck found = check(make("a", cut));
  EXPECT_EQ(found.damages, 19u * kLeaves);
  EXPECT_EQ(found.damaged.size(), ArchiveCheck::kMostListed);
  EXPECT_THAT(check_text("a", found), HasSubstr("and 113 more"));
}

TEST_F(ArchiveCommand, WhatIsNoArchiveIsRefused) {
  EXPECT_FALSE(is_archive(dir_ / "missing"));
  EXPECT_FALSE(archive_facts(dir_ / "missing"));
  const std::string path = make("a", whole_cut(11));
  EXPECT_TRUE(is_archive(path));
  const auto writer = Archive::open(path, store::Mode::kWrite);
  ASSERT_TRUE(writer);
  const auto facts = archive_facts(path);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::kUnavailable);
}

}  // namespace archive_command_test
}  // namespace margay::daemon
