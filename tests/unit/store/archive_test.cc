#include "margay/store/archive.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "crash_cut.h"
#include "store_support.h"

namespace margay::store {
namespace archive_test {

using model::SliceColumn;
using test::TemporaryFolder;
using testing::example_run;
using testing::expect_ok;
using testing::must;
using testing::random_column;

constexpr std::uint64_t kSeed = 20240612;

// One cut with something in every field.
Cut full_cut(std::mt19937_64& random) {
  Cut c;
  c.sequence = 1;
  c.wall = TimeNs(1'700'000'123'000'000'000);
  for (std::int64_t s = -2; s < 8; ++s)
    c.columns.push_back(random_column(random, LevelIndex(0), SliceIndex(s), 1500, 6, milliseconds(100)));
  c.columns.push_back(random_column(random, LevelIndex(1), SliceIndex(0), 1500, 6, seconds(1)));
  c.states = {{StateId(3), {"MPI_Send", model::StateFamily::kPointToPoint}},
              {StateId(4), {"MPI_Wait", model::StateFamily::kWait}}};
  for (std::uint32_t l = 0; l < 300; ++l) {  // more than 255: keys must sort by number
    c.leaves.push_back({LeafIndex(l), SourceId(l * 977), l % 3, {{"rank", std::to_string(l)}}});
    c.leaf_states.push_back({LeafIndex(l), {{StateId(2), TimeNs(5)}, {StateId(4), TimeNs(l)}}, TimeNs(99)});
  }
  SourceRecord source;
  source.source = SourceId(~0ull);
  source.epoch = 2;
  source.names = {StateId(2), StateId(4)};
  c.sources = {source};
  StreamRecord stream;
  stream.source = SourceId(~0ull);
  stream.stream = 1;
  stream.next = 4711;
  stream.modelled = 4700;
  stream.late_dropped = 11;
  c.streams = {stream};
  c.closed = {{LevelIndex(0), SliceIndex(6)}, {LevelIndex(1), SliceIndex(-1)}};
  c.alerts = {{"a1", R"({"id":"a1"})", "firing"}};
  c.phases = {{0, "A", "init", TimeNs(0), TimeNs(5), 1, false}, {1, "B", "", TimeNs(5), TimeNs(9), 14, true}};
  c.signatures = {{"A", std::string(5000, 'q')}};
  c.state = {{"detector", "bytes\0with zero"}};
  c.report = ReportRecord{TimeNs(600'000'000), "a report"};
  c.raw = {{LeafIndex(0), 0, TimeNs(10), TimeNs(90), 3, std::string(300, 'r')},
           {LeafIndex(1), 7, TimeNs(50), TimeNs(60), 2, "columns"},
           {LeafIndex(0), 3, TimeNs(100), TimeNs(100), 1, "more"}};
  return c;
}

// A new archive that holds one of them.
struct ArchiveOfAFullCut : ::testing::Test {
  ArchiveOfAFullCut() { expect_ok(archive->commit(cut, true)); }
  const TemporaryFolder dir;
  std::mt19937_64 random{kSeed};
  const Cut cut = full_cut(random);
  std::unique_ptr<Archive> archive = must(Archive::create(dir / "a", example_run()));
};

std::string message(const Result<std::unique_ptr<Archive>>& r) {
  return r ? "no error" : r.error().message;
}

// Of everything in it: "db/CURRENT 100644". The process's umask must not matter.
std::vector<std::string> open_to_others(const std::string& archive) {
  std::vector<std::string> found;
  const auto look = [&](const std::filesystem::path& path) {
    if ((std::filesystem::status(path).permissions() & std::filesystem::perms(077)) !=
        std::filesystem::perms(0))
      found.push_back(path.string());
  };
  look(archive);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(archive)) look(entry.path());
  return found;
}

TEST(Archive, IsForItsOwnerAloneWhateverTheUmask) {
  const TemporaryFolder dir;
  std::mt19937_64 random(kSeed);
  const mode_t before = ::umask(0);
  {
    const auto archive = must(Archive::create(dir / "below/a", example_run()));
    expect_ok(archive->commit(full_cut(random), true));
    expect_ok(archive->checkpoint(dir / "copy"));
  }
  {
    const auto archive =
        must(Archive::open(dir / "below/a", Mode::kWrite));  // writes its log to a table, and anew
    expect_ok(archive->commit(full_cut(random), true));
    EXPECT_EQ(open_to_others(dir / "below/a"), std::vector<std::string>());
  }
  ::umask(before);
  EXPECT_EQ(open_to_others(dir / "below/a"), std::vector<std::string>());
  EXPECT_EQ(open_to_others(dir / "copy"), std::vector<std::string>());
}

TEST(Archive, ADirectoryThatItsOwnerMadeKeepsItsMode) {
  const TemporaryFolder dir;
  std::filesystem::create_directory(dir / "a");
  std::filesystem::permissions(dir / "a", std::filesystem::perms(0750));
  must(Archive::create(dir / "a", example_run()));
  EXPECT_EQ(std::filesystem::status(dir / "a").permissions(), std::filesystem::perms(0750));
}

TEST_F(ArchiveOfAFullCut, EverythingComesBackAfterReopening) {
  expect_ok(archive->health());
  for (const Mode mode : {Mode::kReadOnly, Mode::kWrite}) {
    archive.reset();
    archive = must(Archive::open(dir / "a", mode));
    const auto r = archive->load();
    ASSERT_TRUE(r) << r.error().message;
    EXPECT_EQ(r->run, example_run());
    EXPECT_EQ(r->sequence, 1u);
    testing::expect_kept(*r, cut);
    ASSERT_EQ(r->states.size(), 5u);
    EXPECT_EQ(r->states[StateId(2)].name, "Compute");
    EXPECT_EQ(r->states[StateId(4)].name, "MPI_Wait");
    EXPECT_EQ(r->states[StateId(4)].family, model::StateFamily::kWait);
    EXPECT_EQ(r->leaves, cut.leaves);
    EXPECT_EQ(r->sources, cut.sources);
    EXPECT_EQ(r->signatures, cut.signatures);
    EXPECT_EQ(*archive->alerts(), cut.alerts);
    EXPECT_EQ(*archive->phases(), cut.phases);
    const auto columns = archive->read_columns(LevelIndex(0), SliceIndex(-1), SliceIndex(5));
    ASSERT_TRUE(columns) << columns.error().message;
    ASSERT_EQ(columns->size(), 7u);
    for (std::size_t i = 0; i < columns->size(); ++i) EXPECT_EQ((*columns)[i], *cut.columns[i + 1]);
    EXPECT_EQ(archive->read_columns(LevelIndex(1), SliceIndex(-5), SliceIndex(5))->at(0), *cut.columns[10]);
    EXPECT_EQ(*archive->column_range(LevelIndex(0)), std::pair(SliceIndex(-2), SliceIndex(7)));
    EXPECT_EQ(*archive->column_range(LevelIndex(2)), std::nullopt);
    std::vector<ReportRecord> reports;
    expect_ok(archive->read_reports(TimeNs(0), TimeNs(600'000'001), [&](ReportRecord&& report) {
      reports.push_back(std::move(report));
      return true;
    }));
    EXPECT_EQ(reports, std::vector{*cut.report});
  }
}

TEST(Archive, RewrittenSliceReplacesAndAmendmentsCountOnce) {
  const TemporaryFolder dir;
  std::mt19937_64 random(kSeed + 1);
  const auto archive = must(Archive::create(dir / "a", example_run()));
  std::shared_ptr<SliceColumn> last;
  for (std::uint64_t i = 1; i <= 5; ++i) {
    Cut c;
    c.sequence = i;
    last = random_column(random, LevelIndex(0), SliceIndex(3), 1100, 4, milliseconds(100));
    c.columns = {last};
    expect_ok(archive->commit(c, false));
    expect_ok(archive->commit(c, false));  // a repeat of the same cut changes nothing
  }
  const auto columns = archive->read_columns(LevelIndex(0), SliceIndex(0), SliceIndex(9));
  ASSERT_TRUE(columns);
  ASSERT_EQ(columns->size(), 1u);
  EXPECT_EQ(columns->front(), *last);
  Cut shorter;  // fewer leaves than before: the chunk left over is not part of it
  shorter.sequence = 6;
  shorter.columns = {random_column(random, LevelIndex(0), SliceIndex(3), 10, 4, milliseconds(100))};
  expect_ok(archive->commit(shorter, false));
  EXPECT_EQ(archive->read_columns(LevelIndex(0), SliceIndex(3), SliceIndex(3))->at(0), *shorter.columns[0]);
}

TEST_F(ArchiveOfAFullCut, RawBlocksThatTouchTheWindowAreFoundAlsoWhenTheyBeginBeforeIt) {
  const auto read = [&](std::optional<LeafIndex> leaf, std::int64_t from, std::int64_t to) {
    std::vector<RawBlock> out;
    expect_ok(archive->read_raw(leaf, TimeNs(from), TimeNs(to), [&](RawBlock&& b) {
      out.push_back(std::move(b));
      return true;
    }));
    return out;
  };
  EXPECT_EQ(read({}, 0, 1000), cut.raw);
  EXPECT_EQ(read({}, 70, 100), std::vector{cut.raw[0]});
  EXPECT_EQ(read({}, 90, 101), (std::vector{cut.raw[0], cut.raw[2]}));
  EXPECT_EQ(read(LeafIndex(1), 0, 1000), std::vector{cut.raw[1]});
  EXPECT_EQ(read({}, 101, 1000), std::vector<RawBlock>{});
  EXPECT_EQ(read({}, std::numeric_limits<std::int64_t>::min(), 51).size(), 2u);
  int seen = 0;
  expect_ok(archive->read_raw({}, TimeNs(0), TimeNs(1000), [&](RawBlock&&) { return ++seen < 2; }));
  EXPECT_EQ(seen, 2) << "the callback ends the scan";
}

TEST(Archive, RawBlocksOfOneMomentAreFound) {
  const TemporaryFolder dir;
  const auto archive = Archive::create(dir / "a", example_run());
  ASSERT_TRUE(archive);
  Cut cut;
  cut.sequence = 1;
  cut.raw = {{LeafIndex(1), 0, TimeNs(500), TimeNs(500), 1, "columns"}};
  ASSERT_TRUE((*archive)->commit(cut, false));
  int seen = 0;
  ASSERT_TRUE((*archive)->read_raw({}, TimeNs(0), TimeNs(1000), [&](RawBlock&&) { return ++seen > 0; }));
  EXPECT_EQ(seen, 1);
  ASSERT_TRUE((*archive)->read_raw({}, TimeNs(501), TimeNs(1000), [&](RawBlock&&) { return ++seen > 0; }));
  EXPECT_EQ(seen, 1);
}

TEST_F(ArchiveOfAFullCut, DroppingTakesWhatLiesBeforeAndNothingElse) {
  expect_ok(archive->drop_columns_before(LevelIndex(0), SliceIndex(5)));
  EXPECT_EQ(*archive->column_range(LevelIndex(0)), std::pair(SliceIndex(5), SliceIndex(7)));
  EXPECT_TRUE(*archive->column_range(LevelIndex(1))) << "other levels stay";
  expect_ok(archive->drop_raw_before(TimeNs(60)));
  std::vector<std::int64_t> begins;
  expect_ok(archive->read_raw({}, TimeNs(0), TimeNs(1000), [&](RawBlock&& b) {
    begins.push_back(b.begin.value);
    return true;
  }));
  EXPECT_EQ(begins, std::vector<std::int64_t>{100});
  expect_ok(archive->drop_reports_before(TimeNs(600'000'001)));
  EXPECT_EQ(archive->alerts()->size(), 1u) << "alerts and phases stay";
  EXPECT_EQ(archive->phases()->size(), 2u);
}

TEST(Archive, RunsEndAndEmptyStateBlobRemovesTheName) {
  const TemporaryFolder dir;
  const auto archive = must(Archive::create(dir / "a", example_run()));
  Cut c;
  c.sequence = 1;
  c.state = {{"x", "1"}, {"y", "2"}};
  expect_ok(archive->commit(c, false));
  c.sequence = 2;
  c.state = {{"x", ""}};
  c.run = example_run();
  c.run->end = TimeNs(77);
  c.run->exit_code = 3;
  expect_ok(archive->commit(c, false));
  const auto r = archive->load();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->state, (std::vector<Blob>{{"y", "2"}}));
  EXPECT_EQ(r->run.exit_code, 3);
  EXPECT_EQ(r->run.end, TimeNs(77));
}

