// Zooms against sums of what the archive was made from, and what is said of requests that make no sense.
#include "margay/query/zoom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <map>

#include "../../support/temporary_folder.h"
#include "margay/partition/batch.h"
#include "margay/slicer/reslicer.h"
#include "margay/store/archive.h"
#include "margay/wire/columns.h"
#include "partition/partition_command.h"
#include "support/synthetic_archive.h"
#include "support/synthetic_capture.h"

namespace margay::daemon {
namespace zoom_test {

using test::TemporaryFolder;
using testing::HasSubstr;

constexpr DurationNs kSlice = milliseconds(100);

class Zoom : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new TemporaryFolder;
    const auto ok = what_.write(
        path(), [](LeafIndex leaf, const EventRecord& r) { (*records_)[leaf.value].push_back(r); });
    ASSERT_TRUE(ok) << ok.error().message;
  }
  static void TearDownTestSuite() {
    delete dir_;
    delete records_;
  }
  static std::string path() { return *dir_ / "archive"; }
  static ZoomRequest request() {
    ZoomRequest r;
    r.input = path();
    return r;
  }
  static Zoomed zoomed(const ZoomRequest& r) {
    auto z = zoom(r);
    EXPECT_TRUE(z) << z.error().message;
    return z ? std::move(*z) : Zoomed{};
  }
  static Zoomed zoomed_at(const std::string& from, const std::string& to, std::uint32_t slices) {
    ZoomRequest r = request();
    r.from = from;
    r.to = to;
    r.slices = slices;
    return zoomed(r);
  }
  static std::string error_of(const ZoomRequest& r) {
    const auto z = zoom(r);
    return z ? "no error" : z.error().message;
  }
  static TimeNs zero() { return slice_begin(slice_of(test::SyntheticArchive::kBegin, kSlice), kSlice); }

  // All records, from the first on, through a re-slicer (which has its own tests).
  static slicer::Reslicer all_of_it(const Model& m, slicer::Operator op = {}) {
    slicer::Reslicer r({*slicer::Grid::make(m.times->from, m.times->to, m.slices), op, {}});
    for (std::uint32_t i = 0; i < 3 + what_.states; ++i)
      EXPECT_TRUE(r.add_name(slicer::Reslicer::NameKind::kState,
                             i < 3 ? (i == 0   ? "Absent"
                                      : i == 1 ? "Unknown"
                                               : "Compute")
                                   : "S" + std::to_string(i - 2),
                             i < 2 ? model::StateFamily::kAbsent : model::StateFamily::kOther));
    for (std::uint32_t l = 0; l < what_.leaves; ++l) {
      EXPECT_TRUE(r.add_leaf());
      EXPECT_TRUE(r.take(LeafIndex(l), (*records_)[l]));
    }
    EXPECT_TRUE(r.finish(slice_end(slice_of(test::SyntheticArchive::kBegin + what_.lasts, kSlice), kSlice)));
    return r;
  }
  // Ranks are named alike in order of leaves, and hosts hold four each: positions are leaves.
  static void expect_same(const Model& m, const slicer::Reslicer& r, double unit_of_time = 1) {
    ASSERT_EQ(m.leaves(), what_.leaves);
    std::map<std::string, std::size_t> column;
    for (std::size_t c = 0; c < r.columns(); ++c) column[r.column_name(c)] = c;
    for (std::uint32_t k = 0; k < m.slices; ++k) {
      const auto length = static_cast<double>((r.grid().boundary(k + 1) - r.grid().boundary(k)).value);
      for (std::uint32_t l = 0; l < m.leaves(); ++l) {
        const std::size_t row = k * m.leaves() + l;
        for (std::size_t x = 0; x < m.states; ++x)
          EXPECT_NEAR(m.values[row * m.states + x] * m.unit * (unit_of_time > 0 ? length : 1),
                      r.value(LeafIndex(l), k, column.at(m.state_names[x])), 1e-3)
              << "slice " << k << " leaf " << l << " " << m.state_names[x];
        if (unit_of_time > 0) {
          EXPECT_NEAR((1 - m.weights[row]) * length, static_cast<double>(r.not_there(LeafIndex(l), k)), 1e-3)
              << "slice " << k << " leaf " << l;
        }
      }
    }
  }

