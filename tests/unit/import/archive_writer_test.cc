// The archive that becomes of a trace: what is in it, and that there never is half of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "../store/store_support.h"
#include "cells.h"
#include "margay/import/archive_writer.h"
#include "margay/slicer/levels.h"
#include "margay/slicer/slicer.h"
#include "margay/wire/columns.h"
#include "rig.h"

namespace margay::trace::testing {
namespace archive_writer_test {

using store::Archive;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Writing : public ::testing::Test {
 protected:
  static ArchiveWriter::Options options(DurationNs slice = milliseconds(100)) {
    ArchiveWriter::Options o;
    o.run.run = "t";
    for (const int n : {1, 10, 100, 600}) o.run.levels.push_back(slice * n);
    return o;
  }
  // Imports a text; the archive is at dir_ / "a".
  Result<ArchiveWriter::Outcome> import(const std::string& text, ArchiveWriter::Options o = options()) {
    auto writer = ArchiveWriter::create(dir_ / "a", std::move(o));
    if (!writer) return tl::unexpected(writer.error());
    const auto counts = read(text, **writer);
    if (!counts) return tl::unexpected(counts.error());
    return (*writer)->finish(counts->late, counts->rejected);
  }
  std::unique_ptr<Archive> open() {
    auto archive = Archive::open(dir_ / "a", store::Mode::kReadOnly);
    EXPECT_TRUE(archive) << archive.error().message;
    return std::move(*archive);
  }
  // Nanoseconds by state of one leaf in one slice.
  static std::map<std::string, std::int64_t> row(const store::Resume& all, const model::SliceColumn& c,
                                                 LeafIndex leaf) {
    std::map<std::string, std::int64_t> out;
    for (std::uint16_t s = 0; s < c.states(); ++s)
      if (c.duration_ns(leaf)[s] != 0) out[all.states[StateId(s)].name] = c.duration_ns(leaf)[s];
    return out;
  }

  test::TemporaryFolder dir_;
};

TEST_F(Writing, TheRunBeginsWhereItsFirstSliceDoes) {
  const auto outcome = import(header() +
                              "0 P 0 Program\n0 T P Thread\n1 S T State\n"
                              "6 3.47 p P 0 prog\n6 3.47 t T p one\n9 3.55 S t s\n7 4.46 T t\n");
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->begin, TimeNs(3'470'000'000));
  const auto all = open()->load();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->run.begin, TimeNs(3'400'000'000));
}

TEST_F(Writing, CellsStatesLeavesAndTheRun) {
  const auto outcome =
      import(start() + "9 0.05 S t s\n9 0.25 S t x\n10 0.27 S t\n10 0.3 S t\n9 1.45 S u s\n7 1.46 T t\n");
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto archive = open();
  const auto all = archive->load();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->run.begin, TimeNs(0));
  EXPECT_EQ(all->run.end, TimeNs(1'460'000'000));
  EXPECT_EQ(all->run.exit_code, 0);
  ASSERT_EQ(all->leaves.size(), 2u);
  EXPECT_EQ(all->leaves[0].attributes.at("path2"), "one");
  const auto fine = archive->read_columns(LevelIndex(0), SliceIndex(-10), SliceIndex(100));
  ASSERT_TRUE(fine);
  ASSERT_EQ(fine->size(), 15u);
  using Row = std::map<std::string, std::int64_t>;
  EXPECT_EQ(row(*all, (*fine)[0], LeafIndex(0)), (Row{{"None", 50'000'000}, {"Send", 50'000'000}}));
  EXPECT_EQ(row(*all, (*fine)[2], LeafIndex(0)), (Row{{"Send", 80'000'000}, {"x", 20'000'000}}));
  EXPECT_EQ(row(*all, (*fine)[3], LeafIndex(0)), (Row{{"None", 100'000'000}}));
  EXPECT_EQ(row(*all, (*fine)[14], LeafIndex(0)), (Row{{"None", 60'000'000}, {"Absent", 40'000'000}}));
  EXPECT_EQ(row(*all, (*fine)[14], LeafIndex(1)),
            (Row{{"None", 50'000'000}, {"Send", 10'000'000}, {"Absent", 40'000'000}}));
  EXPECT_FALSE((*fine)[3].provisional);
  // Coarser levels reach to their slice's end, and say Absent behind the trace's.
  for (const auto& [level, slices] : {std::pair{1, 2u}, std::pair{2, 1u}, std::pair{3, 1u}}) {
    const auto coarse =
        archive->read_columns(LevelIndex(static_cast<std::uint8_t>(level)), SliceIndex(-10), SliceIndex(100));
    ASSERT_TRUE(coarse);
    ASSERT_EQ(coarse->size(), slices) << level;
    for (const auto& c : *coarse)
      for (std::uint32_t l = 0; l < 2; ++l) {
        const auto cells = c.duration_ns(LeafIndex(l));
        EXPECT_EQ(std::accumulate(cells.begin(), cells.end(), std::int64_t{0}),
                  all->run.levels[static_cast<std::size_t>(level)].value);
      }
  }
}

TEST_F(Writing, RawEventsAndTheirNamesAreKept) {
  const std::string text =
      start() + "9 0.05 S t s\n12 0.1 V t 2.5\n15 0.1 E u \"a b\"\n16 0.2 L p t m k\n17 0.3 L p u m k\n";
  ASSERT_TRUE(import(text));
  Notebook book;
  ASSERT_TRUE(read(text, book));
  const auto archive = open();
  const auto all = archive->load();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->sources.size(), 1u);
  const store::SourceRecord& source = all->sources[0];
  std::vector<std::string> names;
  for (const StateId id : source.names) names.push_back(all->states[id].name);
  for (const auto& t : source.texts) names[t.index] = t.text;
  ASSERT_EQ(names.size(), book.names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(names[i], book.names[i].text);
  EXPECT_EQ(names[2], "Heat");
  EXPECT_EQ(names[3], "Signal\na b");
  std::size_t kept = 0;
  std::uint64_t modelled = 0;
  for (std::uint32_t leaf = 0; leaf < 2; ++leaf)
    ASSERT_TRUE(archive->read_raw(LeafIndex(leaf), TimeNs(-1), TimeNs(1 << 30), [&](store::RawBlock&& b) {
      std::vector<EventRecord> records;
      EXPECT_TRUE(wire::decode_columns_untrusted(b.columns, b.count, records));
      for (const EventRecord& r : records) {
        const std::string line = book.line(LeafIndex(leaf), r);
        EXPECT_NE(std::find(book.lines.begin(), book.lines.end(), line), book.lines.end()) << line;
        ++kept;
      }
      return true;
    }));
  EXPECT_EQ(kept, book.lines.size());
  for (const auto& s : all->streams) {
    EXPECT_EQ(s.produced, s.modelled);
    modelled += s.modelled;
  }
  EXPECT_EQ(modelled, kept);
}

TEST_F(Writing, WithoutRawEventsTheCellsAreTheSame) {
  auto o = options();
  o.raw = false;
  ASSERT_TRUE(import(start() + "9 0.05 S t s\n8 0.7 S u s\n", std::move(o)));
  const auto archive = open();
  bool any = false;
  ASSERT_TRUE(archive->read_raw(std::nullopt, TimeNs(-1), TimeNs(1 << 30),
                                [&](store::RawBlock&&) { return any = true; }));
  EXPECT_FALSE(any);
  EXPECT_EQ(archive->read_columns(LevelIndex(0), SliceIndex(0), SliceIndex(99))->size(), 8u);
}

TEST_F(Writing, TimesBelowZeroAndFarFromIt) {
  const auto outcome = import(header() + "0 T 0 T\n1 S T S\n6 -1.25 t T 0 t\n8 -0.5 S t a\n8 0.5 S t b\n");
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->begin, TimeNs(-1'250'000'000));
  EXPECT_EQ(outcome->slices, 19u);
  const auto range = open()->column_range(LevelIndex(0));
  EXPECT_EQ(*range, std::pair(SliceIndex(-13), SliceIndex(5)));
}

TEST_F(Writing, WhatWasRejectedIsInTheAccount) {
  auto writer = ArchiveWriter::create(dir_ / "a", options());
  ASSERT_TRUE(writer);
  ReadOptions keep;
  keep.keep_going = true;
  const auto counts = read(start() + "9 1 S t a\n9 0.5 S t b\n9 2 S nobody b\n", **writer, keep);
  ASSERT_TRUE(counts);
  const auto outcome = (*writer)->finish(counts->late, counts->rejected);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->late_dropped, 1u);
  EXPECT_EQ(outcome->rejected, 1u);
  EXPECT_EQ(outcome->produced, outcome->modelled + 2);
  const auto all = open()->load();
  std::uint64_t produced = 0, accounted = 0;
  for (const auto& s : all->streams) {
    produced += s.produced;
    accounted += s.modelled + s.late_dropped + s.rejected;
  }
  EXPECT_EQ(produced, outcome->produced);
  EXPECT_EQ(accounted, produced);
}

TEST_F(Writing, AProducerThatBreaksItsPromisesLosesOnlyWhatItBroke) {
  auto writer = ArchiveWriter::create(dir_ / "a", options());
  ASSERT_TRUE(writer);
  ArchiveWriter& w = **writer;
  const auto record = [](std::int64_t ms, std::uint8_t kind, std::uint16_t name) {
    EventRecord r{};
    r.time_ns = ms * 1'000'000;
    r.kind = kind;
    r.state = name;
    return r;
  };
  const auto give = [&](LeafIndex leaf, const EventRecord& r) {
    return w.on_records(leaf, std::span(&r, 1));
  };
  EXPECT_FALSE(w.on_name(3, {Name::Kind::kState, "x", {}}));
  ASSERT_TRUE(w.on_name(0, {Name::Kind::kState, "x", {}}));
  EXPECT_FALSE(w.on_leaf(LeafIndex(1), {}));
  EXPECT_FALSE(w.on_leaf(LeafIndex(0), {{}, 1}));
  ASSERT_TRUE(w.on_leaf(LeafIndex(0), {}));
  EXPECT_FALSE(give(LeafIndex(1), record(0, MARGAY_ENTER, 0)));
  EXPECT_FALSE(give(LeafIndex(0), record(0, MARGAY_ENTER, 1)));
  // No begin: the first record makes the leaf exist, in Compute.
  ASSERT_TRUE(give(LeafIndex(0), record(10, MARGAY_ENTER, 0)));
  ASSERT_TRUE(w.on_covered(TimeNs(500'000'000)));
  EXPECT_TRUE(give(LeafIndex(0), record(300, MARGAY_LEAVE, 0))) << "too late: counted";
  ASSERT_TRUE(give(LeafIndex(0), record(600, MARGAY_LEAVE, 0)));
  ASSERT_TRUE(give(LeafIndex(0), record(650, MARGAY_END, 0)));
  const auto outcome = w.finish(0, 0);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->late_dropped, 1u);
  EXPECT_EQ(outcome->modelled, 3u);
  const auto archive = open();
  const auto all = archive->load();
  const auto fine = archive->read_columns(LevelIndex(0), SliceIndex(0), SliceIndex(9));
  ASSERT_EQ(fine->size(), 7u);
  using Row = std::map<std::string, std::int64_t>;
  EXPECT_EQ(row(*all, (*fine)[3], LeafIndex(0)), (Row{{"x", 100'000'000}}));
  EXPECT_EQ(row(*all, (*fine)[6], LeafIndex(0)), (Row{{"Compute", 50'000'000}, {"Absent", 50'000'000}}));
}

TEST_F(Writing, ATraceThatNeverSaysWhatIsCoveredTakesBoundedMemory) {
  auto o = options();
  o.cell_bytes = (o.run.levels.size() + 2) * 2 * (5 * 20 + 128);  // and no more than four open slices
  auto writer = ArchiveWriter::create(dir_ / "a", o);
  ASSERT_TRUE(writer);
  ArchiveWriter& w = **writer;
  ASSERT_TRUE(w.on_name(0, {Name::Kind::kState, "x", {}}));
  for (std::uint32_t l = 0; l < 2; ++l) ASSERT_TRUE(w.on_leaf(LeafIndex(l), {}));
  const auto give = [&](std::uint32_t leaf, std::int64_t ms, std::uint8_t kind) {
    const EventRecord r{ms * 1'000'000, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, kind, 0};
    return w.on_records(LeafIndex(leaf), std::span(&r, 1)).has_value();
  };
  ASSERT_TRUE(give(0, 0, MARGAY_ENTER) && give(1, 10, MARGAY_ENTER));
  ASSERT_TRUE(give(0, 100'000, MARGAY_LEAVE));
  ASSERT_TRUE(give(1, 50'000, MARGAY_LEAVE)) << "late: its slices are closed";
  ASSERT_TRUE(give(1, 99'950, MARGAY_END)) << "among the last four";
  const auto outcome = w.finish(0, 0);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->late_dropped, 1u);
  EXPECT_EQ(outcome->slices, 1001u);
  const auto archive = open();
  const auto all = archive->load();
  const auto columns = archive->read_columns(LevelIndex(0), SliceIndex(700), SliceIndex(1000));
  using Row = std::map<std::string, std::int64_t>;
  EXPECT_EQ(row(*all, (*columns)[0], LeafIndex(1)), (Row{{"x", 100'000'000}}));
  // What the late record changed is kept from the end of what was closed on: 99.7 s.
  EXPECT_EQ(row(*all, (*columns)[297], LeafIndex(1)), (Row{{"Compute", 100'000'000}}));
  EXPECT_EQ(row(*all, (*columns)[299], LeafIndex(1)), (Row{{"Compute", 50'000'000}, {"Absent", 50'000'000}}));
}

TEST_F(Writing, NothingIsLeftOfAnImportThatFails) {
  const auto outcome = import(start() + "9 1 S t a\n9 9 S t \"" + std::string(200, 'x') + "\"\n");
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("a state's name has 1 to 128 characters"));
  EXPECT_FALSE(fs::exists(dir_ / "a"));
  EXPECT_FALSE(fs::exists(dir_ / "a.partial"));
}

TEST_F(Writing, ATraceWithoutTimeIsNoArchive) {
  const auto outcome = import(header());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "the trace has no event with a time");
  EXPECT_FALSE(fs::exists(dir_ / "a"));
}

TEST_F(Writing, WhatIsThereIsRefusedAndStaysAsItIs) {
  fs::create_directory(dir_ / "a");
  auto writer = ArchiveWriter::create(dir_ / "a/", options());
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().message, dir_ / "a" + ": is there already; expected a new directory");
  fs::remove(dir_ / "a");
  fs::create_directory(dir_ / "a.partial");
  writer = ArchiveWriter::create(dir_ / "a", options());
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message,
              HasSubstr("a.partial: is there already: another import is writing it, or one was killed"));
  EXPECT_TRUE(fs::exists(dir_ / "a.partial"));
}

TEST_F(Writing, WhoComesFirstKeepsTheName) {
  auto writer = ArchiveWriter::create(dir_ / "a", options());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(read(start(), **writer));
  fs::create_directory(dir_ / "a");
  const auto outcome = (*writer)->finish(0, 0);
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(fs::is_empty(dir_ / "a"));
  EXPECT_FALSE(fs::exists(dir_ / "a.partial"));
}

TEST_F(Writing, BoundsOfTheModelAreSentences) {
  auto o = options(DurationNs(1000));
  auto outcome = import(start() + "9 1000 S t a\n", std::move(o));
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("expected a longer --slice"));
  o = options();
  o.cell_bytes = 1024;
  outcome = import(start(), std::move(o));
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("MiB that cells may take"));
  std::string states = start();
  for (int i = 0; i < 1100; ++i) states += "8 1 S t v" + std::to_string(i) + "\n";
  outcome = import(states);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("more than 1024 states"));
}

// Held against slicer::Levels, which holds all that could change.
TEST(CoarseCells, AreThoseOfTheLevels) {
  const std::vector<DurationNs> levels = {milliseconds(100), milliseconds(300), milliseconds(1200)};
  std::mt19937_64 random(5);
  CoarseCells coarse(levels);
  auto judge = slicer::Levels::make(levels, 8);
  ASSERT_TRUE(judge);
  std::vector<model::SliceColumn> mine, theirs;
  for (std::int64_t s = 12; s < 72; ++s) {
    auto column = store::testing::random_column(random, LevelIndex(0), SliceIndex(s), 5, 4, levels[0]);
    column->lost_events = 0;
    coarse.add(*column, mine);
    judge->update(*column, theirs);
  }
  const auto by_place = [](const model::SliceColumn& a, const model::SliceColumn& b) {
    return std::pair(a.level, a.index) < std::pair(b.level, b.index);
  };
  std::sort(mine.begin(), mine.end(), by_place);
  std::sort(theirs.begin(), theirs.end(), by_place);
  ASSERT_EQ(mine.size(), 25u);
  EXPECT_EQ(mine, theirs);
}

}  // namespace archive_writer_test
}  // namespace margay::trace::testing