TEST(Archive, APhaseThatWasTakenBackIsGone) {
  const TemporaryFolder dir;
  const auto archive = must(Archive::create(dir / "a", example_run()));
  const auto phase = [](std::uint32_t index, const char* name) {
    return PhaseRecord{index, name, "", TimeNs(index), TimeNs(index + 1), 1, false};
  };
  Cut c;
  c.sequence = 1;
  c.phases = {phase(0, "A"), phase(1, "B"), phase(2, "C"), phase(3, "D")};
  c.alerts = {{"x", "{}", "firing"}};
  expect_ok(archive->commit(c, false));
  c = {};
  c.sequence = 2;
  c.phases_end = {{LevelIndex(0), 2}};
  c.phases = {phase(1, "B"), phase(2, "E")};  // and another one in the place of the third
  expect_ok(archive->commit(c, false));
  EXPECT_EQ(*archive->phases(), (std::vector{phase(0, "A"), phase(1, "B"), phase(2, "E")}));
  EXPECT_EQ(archive->alerts()->size(), 1u);
}

TEST(Archive, PhasesOfEachLevelAreKeptByThemselves) {
  const TemporaryFolder dir;
  const auto archive = must(Archive::create(dir / "a", example_run()));
  const auto phase = [](std::uint8_t level, std::uint32_t index, const char* name) {
    return PhaseRecord{index, name, "", TimeNs(index), TimeNs(index + 1), 1, false, LevelIndex(level)};
  };
  Cut c;
  c.sequence = 1;
  c.phases = {phase(0, 0, "A"), phase(1, 0, "1s:A"), phase(1, 1, "1s:B"), phase(2, 0, "10s:A"),
              phase(2, 1, "10s:B")};
  expect_ok(archive->commit(c, false));
  c = {};
  c.sequence = 2;
  c.phases_end = {{LevelIndex(1), 1}};
  expect_ok(archive->commit(c, false));
  const auto r = archive->load();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->phases, (std::vector{phase(0, 0, "A")}));
  EXPECT_EQ(r->coarser_phases,
            (std::vector{phase(1, 0, "1s:A"), phase(2, 0, "10s:A"), phase(2, 1, "10s:B")}));
  c.sequence = 3;
  c.phases_end.clear();
  c.phases = {phase(200, 0, "no such level")};
  EXPECT_FALSE(archive->commit(c, false));
}