  static inline const test::SyntheticArchive what_{};
  static inline TemporaryFolder* dir_ = nullptr;
  static inline auto* records_ = new std::map<std::uint32_t, std::vector<EventRecord>>;
};

TEST_F(Zoom, BoundariesOnSlicesReadCellsOnly) {
  for (const auto& [from, to, slices] : {std::tuple("0", "30", 10u), std::tuple("1.1", "28.1", 27u),
                                         std::tuple("0.3s", "21300ms", 7u), std::tuple("5", "5.1", 1u)}) {
    SCOPED_TRACE(from);
    const Zoomed z = zoomed_at(from, to, slices);
    EXPECT_EQ(z.events, 0u);
    EXPECT_TRUE(z.notes.empty());
    EXPECT_EQ(z.model.slices, slices);
    expect_same(z.model, all_of_it(z.model));
  }
}

TEST_F(Zoom, OtherBoundariesReadEventsAndNoMoreThanNeeded) {
  std::uint64_t all = 0;
  for (const auto& [leaf, records] : *records_) all += records.size();
  for (const auto& [from, to, slices] :
       {std::tuple("0", "30", 7u), std::tuple("1.13", "28.1", 30u), std::tuple("20.05", "20.1", 1u),
        std::tuple("13.000000001", "14", 13u)}) {
    SCOPED_TRACE(from);
    const Zoomed z = zoomed_at(from, to, slices);
    EXPECT_GT(z.events, 0u);
    if (slices == 13) {
      EXPECT_LT(z.events, all / 5);
    }
    EXPECT_TRUE(z.notes.empty()) << z.notes.front();
    expect_same(z.model, all_of_it(z.model));
  }
}

TEST_F(Zoom, TheWholeRunIsTheDefault) {
  const Zoomed z = zoomed(request());
  EXPECT_EQ(z.model.slices, ZoomRequest::kUsualSlices);
  EXPECT_EQ(z.model.times->from, zero());
  EXPECT_EQ(z.model.times->to,
            slice_end(slice_of(test::SyntheticArchive::kBegin + what_.lasts, kSlice), kSlice));
  expect_same(z.model, all_of_it(z.model));
}

// The run has 301 slices of 100 ms, of which 43 times seven is the nearest to 30 that leaves no rest; of 291
// no such number is near, and the last slice ends behind the run.
TEST_F(Zoom, WhatWouldTakeLongIsCutWhereTheCellsAre) {
  for (const auto& [from, to, slices, each] :
       {std::tuple("0.2", "", 30u, "1s"), std::tuple("0.4", "", 33u, "900ms"),
        std::tuple("0", "30.1", 43u, "700ms")}) {
    SCOPED_TRACE(from);
    ZoomRequest r = request();
    r.from = from, r.unasked_bytes = 0;
    if (*to != '\0') r.to = to;
    const Zoomed z = zoomed(r);
    EXPECT_EQ(z.events, 0u);
    EXPECT_EQ(z.model.slices, slices);
    ASSERT_EQ(z.notes.size(), 1u);
    EXPECT_THAT(z.notes[0], HasSubstr(std::to_string(slices) + " slices of " + each + ", which fit"));
    expect_same(z.model, all_of_it(z.model));
  }
}

