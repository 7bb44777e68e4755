// What `margay export` writes: events in order, Pajé that pj_dump takes, tables, files that are whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "../store/store_support.h"
#include "export/export_command.h"
#include "export/out_file.h"
#include "margay/trace/raw_stream.h"
#include "margay/wire/columns.h"
#include "typed.h"

namespace margay::daemon {
namespace export_test {

namespace fs = std::filesystem;
using store::Archive;
using store::Cut;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr StateId kSend{3}, kWait{4}, kHot{5}, kHop{6};
constexpr DurationNs kSlice = milliseconds(100);

EventRecord record(std::int64_t t, std::uint8_t kind, std::uint16_t name = 0, std::uint64_t bytes = 0,
                   std::int32_t tag = MARGAY_NO_TAG) {
  return {t, bytes, MARGAY_NO_PEER, tag, 0, name, kind, 0};
}

std::string text_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

class Export : public testing::Test {
 protected:
  // Two leaves; the source's name table is Compute, MPI_Send, MPI_Wait, hot, hop. Its host time is trace time
  // less 1000 s.
  static constexpr DurationNs kOffset = seconds(1000);
  Cut first_cut(bool imported) {
    Cut c;
    c.sequence = 1;
    c.states = {{kSend, {"MPI_Send", model::StateFamily::kPointToPoint}},
                {kWait, {"MPI_\"Wait\"\n", model::StateFamily::kWait}},
                {kHot, {"hot", model::StateFamily::kOther}},
                {kHop, {"hop", model::StateFamily::kOther}}};
    for (std::uint32_t l = 0; l < 2; ++l) {
      model::Attributes live = {{"host", "n"}, {"rank", std::to_string(l)}};
      model::Attributes trace = {{"path1", "site"}, {"path2", "c" + std::to_string(l)}, {"type2", "Core"}};
      c.leaves.push_back({LeafIndex(l), SourceId(1), l, imported ? trace : live});
    }
    store::SourceRecord source;
    source.source = SourceId(1);
    source.names = {kCompute, kSend, kWait, kHot, kHop};
    source.clock_offset = kOffset;
    c.sources = {source};
    return c;
  }
  static store::RawBlock block(std::uint32_t leaf, std::uint64_t first,
                               const std::vector<EventRecord>& records) {
    store::RawBlock b{LeafIndex(leaf),
                      first,
                      TimeNs(records.front().time_ns) + kOffset,
                      TimeNs(records.back().time_ns) + kOffset,
                      static_cast<std::uint32_t>(records.size()),
                      {}};
    wire::encode_columns(records, b.columns);
    return b;
  }
  std::string make(const std::string& name, const Cut& cut, TimeNs begin = TimeNs(0) + kOffset) {
    store::RunMeta run = store::testing::example_run();
    run.begin = begin;
    run.end = begin + seconds(10);
    run.levels = {kSlice, seconds(1)};
    const auto archive = Archive::create(dir_ / name, run);
    EXPECT_TRUE(archive) << archive.error().message;
    const auto ok = (*archive)->commit(cut, true);
    EXPECT_TRUE(ok) << ok.error().message;
    return dir_ / name;
  }
  static int run(std::vector<std::string> words) {
    return run_typed(add_export_command, export_command, std::move(words));
  }
  // The lines of the body, without definitions of types and values.
  std::vector<std::string> paje(const std::string& archive, std::vector<std::string> more = {}) {
    const std::string path = dir_ / "out.paje";
    more.insert(more.begin(), {archive, "--format", "paje", "--output", path});
    EXPECT_EQ(run(more), 0);
    std::vector<std::string> lines;
    std::istringstream in(text_of(path));
    for (std::string line; std::getline(in, line);)
      if (line[0] != '%' && line[0] != '#' && std::stoi(line) > 5) lines.push_back(line);
    EXPECT_FALSE(fs::exists(path + ".partial"));
    if (*MARGAY_PJ_DUMP != '\0') {
      const std::string said = dir_ / "pj_dump.said";
      const std::string command =
          std::string(MARGAY_PJ_DUMP) + " " + path + " >" + path + ".csv 2>" + said + " </dev/null";
      EXPECT_EQ(std::system(command.c_str()), 0);
      EXPECT_EQ(text_of(said), "") << text_of(path);
    }
    return lines;
  }