TEST(Archive, AForgottenSourceIsGoneAndItsCountersStandWithTheLeaf) {
  const TemporaryFolder dir;
  std::vector<StateId> names;
  std::mt19937_64 random(kSeed);
  {
    const auto archive = must(Archive::create(dir / "a", example_run()));
    Cut cut = full_cut(random);
    SourceRecord kept = cut.sources[0];
    kept.source = SourceId(7);
    cut.sources.push_back(kept);
    cut.streams.push_back({SourceId(7), 1, 0, 5, 5});
    expect_ok(archive->commit(cut, false));
    Cut next;
    next.sequence = 2;
    next.forgotten = {{SourceId(~0ull), {1}}, {SourceId(8), {}}};
    names = cut.sources[0].names;
    next.former = {{SourceId(), 299, 0, 4711, 4711, 4711, 4700, 11}};
    expect_ok(archive->commit(next, false));
  }
  const auto archive = must(Archive::open(dir / "a", Mode::kReadOnly));
  const auto resume = archive->load();
  ASSERT_TRUE(resume) << resume.error().message;
  ASSERT_EQ(resume->sources.size(), 1u);
  EXPECT_EQ(resume->sources[0].source, SourceId(7));
  ASSERT_EQ(resume->streams.size(), 1u);
  EXPECT_EQ(resume->streams[0].source, SourceId(7));
  const std::vector<StreamRecord> former = {{SourceId(), 299, 0, 4711, 4711, 4711, 4700, 11}};
  EXPECT_EQ(resume->former, former);
  // But its raw events stay, and use its names.
  ASSERT_EQ(resume->gone.size(), 1u);
  EXPECT_EQ(resume->gone[0].source, SourceId(~0ull));
  EXPECT_EQ(resume->gone[0].names, names);
  EXPECT_FALSE(names.empty());
  EXPECT_TRUE(resume->gone[0].attributes.empty());
}