// What is asked for is not changed: a number of slices, boundaries within slices, an end that they do not
// fit.
TEST_F(Zoom, WhatIsAskedForIsReadHoweverLongItTakes) {
  for (const auto& [from, to, slices] :
       {std::tuple("0", "29.9", 30), std::tuple("0.05", "29.95", 0), std::tuple("0", "13.7", 0)}) {
    SCOPED_TRACE(to);
    ZoomRequest r = request();
    r.from = from, r.to = to, r.unasked_bytes = 0;
    if (slices > 0) r.slices = slices;
    const Zoomed z = zoomed(r);
    EXPECT_GT(z.events, 0u);
    EXPECT_EQ(z.model.slices, 30u);
    EXPECT_TRUE(z.notes.empty());
  }
}

TEST_F(Zoom, CountsAreThoseOfTheEvents) {
  ZoomRequest r = request();
  r.from = "2.5";
  r.to = "19.25";
  r.slices = 9;
  for (const char* word : {"occurrences", "bytes", "messages"}) {
    SCOPED_TRACE(word);
    r.op = *slicer::Operator::parse(word);
    const Zoomed z = zoomed(r);
    EXPECT_GT(z.model.unit, 1);
    expect_same(z.model, all_of_it(z.model, r.op), 0);
  }
}

// Visits that began before the range have their own begin; those that go on behind it end with it.
TEST_F(Zoom, LengthsAreThoseOfTheVisitsAlsoOfThoseThatBeganBefore) {
  ZoomRequest r = request();
  r.op = *slicer::Operator::parse("length");
  for (const auto& [from, to, slices] :
       {std::tuple("2.5", "19.25", 9u), std::tuple("13.000000001", "14", 40u),
        std::tuple("7.03", "7.09", 3u)}) {
    SCOPED_TRACE(from);
    r.from = from, r.to = to, r.slices = slices;
    const Zoomed z = zoomed(r);
    const Model& m = z.model;
    slicer::Reslicer all({*slicer::Grid::make(m.times->from, m.times->to, m.slices), r.op, {}});
    for (const char* name : {"Absent", "Unknown", "Compute"})
      ASSERT_TRUE(all.add_name(slicer::Reslicer::NameKind::kState, name, model::StateFamily::kOther));
    for (std::uint32_t i = 1; i <= what_.states; ++i)
      ASSERT_TRUE(all.add_name(slicer::Reslicer::NameKind::kState, "S" + std::to_string(i),
                               model::StateFamily::kOther));
    for (std::uint32_t l = 0; l < what_.leaves; ++l) {
      std::vector<EventRecord> until = (*records_)[l];
      std::erase_if(until, [&](const EventRecord& e) { return e.time_ns >= m.times->to.value; });
      ASSERT_TRUE(all.add_leaf());
      ASSERT_TRUE(all.take(LeafIndex(l), until));
    }
    ASSERT_TRUE(all.finish(m.times->to));
    expect_same(m, all, 0);
  }
  r.states = {"S9x"};
  EXPECT_THAT(error_of(r), HasSubstr("--state 'S9x'"));
}

TEST_F(Zoom, WithoutEventsCellsAreSpreadAndItIsSaid) {
  const TemporaryFolder dir;
  test::SyntheticArchive what;
  what.events = false;
  ASSERT_TRUE(what.write(dir / "a"));
  ZoomRequest r = request();
  r.input = dir / "a";
  r.from = "1.05";
  r.to = "1.15";
  r.slices = 1;
  const Zoomed halves = zoomed(r);
  ASSERT_EQ(halves.notes.size(), 1u);
  EXPECT_THAT(halves.notes[0], HasSubstr("spread in proportion"));
  // Half of each of the two slices that it cuts.
  r.from = "1";
  r.to = "1.2";
  r.slices = 2;
  const Zoomed whole = zoomed(r);
  std::map<std::pair<std::uint32_t, std::string>, double> expected, found;
  for (std::uint32_t l = 0; l < what.leaves; ++l) {
    for (std::uint32_t k = 0; k < 2; ++k)
      for (std::size_t x = 0; x < whole.model.states; ++x)
        expected[{l, whole.model.state_names[x]}] +=
            whole.model.values[(k * what.leaves + l) * whole.model.states + x] / 2;
    for (std::size_t x = 0; x < halves.model.states; ++x)
      found[{l, halves.model.state_names[x]}] = halves.model.values[l * halves.model.states + x];
  }
  for (const auto& [key, v] : expected) EXPECT_NEAR(found[key], v, 1e-7) << key.second;

  r.op = *slicer::Operator::parse("occurrences");
  EXPECT_THAT(error_of(r), HasSubstr("keeps no events of this time"));
  // There is nothing that would take long to read.
  r = request(), r.input = dir / "a", r.unasked_bytes = 0;
  const Zoomed all = zoomed(r);
  EXPECT_EQ(all.model.slices, ZoomRequest::kUsualSlices);
  EXPECT_THAT(all.notes, testing::ElementsAre(HasSubstr("spread in proportion")));
}