  test::TemporaryFolder dir_;
};

TEST_F(Export, EventsOfOverlappingBlocksComeInTheOrderOfTheirTimes) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Cut cut = first_cut(false);
  constexpr std::uint32_t kLeaves = 9;
  for (std::uint32_t l = 2; l < kLeaves; ++l) cut.leaves.push_back({LeafIndex(l), SourceId(1), l, {}});
  std::vector<std::tuple<std::int64_t, std::uint32_t, std::uint64_t>> expected;  // time, leaf, ordinal
  for (std::uint32_t l = 0; l < kLeaves; ++l) {
    std::int64_t t = 1 + static_cast<std::int64_t>(random() % 1000);
    std::uint64_t ordinal = 0;
    for (int b = 0; b < 20; ++b) {
      std::vector<EventRecord> records;
      const std::uint64_t first = ordinal;
      for (unsigned n = 1 + random() % 30; n > 0; --n) {
        records.push_back(record(t, MARGAY_ENTER, 1, ordinal));
        expected.emplace_back(t + kOffset.value, l, ordinal++);
        t += static_cast<std::int64_t>(random() % (l % 2 == 0 ? 10 : 400));
      }
      cut.raw.push_back(block(l, first, records));
    }
  }
  std::sort(expected.begin(), expected.end());
  const auto archive = Archive::open(make("a", cut), store::Mode::kReadOnly);
  const auto all = (*archive)->load();
  const auto survey = trace::survey_raw(**archive, *all);
  ASSERT_TRUE(survey);
  EXPECT_EQ(survey->events, expected.size());
  EXPECT_EQ(survey->holes, 0u);
  EXPECT_EQ(survey->whole_from, std::nullopt);
  std::vector<std::tuple<std::int64_t, std::uint32_t, std::uint64_t>> got;
  trace::RawStreamOptions options;
  options.to = TimeNs(1) + seconds(100'000);
  const auto left_out = trace::stream_raw(**archive, *all, options, [&](const trace::RawEvent& e) {
    EXPECT_EQ(e.state, kSend);
    got.emplace_back(e.time.value, e.leaf.value, e.record.bytes);
    return Status();
  });
  ASSERT_TRUE(left_out);
  EXPECT_EQ(*left_out, 0u);
  EXPECT_EQ(got, expected);
}

TEST_F(Export, RecordsOfUnknownKindsAreLeftOutAndSaid) {
  Cut cut = first_cut(false);
  cut.raw = {block(0, 0,
                   {record(1'000'000'001, MARGAY_ENTER, 1), record(1'000'000'003, 99, 1),
                    record(1'000'000'004, 98, 2), record(1'000'000'009, MARGAY_LEAVE, 1)})};
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(paje(make("a", cut)), Contains(HasSubstr("8 1.000000001 S5")));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("2 records were left out"));
}

// Two programs one after the other under the same rank, whose probes number their names differently; the
// first one is forgotten by the end.
TEST_F(Export, EventsBearTheNamesOfTheProgramThatSentThem) {
  for (const bool forgotten : {false, true}) {
    Cut cut = first_cut(false);
    store::SourceRecord& before = cut.sources[0];
    before.names.push_back(kUnknown);
    before.texts = {{5, store::NameText::Kind::kRegion, "warm"}};
    before.end = TimeNs(3'500'000'000) + kOffset;
    store::SourceRecord after = before;
    after.source = SourceId(2);
    after.names = {kCompute, kWait, kHot, kSend, kHop, kUnknown};
    after.texts = {{5, store::NameText::Kind::kRegion, "solve"}};
    for (auto& leaf : cut.leaves) leaf.source = after.source;  // the newest
    cut.raw = {block(0, 0,
                     {record(1'000'000'000, MARGAY_ENTER, 1), record(2'000'000'000, MARGAY_LEAVE, 1),
                      record(3'000'000'000, MARGAY_REGION_ENTER, 5)}),
               block(0, 0,
                     {record(4'000'000'000, MARGAY_ENTER, 1), record(5'000'000'000, MARGAY_LEAVE, 1),
                      record(6'000'000'000, MARGAY_REGION_ENTER, 5)})};
    cut.raw[0].source = SourceId(1);
    cut.raw[1].source = SourceId(2);
    cut.sources.push_back(after);
    if (forgotten) cut.forgotten = {{SourceId(1), {0}}};
    const auto archive = Archive::open(make(forgotten ? "b" : "a", cut), store::Mode::kReadOnly);
    const auto all = (*archive)->load();
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->sources.size(), forgotten ? 1u : 2u);
    std::vector<std::pair<StateId, std::string>> got;
    trace::RawStreamOptions options;
    options.to = TimeNs(1) + seconds(100'000);
    ASSERT_TRUE(trace::stream_raw(**archive, *all, options, [&](const trace::RawEvent& e) {
      got.emplace_back(e.state, e.name);
      return Status();
    }));
    const std::vector<std::pair<StateId, std::string>> expected = {
        {kSend, ""}, {kSend, ""}, {kUnknown, "warm"}, {kWait, ""}, {kWait, ""}, {kUnknown, "solve"}};
    EXPECT_EQ(got, expected) << (forgotten ? "forgotten" : "");
  }
}

TEST_F(Export, ALiveRunIsComputeBetweenItsCallsAndTimesCountFromItsBegin) {
  Cut cut = first_cut(false);
  cut.raw = {block(0, 0,
                   {record(1'000'000'001, MARGAY_ENTER, 1), record(1'000'000'005, MARGAY_ENTER, 2),
                    record(1'000'000'007, MARGAY_LEAVE, 2), record(1'000'000'009, MARGAY_LEAVE, 1)}),
             block(1, 0, {record(1'000'000'004, MARGAY_ENTER, 2), record(1'000'000'006, MARGAY_LEAVE, 2)})};
  const std::string archive = make("a", cut);
  EXPECT_THAT(paje(archive),
              ElementsAre("6 1.000000001 c2 T1 0 \"n\"", "6 1.000000001 c4 T3 c2 \"rank0\"",
                          "8 1.000000001 S5 c4 V6",                                      // MPI_Send
                          "6 1.000000004 c7 T3 c2 \"rank1\"", "8 1.000000004 S5 c7 V8",  // MPI_Wait
                          "8 1.000000005 S5 c4 V8",                                      // nested
                          "9 1.000000006 S5 c7", "8 1.000000006 S5 c7 V9",               // Compute
                          "9 1.000000007 S5 c4", "9 1.000000009 S5 c4", "8 1.000000009 S5 c4 V9",
                          "9 10.000000000 S5 c4", "7 10.000000000 T3 c4", "9 10.000000000 S5 c7",
                          "7 10.000000000 T3 c7", "7 10.000000000 T1 c2"));
  const std::string text = text_of(dir_ / "out.paje");
  EXPECT_THAT(text, HasSubstr("\n# time 0 is 1000.000000000 s since"));
  EXPECT_THAT(text, HasSubstr("\"MPI_'Wait'?\"")) << "a name cannot end its quotes or its line";
}

TEST_F(Export, OnlyWhatIsWantedAndWhatIsOpenThen) {
  Cut cut = first_cut(false);
  cut.raw = {block(0, 0,
                   {record(1'000'000'000, MARGAY_ENTER, 1), record(2'000'000'000, MARGAY_ENTER, 2),
                    record(4'000'000'000, MARGAY_LEAVE, 2), record(6'000'000'000, MARGAY_LEAVE, 1)}),
             block(1, 0, {record(8'000'000'000, MARGAY_ENTER, 2)})};
  EXPECT_THAT(paje(make("a", cut), {"--from", "3", "--to", "5s"}),
              ElementsAre("6 3.000000000 c2 T1 0 \"n\"", "6 3.000000000 c4 T3 c2 \"rank0\"",
                          "8 3.000000000 S5 c4 V6", "8 3.000000000 S5 c4 V7", "9 4.000000000 S5 c4",
                          "9 5.000000000 S5 c4", "7 5.000000000 T3 c4", "7 5.000000000 T1 c2"));
}

TEST_F(Export, AnImportedTraceKeepsItsTimesTypesVariablesMarksAndLinks) {
  Cut cut = first_cut(true);
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  cut.raw = {
      block(
          0, 0,
          {record(-999'500'000'000, MARGAY_BEGIN), record(-999'500'000'000, MARGAY_ENTER, 1),
           record(-999'400'000'000, MARGAY_VARIABLE, 3, bits(0.1)), record(-999'300'000'000, MARGAY_LEAVE, 1),
           record(-999'200'000'000, MARGAY_LINK_BEGIN, 4, 80, 7), record(-999'000'000'000, MARGAY_END)}),
      block(1, 0,
            {record(-999'250'000'000, MARGAY_MARK, 3), record(-999'100'000'000, MARGAY_LINK_END, 4, 0, 7),
             record(-999'050'000'000, MARGAY_LINK_END, 4, 0, 8), record(-998'900'000'000, MARGAY_END),
             record(-998'000'000'000, MARGAY_BEGIN), record(-997'000'000'000, MARGAY_END)})};
  // In a real import the offset is 0; here trace time is 1000 s more.
  EXPECT_THAT(paje(make("a", cut, TimeNs(500'000'000))),
              ElementsAre("6 0.500000000 c2 T1 0 \"site\"", "6 0.500000000 c4 T3 c2 \"c0\"",
                          "8 0.500000000 S5 c4 V6", "10 0.600000000 R7 c4 0.10000000000000001",
                          "9 0.700000000 S5 c4", "6 0.750000000 c8 T3 c2 \"c1\"", "11 0.750000000 E9 c8 V10",
                          "12 0.800000000 L11 0 c4 V12 \"7\"", "13 0.900000000 L11 0 c8 V12 \"7\"",
                          "7 1.000000000 T3 c4", "7 1.100000000 T3 c8", "6 2.000000000 c13 T3 c2 \"c1\"",
                          "7 3.000000000 T3 c13", "7 10.500000000 T1 c2"));
  const std::string text = text_of(dir_ / "out.paje");
  EXPECT_THAT(text, HasSubstr("0 T3 T1 \"Core\""));
  EXPECT_THAT(text, Not(HasSubstr("Compute")));
}

TEST_F(Export, SeveralStateTypesOfAContainerAreOneContainerAgain) {
  Cut cut = first_cut(true);
  for (std::uint32_t l = 0; l < 2; ++l) {
    const std::string type = l == 0 ? "Program" : "MPI";
    cut.leaves[l].attributes = {{"path1", "p"}, {"type1", "Process"}, {"path2", type}, {"state_type", type}};
  }
  cut.raw = {block(0, 0,
                   {record(-999'000'000'000, MARGAY_ENTER, 1), record(-996'000'000'000, MARGAY_LEAVE, 1),
                    record(-995'000'000'000, MARGAY_END)}),
             block(1, 0,
                   {record(-998'000'000'000, MARGAY_ENTER, 2), record(-997'000'000'000, MARGAY_LEAVE, 2),
                    record(-994'000'000'000, MARGAY_END)})};
  EXPECT_THAT(paje(make("a", cut, TimeNs(500'000'000))),
              ElementsAre("6 1.000000000 c4 T1 0 \"p\"", "8 1.000000000 S2 c4 V5", "8 2.000000000 S3 c4 V6",
                          "9 3.000000000 S3 c4", "9 4.000000000 S2 c4", "7 6.000000000 T1 c4"));
  EXPECT_THAT(text_of(dir_ / "out.paje"),
              testing::AllOf(HasSubstr("1 S2 T1 \"Program\""), HasSubstr("1 S3 T1 \"MPI\"")));
}

TEST_F(Export, RegionsAreStatesOfATypeOfTheirOwn) {
  Cut cut = first_cut(false);
  cut.sources[0].names.push_back(kUnknown);
  cut.sources[0].texts = {{5, store::NameText::Kind::kRegion, "solve"}};
  cut.raw = {block(0, 0,
                   {record(1'000'000'000, MARGAY_REGION_ENTER, 5), record(2'000'000'000, MARGAY_ENTER, 1),
                    record(3'000'000'000, MARGAY_LEAVE, 1), record(4'000'000'000, MARGAY_REGION_LEAVE, 5)})};
  static_cast<void>(paje(make("a", cut)));
  const std::string text = text_of(dir_ / "out.paje");
  const std::size_t type = text.find("\"Region\""), value = text.find("\"solve\"");
  ASSERT_NE(type, std::string::npos) << text;
  ASSERT_NE(value, std::string::npos);
  const std::string line = text.substr(text.rfind('\n', type) + 1, 6);  // 1 S8 T4
  const std::string alias = line.substr(2, line.find(' ', 2) - 2);
  EXPECT_THAT(text, HasSubstr("8 1.000000000 " + alias + " "));
  EXPECT_THAT(text, HasSubstr("9 4.000000000 " + alias + " "));
}

TEST_F(Export, WhatWasLostIsUnknownUntilTheNextEvent) {
  Cut cut = first_cut(false);
  cut.raw = {block(0, 0, {record(1'000'000'000, MARGAY_ENTER, 1)}),
             block(0, 5, {record(2'000'000'000, MARGAY_LEAVE, 1)})};  // events 1 to 4 are not there
  const auto lines = paje(make("a", cut));
  EXPECT_THAT(lines, ElementsAre("6 1.000000000 c2 T1 0 \"n\"", "6 1.000000000 c4 T3 c2 \"rank0\"",
                                 "8 1.000000000 S5 c4 V6", "9 2.000000000 S5 c4", "8 2.000000000 S5 c4 V7",
                                 "9 2.000000000 S5 c4", "8 2.000000000 S5 c4 V8", "9 10.000000000 S5 c4",
                                 "7 10.000000000 T3 c4", "7 10.000000000 T1 c2"));
  EXPECT_THAT(text_of(dir_ / "out.paje"), HasSubstr("5 V7 S5 \"Unknown\""));
}

TEST_F(Export, WithoutRawEventsThereIsNoTraceAndASentenceSaysWhatThereIs) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({make("none", first_cut(false)), "--format", "paje", "--output", dir_ / "o"}), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("has no raw events"), HasSubstr("--format csv")));
  Cut cut = first_cut(false);
  cut.raw = {block(0, 7, {record(2'000'000'000, MARGAY_ENTER, 1), record(4'000'000'000, MARGAY_LEAVE, 1)})};
  const std::string late = make("late", cut);
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({late, "--format", "paje", "--output", dir_ / "o"}), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("--from 2.000000000 exports what is complete"));
  EXPECT_FALSE(fs::exists(dir_ / "o"));
  EXPECT_FALSE(fs::exists(dir_ / "o.partial"));
  EXPECT_EQ(run({late, "--format", "paje", "--from", "2.000000000", "--output", dir_ / "o"}), 0);
}

TEST_F(Export, TablesAreTidyAndExact) {
  std::mt19937_64 random(4);
  Cut cut = first_cut(false);
  const SliceIndex begin(10'000);  // 1000 s
  for (int s = 0; s < 20; ++s)
    cut.columns.push_back(store::testing::random_column(random, LevelIndex(0), begin + s, 2, 5, kSlice));
  cut.phases = {{0, "A, b", "", TimeNs(0) + kOffset, TimeNs(500'000'000) + kOffset, 1, false}};
  cut.alerts = {{"a1", R"({"id":"a1","text":"x"})", "resolved"}};
  const std::string archive = make("a", cut), tables = dir_ / "tables";
  ASSERT_EQ(run({archive, "--format", "csv", "--output", tables}), 0);
  EXPECT_EQ(
      text_of(tables + "/phases.csv"),
      "phase,name,label,begin_s,end_s,occurrence,current\n0,\"A, b\",\"\",0.000000000,0.500000000,1,FALSE\n");
  EXPECT_EQ(text_of(tables + "/alerts.jsonl"), "{\"id\":\"a1\",\"text\":\"x\"}\n");
  std::istringstream cells(text_of(tables + "/cells.csv"));
  std::string line;
  std::getline(cells, line);
  EXPECT_EQ(line, "time_s,slice,resource,state,duration_ns,longest_ns,visits");
  std::map<std::string, std::int64_t> sums;  // by slice and resource
  while (std::getline(cells, line)) {
    std::vector<std::string> f;
    // The one name with a comma or quotes is MPI_"Wait".
    if (const auto at = line.find("\"MPI_\"\"Wait\"\"?\""); at != std::string::npos)
      line.replace(at, 15, "w");
    std::istringstream fields(line);
    for (std::string x; std::getline(fields, x, ',');) f.push_back(x);
    ASSERT_EQ(f.size(), 7u) << line;
    EXPECT_EQ(f[0], seconds_text((std::stoll(f[1]) - begin.value) * kSlice.value));
    sums[f[1] + f[2]] += std::stoll(f[4]);
  }
  EXPECT_EQ(sums.size(), 40u);
  for (const auto& [row, sum] : sums) EXPECT_EQ(sum, kSlice.value) << row;
  const std::string partition = text_of(tables + "/partition.csv");
  EXPECT_THAT(partition, HasSubstr("p,resource,first,last,begin_s,end_s,gain,loss,mode,mode_share\n"));
  EXPECT_GT(std::count(partition.begin(), partition.end(), '\n'), 1);

  ASSERT_EQ(run({archive, "--format", "csv", "--table", "cells", "--from", "0.5", "--to", "0.65", "--output",
                 dir_ / "some.csv"}),
            0);
  const std::string some = text_of(dir_ / "some.csv");
  EXPECT_THAT(some, HasSubstr("0.500000000,10005,"));
  EXPECT_THAT(some, HasSubstr("0.600000000,10006,"));
  EXPECT_THAT(some, Not(HasSubstr(",10004,")));
  EXPECT_THAT(some, Not(HasSubstr(",10007,")));
}

TEST_F(Export, InPartitionsNobodyIsInTheStateOfNotBeingThere) {
  Cut cut = first_cut(false);
  const SliceIndex begin(10'000);  // 1000 s
  for (int s = 0; s < 20; ++s) {
    auto c = std::make_shared<model::SliceColumn>(LevelIndex(0), begin + s, 2, 3);
    for (std::uint32_t l = 0; l < 2; ++l) {
      c->duration_ns(LeafIndex(l))[kAbsent.value] = 70'000'000;
      c->duration_ns(LeafIndex(l))[kUnknown.value] = 20'000'000;
      c->duration_ns(LeafIndex(l))[kCompute.value] = 10'000'000;
    }
    cut.columns.push_back(std::move(c));
  }
  const std::string out = dir_ / "partition.csv";
  ASSERT_EQ(run({make("a", cut), "--format", "csv", "--table", "partition", "--output", out}), 0);
  EXPECT_THAT(text_of(out), HasSubstr(",Compute,1.0\n")) << "as `margay partition` says";
  EXPECT_THAT(text_of(out), Not(HasSubstr("Absent")));
}

TEST_F(Export, WhatMakesNoSenseIsRefused) {
  const std::string archive = make("a", first_cut(false));
  const auto said = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {archive, "--output", dir_ / "o"});
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(more), 2);
    EXPECT_FALSE(fs::exists(dir_ / "o"));
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(said({"--format", "csv", "--table", "cells", "--level", "7s"}),
              HasSubstr("the archive has 100ms, 1s"));
  EXPECT_THAT(said({"--format", "csv", "--from", "x"}), HasSubstr("--from x: expected seconds"));
  EXPECT_THAT(said({"--format", "csv", "--from", "5", "--to", "4"}), HasSubstr("--to is not after --from"));
  EXPECT_THAT(said({"--format", "paje", "--level", "1s"}), HasSubstr("are for --format csv"));
  EXPECT_EQ(run({dir_ / "missing", "--format", "paje"}), 2);
}

TEST_F(Export, AFileIsThereWholeOrNotAtAll) {
  const std::string path = dir_ / "f";
  std::ofstream(path) << "old";
  {
    auto out = OutFile::create(path);
    ASSERT_TRUE(out);
    (*out)->write("new");
  }
  EXPECT_EQ(text_of(path), "old") << "not committed";
  EXPECT_FALSE(fs::exists(path + ".partial"));
  auto out = OutFile::create(path);
  (*out)->write("new");
  ASSERT_TRUE((*out)->commit());
  EXPECT_EQ(text_of(path), "new");
  EXPECT_FALSE(OutFile::create(dir_ / "missing/f"));
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  fs::create_symlink("/dev/full", path + ".partial");
  out = OutFile::create(path);
  ASSERT_TRUE(out);
  (*out)->write(std::string(1 << 20, 'x'));
  const Status full = (*out)->commit();
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("No space left"));
  EXPECT_EQ(text_of(path), "new");
}

TEST(ExportText, FieldsAndSeconds) {
  EXPECT_EQ(csv_field("a b"), "a b");
  EXPECT_EQ(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(csv_field(""), "\"\"");
  EXPECT_EQ(csv_field("a\nb\xff"), "a?b?");
  EXPECT_EQ(seconds_text(0), "0.000000000");
  EXPECT_EQ(seconds_text(-1), "-0.000000001");
  EXPECT_EQ(seconds_text(12'000'000'345), "12.000000345");
  EXPECT_EQ(seconds_text(std::numeric_limits<std::int64_t>::min()), "-9223372036.854775808");
}

}  // namespace export_test
}  // namespace margay::daemon