TEST(Archive, NamesOfAForgottenSourceGoWithTheRawEventsOfItsTime) {
  const TemporaryFolder dir;
  const auto archive = must(Archive::create(dir / "a", example_run()));
  Cut cut;
  cut.sequence = 1;
  for (const std::uint64_t s : {1, 2, 3}) {
    SourceRecord source;
    source.source = SourceId(s);
    source.names = {kCompute};
    if (s < 3) source.end = TimeNs(static_cast<std::int64_t>(1000 * s));
    cut.sources.push_back(source);
    cut.forgotten.push_back({SourceId(s), {}});
  }
  cut.wall = TimeNs(3000);  // the third went without a word
  expect_ok(archive->commit(cut, false));
  const auto left = [&] {
    std::vector<std::uint64_t> ids;
    const auto all = archive->load();
    EXPECT_TRUE(all);
    for (const SourceRecord& s : all->gone) ids.push_back(s.source.value);
    return ids;
  };
  EXPECT_EQ(left(), (std::vector<std::uint64_t>{1, 2, 3}));
  expect_ok(archive->drop_raw_before(TimeNs(2000)));
  EXPECT_EQ(left(), (std::vector<std::uint64_t>{2, 3}));
  expect_ok(archive->drop_raw_before(TimeNs(3001)));
  EXPECT_EQ(left(), std::vector<std::uint64_t>{});
}