TEST_F(Zoom, ALevelByNameGivesItsSlices) {
  ZoomRequest r = request();
  r.level = "1s";
  r.from = "3";
  r.to = "9";
  const Zoomed z = zoomed(r);
  EXPECT_EQ(z.events, 0u);
  EXPECT_EQ(z.model.times->from.value % 1'000'000'000, 0);
  expect_same(z.model, all_of_it(z.model));
  r.level = "3s";
  EXPECT_THAT(error_of(r), HasSubstr("has the levels 100ms, 1s, 10s, 1min"));
}

TEST_F(Zoom, NodesAndStatesAreFiltered) {
  ZoomRequest r = request();
  r.from = "3";
  r.to = "9";
  r.slices = 6;
  const Zoomed all = zoomed(r);
  r.node = "/host1";
  r.states = {"S2", "S5"};
  for (const char* to : {"9", "8.97"}) {  // cells, events
    r.to = to;
    const Zoomed some = zoomed(r);
    EXPECT_EQ(some.model.leaves(), 4u);
    EXPECT_EQ(some.model.state_names, (std::vector<std::string>{"S2", "S5"}));
    EXPECT_EQ(some.model.path(some.model.tree.leaf_node(partition::LeafPosition(0))), "/host1/rank4");
    const auto s2 =
        static_cast<std::size_t>(std::find(all.model.state_names.begin(), all.model.state_names.end(), "S2") -
                                 all.model.state_names.begin());
    if (std::string(to) == "9")
      for (std::size_t k = 0; k < 6; ++k)
        for (std::size_t l = 0; l < 4; ++l) {
          EXPECT_EQ(some.model.values[(k * 4 + l) * 2],
                    all.model.values[(k * 12 + 4 + l) * all.model.states + s2]);
          EXPECT_EQ(some.model.weights[k * 4 + l], all.model.weights[k * 12 + 4 + l]);
        }
  }
}

TEST_F(Zoom, WhatMakesNoSenseIsSaid) {
  const auto with = [](auto change) {
    ZoomRequest r = request();
    change(r);
    return error_of(r);
  };
  for (const char* time : {"x", "", "-3", "1e3", "12.5 s", "@", "@1.5", "3 parsecs", "1.2.3", "99999999999"})
    EXPECT_THAT(with([&](ZoomRequest& r) { r.from = time; }), HasSubstr("--from")) << time;
  EXPECT_THAT(with([](ZoomRequest& r) { r.from = "31"; }), HasSubstr("the run lasted 30.1 s"));
  EXPECT_THAT(with([](ZoomRequest& r) { r.from = "@5"; }), HasSubstr("is before the begin"));
  EXPECT_THAT(with([](ZoomRequest& r) { r.from = r.to = "7"; }), HasSubstr("is empty"));
  EXPECT_THAT(with([](ZoomRequest& r) { r.slices = 2'000'000; }),
              HasSubstr("2000000 slices, at most 1000000"));
  EXPECT_THAT(with([](ZoomRequest& r) {
                r.from = "@" + std::to_string(zero().value);
                r.to = "@" + std::to_string(zero().value + 5);
                r.slices = 6;
              }),
              HasSubstr("more slices (6) than nanoseconds (5)"));
  EXPECT_THAT(with([](ZoomRequest& r) {
                r.slices = 1'000'000;
                r.memory_bytes = 1 << 20;
              }),
              HasSubstr("memory budget"));
  EXPECT_THAT(with([](ZoomRequest& r) { r.states = {"compute"}; }), HasSubstr("did you mean 'Compute'?"));
  EXPECT_THAT(with([](ZoomRequest& r) { r.states = {"nothing at all"}; }), HasSubstr("there is 'Absent'"));
  EXPECT_THAT(with([](ZoomRequest& r) { r.node = "host11"; }), HasSubstr("did you mean '/host1'?"));
  EXPECT_THAT(with([](ZoomRequest& r) {
                r.op = *slicer::Operator::parse("mean:load");
                r.slices = 7;
              }),
              HasSubstr("no such variable"));
  EXPECT_THAT(with([](ZoomRequest& r) { r.input = *dir_ / "nowhere"; }),
              HasSubstr("neither an archive nor a capture"));
  EXPECT_THAT(with([](ZoomRequest& r) { r.input = *dir_ / "."; }), HasSubstr("rchive"));
}

TEST_F(Zoom, TheCommandTellsOperatorsApart) {
  const auto said = [&](PartitionRequest r) {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    const int code = partition_command(r);
    const std::string out = testing::internal::GetCapturedStdout();
    return std::to_string(code) + out + testing::internal::GetCapturedStderr();
  };
  PartitionRequest r;
  r.models = {path()};
  r.json = true;
  r.operators = {"bytes", "temporal"};
  EXPECT_THAT(said(r), testing::AllOf(testing::StartsWith("0{"), HasSubstr(R"("operator":"bytes")")));
  r.operators = {"bytes", "duration"};
  EXPECT_THAT(said(r), HasSubstr("a second one of its kind"));
  r.operators = {"median"};
  EXPECT_THAT(said(r), testing::AllOf(testing::StartsWith("2"),
                                      HasSubstr("expected duration, occurrences, mean:VARIABLE")));
  r.operators = {};
  r.models = {*dir_ / "m.csv"};
  std::ofstream(*dir_ / "m.csv") << "/a,0,x,1\n/b,0,x,1\n";
  EXPECT_THAT(said(r), testing::StartsWith("0{"));
  r.from = "3";
  EXPECT_THAT(said(r), HasSubstr("has its slices already"));
}

// With slices of one level, from then on.
Result<std::unique_ptr<store::Archive>> new_archive(const std::string& path, TimeNs begin) {
  store::RunMeta run;
  run.run = "r";
  run.host = "nowhere";
  run.begin = begin;
  run.levels = {kSlice};
  return store::Archive::create(path, run);
}

// An archive as of an imported trace: trace time, punctual events, a variable.
TEST(ZoomImported, VariablesAndMarksAreMeasured) {
  const TemporaryFolder dir;
  const TimeNs begin(1'000'000'000);
  auto archive = new_archive(dir / "a", begin);
  ASSERT_TRUE(archive) << archive.error().message;
  const auto record = [&](std::uint8_t kind, std::uint16_t name, std::int64_t ms, double value = 0) {
    return EventRecord{begin.value + ms * 1'000'000,
                       std::bit_cast<std::uint64_t>(value),
                       MARGAY_NO_PEER,
                       MARGAY_NO_TAG,
                       0,
                       name,
                       kind,
                       0};
  };
  const std::vector<EventRecord> records = {record(MARGAY_BEGIN, 0, 0),  record(MARGAY_VARIABLE, 1, 0, 2),
                                            record(MARGAY_MARK, 2, 30),  record(MARGAY_VARIABLE, 1, 75, 6),
                                            record(MARGAY_MARK, 2, 130), record(MARGAY_MARK, 2, 131),
                                            record(MARGAY_END, 0, 150)};
  store::Cut cut;
  cut.sequence = 1;
  cut.states = {{StateId(3), {"load", model::StateFamily::kOther}},
                {StateId(4), {"checkpoint", model::StateFamily::kOther}}};
  cut.leaves = {{LeafIndex(0), SourceId(1), 0, {{"host", "h"}}}};
  store::SourceRecord source;
  source.source = SourceId(1);
  source.names = {kCompute, StateId(3), StateId(4)};
  cut.sources = {source};
  for (std::int64_t k = 10; k < 12; ++k)
    cut.columns.push_back(std::make_shared<model::SliceColumn>(LevelIndex(0), SliceIndex(k), 1, 5));
  cut.closed = {{LevelIndex(0), SliceIndex(11)}};
  store::RawBlock block{LeafIndex(0), 0, begin, TimeNs(records.back().time_ns), 7, {}};
  wire::encode_columns(records, block.columns);
  cut.raw = {block};
  ASSERT_TRUE((*archive)->commit(cut, true));
  archive->reset();

  ZoomRequest r;
  r.input = dir / "a";
  r.slices = 2;
  r.op = *slicer::Operator::parse("mean:load");
  const auto mean = zoom(r);
  ASSERT_TRUE(mean) << mean.error().message;
  EXPECT_EQ(mean->model.state_names, std::vector<std::string>{"load"});
  EXPECT_DOUBLE_EQ(mean->model.values[0] * mean->model.unit, (75 * 2 + 25 * 6) / 100.0);
  EXPECT_DOUBLE_EQ(mean->model.values[1] * mean->model.unit, 6);
  r.op = *slicer::Operator::parse("occurrences");
  const auto events = zoom(r);
  ASSERT_TRUE(events) << events.error().message;
  EXPECT_EQ(events->model.state_names, std::vector<std::string>{"checkpoint"});
  EXPECT_DOUBLE_EQ(events->model.values[0] * events->model.unit, 1);
  EXPECT_DOUBLE_EQ(events->model.values[1] * events->model.unit, 2);
  r.op = *slicer::Operator::parse("mean:laod");
  const auto wrong = zoom(r);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("did you mean 'load'?"));
}

// Two programs that fed one leaf, and number their states differently.
TEST(ZoomArchive, EventsBearTheNamesOfTheProgramThatSentThem) {
  const TemporaryFolder dir;
  const TimeNs begin(1'000'000'000);
  auto archive = new_archive(dir / "a", begin);
  ASSERT_TRUE(archive) << archive.error().message;
  store::Cut cut;
  cut.sequence = 1;
  cut.states = {{StateId(3), {"MPI_Send", model::StateFamily::kPointToPoint}},
                {StateId(4), {"MPI_Wait", model::StateFamily::kWait}}};
  cut.leaves = {{LeafIndex(0), SourceId(2), 0, {{"rank", "0"}}}};
  for (const std::uint64_t id : {1, 2}) {
    store::SourceRecord source;
    source.source = SourceId(id);
    source.names = id == 1 ? std::vector{kCompute, StateId(3), StateId(4)}
                           : std::vector{kCompute, StateId(4), StateId(3)};
    cut.sources.push_back(source);
    // 40 ms of its name 1 each, in a slice of its own.
    const std::int64_t at = begin.value + static_cast<std::int64_t>(id - 1) * kSlice.value;
    const std::vector<EventRecord> records = {
        {at, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 1, MARGAY_ENTER, 0},
        {at + 40'000'000, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 1, MARGAY_LEAVE, 0}};
    store::RawBlock block{LeafIndex(0), 0, TimeNs(at), TimeNs(at + 40'000'000), 2, {}, SourceId(id)};
    wire::encode_columns(records, block.columns);
    cut.raw.push_back(block);
  }
  for (std::int64_t k = 10; k < 12; ++k)
    cut.columns.push_back(std::make_shared<model::SliceColumn>(LevelIndex(0), SliceIndex(k), 1, 5));
  cut.closed = {{LevelIndex(0), SliceIndex(11)}};
  ASSERT_TRUE((*archive)->commit(cut, true));
  archive->reset();

  ZoomRequest r;
  r.input = dir / "a";
  r.slices = 4;  // slices of 50 ms: no boundary of the cells, so the events are read
  const auto z = zoom(r);
  ASSERT_TRUE(z) << z.error().message;
  const Model& m = z->model;
  const auto share = [&](std::size_t slice, const std::string& state) {
    const auto s = std::find(m.state_names.begin(), m.state_names.end(), state);
    EXPECT_NE(s, m.state_names.end()) << state;
    const auto x = static_cast<std::size_t>(s - m.state_names.begin());
    return m.values[slice * m.leaves() * m.states + x] * m.unit;
  };
  EXPECT_GT(z->events, 0u);
  EXPECT_NEAR(share(0, "MPI_Send"), 0.8, 1e-9);
  EXPECT_NEAR(share(0, "MPI_Wait"), 0, 1e-9);
  EXPECT_NEAR(share(2, "MPI_Send"), 0, 1e-9);
  EXPECT_NEAR(share(2, "MPI_Wait"), 0.8, 1e-9);
}

// A rank that is inside of some call at the end of every slice: nothing was given up, so its events from the
// first on say all.
TEST(ZoomArchive, OfWholeArchivesEveryRangeIsExact) {
  const TemporaryFolder dir;
  const TimeNs begin(1'000'000'000);
  auto archive = new_archive(dir / "a", begin - milliseconds(500));  // nobody is there yet
  ASSERT_TRUE(archive) << archive.error().message;
  const StateId outer(3), inner(4);
  store::Cut cut;
  cut.sequence = 1;
  cut.states = {{outer, {"MPI_File_write_all", model::StateFamily::kIo}},
                {inner, {"MPI_Wait", model::StateFamily::kWait}}};
  cut.leaves = {{LeafIndex(0), SourceId(1), 0, {{"rank", "0"}}}};
  store::SourceRecord source;
  source.source = SourceId(1);
  source.names = {kCompute, outer, inner};
  cut.sources = {source};
  std::vector<EventRecord> records;
  const auto event = [&](std::int64_t ms, std::uint8_t kind, std::uint16_t name) {
    records.push_back({begin.value + ms * 1'000'000, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, name, kind, 0});
  };
  event(10, MARGAY_ENTER, 1);
  for (const std::int64_t ms : {150, 350}) {
    event(ms, MARGAY_ENTER, 2);
    event(ms + 100, MARGAY_LEAVE, 2);
  }
  event(480, MARGAY_LEAVE, 1);
  store::RawBlock block{
      LeafIndex(0), 0, TimeNs(records.front().time_ns), TimeNs(records.back().time_ns), 6, {}, SourceId(1)};
  wire::encode_columns(records, block.columns);
  cut.raw = {block};
  const model::OpenState open[] = {{outer, begin + milliseconds(10)},
                                   {inner, begin + milliseconds(150)},
                                   {outer, begin + milliseconds(250)},
                                   {inner, begin + milliseconds(350)},
                                   {kCompute, begin + milliseconds(480)}};
  for (std::int64_t k = -5; k < 5; ++k) {
    auto column = std::make_shared<model::SliceColumn>(LevelIndex(0), SliceIndex(10 + k), 1, 5);
    if (k >= 0) column->open(LeafIndex(0)) = open[k];
    cut.columns.push_back(column);
  }
  cut.closed = {{LevelIndex(0), SliceIndex(14)}};
  ASSERT_TRUE((*archive)->commit(cut, true));
  archive->reset();

  ZoomRequest r;
  r.input = dir / "a";
  r.from = "0.86";
  r.to = "0.97";
  r.slices = 11;
  const auto z = zoom(r);
  ASSERT_TRUE(z) << z.error().message;
  EXPECT_TRUE(z->notes.empty()) << z->notes.front();
  // Behind the inner state's end the outer one goes on.
  const auto at = std::find(z->model.state_names.begin(), z->model.state_names.end(), "MPI_File_write_all");
  ASSERT_NE(at, z->model.state_names.end());
  const auto x = static_cast<std::size_t>(at - z->model.state_names.begin());
  EXPECT_NEAR(z->model.values[10 * z->model.states + x] * z->model.unit, 1, 1e-9);
}

// Case C of the spatiotemporal paper, small: the partition at 30 slices shows what was planted.
TEST(ZoomCapture, CaseCIsFound) {
  const TemporaryFolder dir;
  const test::SyntheticCapture what{400'000, 70, 7};
  std::ofstream(dir / "c", std::ios::binary) << what.bytes();
  ASSERT_EQ(zoom_input(dir / "c"), ZoomInput::kCapture);
  ZoomRequest r;
  r.input = dir / "c";
  const auto z = zoom(r);
  ASSERT_TRUE(z) << z.error().message;
  EXPECT_TRUE(z->notes.empty());
  const Model& m = z->model;
  std::vector<partition::Column> columns(m.slices);
  for (std::size_t t = 0; t < m.slices; ++t)
    columns[t] = {std::span(m.values).subspan(t * m.leaves() * m.states, m.leaves() * m.states),
                  std::span(m.weights).subspan(t * m.leaves(), m.leaves())};
  partition::Batch::Options options;
  options.tree = m.tree;
  options.states = m.states;
  auto batch = partition::Batch::create(std::move(options), columns);
  ASSERT_TRUE(batch) << batch.error().message;
  const auto found = batch->solve(0.02);
  ASSERT_TRUE(found);

  const auto slice_at = [&](DurationNs t) { return t.value * 30 / (m.times->to - m.times->from).value; };
  const std::int64_t start_up = slice_at(test::SyntheticCapture::kStartUp);
  const std::int64_t rupture = slice_at(DurationNs(
      (test::SyntheticCapture::kRuptureBegin.value + test::SyntheticCapture::kRuptureEnd.value) / 2));
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> parts;
  std::size_t below_graphite = 0;
  for (const partition::Part& p : found->parts) {
    const std::string path = m.path(p.node);
    parts[path].emplace_back(p.first.value, p.last.value);
    if (path.starts_with("/nancy/graphite/graphite-1/")) ++below_graphite;
    // Nobody is computing and starting up at the same time: the start-up is cut off from what follows.
    EXPECT_FALSE(p.first.value < start_up - 1 && p.last.value > start_up + 1) << path;
  }
  const auto cuts = [&](const std::string& path) {
    std::size_t n = 0;
    for (const auto& [first, last] : parts[path]) n += first > start_up + 1 && first < 28 ? 1 : 0;
    return n;
  };
  // The first is alike all the time; the second is taken apart, process by process.
  ASSERT_FALSE(parts["/nancy/graphene"].empty());
  EXPECT_EQ(cuts("/nancy/graphene"), 0u);
  EXPECT_GT(below_graphite, 14u);
  // The third is one, but for the rupture: a part that begins and ends with it.
  EXPECT_EQ(cuts("/nancy/griffon"), 2u);
  EXPECT_THAT(parts["/nancy/griffon"],
              testing::Contains(
                  testing::AllOf(testing::Field(&std::pair<std::int64_t, std::int64_t>::first, rupture),
                                 testing::Field(&std::pair<std::int64_t, std::int64_t>::second, rupture))));
}

}  // namespace zoom_test
}  // namespace margay::daemon