TEST(Archive, CutBeyondABoundIsRefusedWholeAndNamed) {
  const TemporaryFolder dir;
  const auto archive = must(Archive::create(dir / "a", example_run()));
  Cut c;
  c.sequence = 5;
  expect_ok(archive->commit(c, false));
  c.sequence = 4;
  EXPECT_EQ(archive->commit(c, false).error().message, "cut 4 is older than cut 5 in the archive");
  c.sequence = 6;
  c.alerts = {{"good", "{}", "firing"}};
  c.states = {{StateId(1024), {"too many", model::StateFamily::kOther}}};
  EXPECT_EQ(archive->commit(c, false).error().message,
            "cut 6: state 1024 is beyond the bounds of the state table");
  EXPECT_EQ(archive->load()->sequence, 5u);
  EXPECT_TRUE(archive->alerts()->empty());
}

TEST(Archive, CheckpointIsAnArchiveThatCanBeReadBesideTheLiveOne) {
  const TemporaryFolder dir;
  std::mt19937_64 random(kSeed);
  Cut cut = full_cut(random);
  const auto live = must(Archive::create(dir / "a", example_run()));
  expect_ok(live->commit(cut, false));
  expect_ok(live->checkpoint(dir / "copy"));
  cut.sequence = 2;
  expect_ok(live->commit(cut, false));
  const auto copy = must(Archive::open(dir / "copy", Mode::kReadOnly));
  EXPECT_EQ(copy->load()->sequence, 1u);
  EXPECT_EQ(copy->read_columns(LevelIndex(0), SliceIndex(0), SliceIndex(0))->at(0), *cut.columns[2]);
  EXPECT_FALSE(copy->commit(cut, false)) << "read-only";
  EXPECT_FALSE(live->checkpoint(dir / "copy")) << "exists";
}

TEST(Archive, ReadersBesideTheWriterSeeWholeCuts) {
  const TemporaryFolder dir;
  const auto archive = must(Archive::create(dir / "a", example_run()));
  expect_ok(archive->commit(testing::numbered_cut(1), false));
  std::atomic<bool> done = false;
  std::uint64_t reads = 0;
  std::thread reader([&] {
    for (std::uint64_t last = 0; !done || reads == 0; ++reads) {
      const auto r = archive->load();
      ASSERT_TRUE(r) << r.error().message;
      EXPECT_GE(r->sequence, last);
      last = r->sequence;
      const Cut expected = testing::numbered_cut(last);
      EXPECT_EQ(r->streams, expected.streams);
      EXPECT_EQ(r->alerts, expected.alerts);
      EXPECT_EQ(r->state, expected.state);
      const auto columns = archive->read_columns(LevelIndex(0), SliceIndex(0), SliceIndex(0));
      ASSERT_TRUE(columns) << columns.error().message;
      const SliceColumn& c = columns->at(0);
      for (std::uint32_t l = 0; l < c.leaves(); ++l)
        ASSERT_EQ(c.duration_ns(LeafIndex(l))[1], static_cast<std::int64_t>(c.lost_events));
    }
  });
  for (std::uint64_t n = 2; n <= 60; ++n) expect_ok(archive->commit(testing::numbered_cut(n), false));
  done = true;
  reader.join();
  EXPECT_GT(reads, 0u);
}

TEST(ArchiveErrors, NoSuchArchiveAndNotAnArchive) {
  const TemporaryFolder dir;
  const auto missing = Archive::open(dir / "missing", Mode::kWrite);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(message(missing), (dir / "missing") + ": no such archive");
  std::filesystem::create_directory(dir / "other");
  std::ofstream(dir / "other/thesis.tex") << "x";
  const auto other = Archive::open(dir / "other", Mode::kReadOnly);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(message(other).find("is not a Margay archive"), std::string::npos) << message(other);
  EXPECT_NE(message(Archive::create(dir / "other", example_run())).find("is not empty"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(dir / "other/thesis.tex"));
  EXPECT_NE(message(Archive::open(dir / "other/thesis.tex", Mode::kWrite)).find("is a file"),
            std::string::npos);
  std::ofstream(dir / "other/MARGAY") << "something else";
  EXPECT_NE(message(Archive::open(dir / "other", Mode::kWrite)).find("does not tell a format"),
            std::string::npos);
}

// A run of months has more of a past than a daemon has memory.
TEST(ArchiveLoad, OfAlertsAndSignaturesTheNewestThatFitAndAllOfThemWhereTheyAreAskedFor) {
  const TemporaryFolder dir;
  const auto archive = must(Archive::create(dir / "a", example_run()));
  constexpr int kAlerts = 400;
  Cut c;
  c.sequence = 1;
  for (int i = 0; i < kAlerts; ++i)  // keys in another order than times
    c.alerts.push_back(
        {std::to_string((i * 37) % kAlerts), std::to_string(i) + std::string(1000, ' '), "resolved"});
  for (int i = 0; i < 26; ++i)
    c.signatures.push_back(
        {std::string(1, static_cast<char>('A' + i)), std::string(5000, static_cast<char>(i))});
  for (std::uint32_t i = 0; i < 1000; ++i)
    c.phases.push_back({i, "A", "", TimeNs(i), TimeNs(i + 1), i + 1, false});
  ASSERT_TRUE(archive->commit(c, false));

  LoadBounds bounds;
  bounds.alert_bytes = 50'000;
  bounds.alert_time = [](const AlertRecord& a) { return std::strtoll(a.json.c_str(), nullptr, 10); };
  bounds.signature_bytes = 30'000;
  bounds.signature_time = [](const Blob& b) { return -std::int64_t{b.bytes[0]}; };
  bounds.phase_bytes = 20'000;
  const auto r = archive->load(bounds);
  ASSERT_TRUE(r) << r.error().message;
  std::size_t bytes = 0;
  std::set<std::int64_t> times;
  for (const AlertRecord& a : r->alerts) {
    bytes += a.id.size() + a.json.size() + a.status.size();
    times.insert(bounds.alert_time(a));
  }
  EXPECT_LE(bytes, bounds.alert_bytes);
  EXPECT_GT(r->alerts.size(), 30u);
  EXPECT_EQ(r->alerts.size() + r->alerts_left, std::uint64_t{kAlerts});
  EXPECT_EQ(*times.begin(), kAlerts - static_cast<std::int64_t>(r->alerts.size())) << "the newest";
  EXPECT_EQ(*times.rbegin(), kAlerts - 1);
  ASSERT_FALSE(r->signatures.empty());
  EXPECT_EQ(r->signatures.front().name, "A");
  EXPECT_EQ(r->signatures.size() + r->signatures_left, 26u);
  EXPECT_LE(r->signatures.size() * 5000, bounds.signature_bytes);
  ASSERT_FALSE(r->phases.empty());
  EXPECT_EQ(r->phases.back().index, 999u);
  EXPECT_EQ(r->phases.size() + r->phases_left, 1000u);
  EXPECT_EQ(archive->alerts()->size(), std::size_t{kAlerts});
  EXPECT_EQ(archive->load()->alerts.size(), std::size_t{kAlerts});
}

TEST(ArchiveErrors, NewerFormatSaysSo) {
  const TemporaryFolder dir;
  static_cast<void>(must(Archive::create(dir / "a", example_run())));
  std::ofstream(dir / "a/MARGAY") << "Margay archive, format 4\n";
  const auto r = Archive::open(dir / "a", Mode::kReadOnly);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kVersion);
  EXPECT_EQ(message(r), (dir / "a") + ": was written by a newer Margay: format 4, this one reads up to " +
                            std::to_string(Archive::kFormat));
}

TEST(ArchiveErrors, CreationCutShortIsToldAndFinishedByTheNext) {
  const TemporaryFolder dir;
  std::filesystem::create_directory(dir / "a");
  std::ofstream(dir / "a/MARGAY") << "Margay archive, format 1\n";
  for (const Mode mode : {Mode::kReadOnly, Mode::kWrite}) {
    const auto r = Archive::open(dir / "a", mode);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, ErrorCode::kNotFound);
    EXPECT_NE(message(r).find("its creation was cut short"), std::string::npos) << message(r);
  }
  const auto finished = must(Archive::create(dir / "a", example_run()));
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->load()->run, example_run());
  // One that holds a run is nobody's to make again; nor is what the archive does not know.
  EXPECT_NE(message(Archive::create(dir / "a", example_run())).find("by this process"), std::string::npos);
  std::filesystem::create_directories(dir / "b/db");
  EXPECT_NE(message(Archive::create(dir / "b", example_run())).find("is not empty (db)"), std::string::npos);
}

TEST(ArchiveErrors, AnArchiveIsNotMadeAgain) {
  const TemporaryFolder dir;
  static_cast<void>(must(Archive::create(dir / "a", example_run())));
  EXPECT_NE(message(Archive::create(dir / "a", example_run())).find("is an archive already"),
            std::string::npos);
}

TEST(ArchiveErrors, SecondWriterAndReaderOfTheSameProcessAreRefusedAndDoNoHarm) {
  const TemporaryFolder dir;
  const auto first = must(Archive::create(dir / "a", example_run()));
  for (const Mode mode : {Mode::kReadOnly, Mode::kWrite}) {
    const auto r = Archive::open(dir / "a/../a", mode);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(message(r).find("is being written by this process"), std::string::npos) << message(r);
  }
  Cut c;
  c.sequence = 1;
  expect_ok(first->commit(c, true));
}

TEST(ArchiveErrors, BadRunIsRefusedBeforeAnythingIsMade) {
  const TemporaryFolder dir;
  RunMeta run = example_run();
  run.levels = {milliseconds(100), milliseconds(250)};
  const auto r = Archive::create(dir / "a", run);
  ASSERT_FALSE(r);
  EXPECT_NE(message(r).find("not a multiple"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(dir / "a"));
}

}  // namespace archive_test
}  // namespace margay::store
