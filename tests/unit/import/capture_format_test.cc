// Captures as a format that is imported: what is told to be covered on the way, and the archive of one.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "capture_rig.h"
#include "margay/import/archive_writer.h"
#include "margay/import/format.h"
#include "margay/trace/resampler.h"
#include "support/synthetic_capture.h"

namespace margay::trace {
namespace capture_format_test {

using namespace testing;

// No record comes before what was told, and it is told as the capture goes on.
class Promises final : public Consumer {
 public:
  Status on_name(std::uint16_t, const Name&) override { return {}; }
  Status on_leaf(LeafIndex, const Leaf&) override { return {}; }
  Status on_records(LeafIndex, std::span<const EventRecord> r) override {
    for (const EventRecord& e : r) {
      late += TimeNs(e.time_ns) < covered ? 1 : 0;
      newest = std::max(newest, TimeNs(e.time_ns));
    }
    return {};
  }
  Status on_covered(TimeNs t) override {
    if (told++ > 0) farthest = std::max(farthest, newest - covered);
    covered = t;
    return {};
  }
  TimeNs covered{std::numeric_limits<std::int64_t>::min()}, newest{};
  std::uint64_t told = 0, late = 0;
  DurationNs farthest{};  // what was open when it was told
};

TEST(Capture, WhatIsCoveredIsToldOnTheWay) {
  const test::SyntheticCapture what{40'000, 20, 5};
  const std::string bytes = what.bytes();
  Promises p;
  const auto counts = read_capture_bytes(bytes, "c", {}, p);
  ASSERT_TRUE(counts);
  EXPECT_EQ(p.late, 0u);
  EXPECT_GT(p.told, 4u);
  EXPECT_LT(p.farthest, what.kEnd - seconds(15)) << p.farthest.value;
  EXPECT_EQ(p.covered, counts->end);
}

// Two ranks, each with a record.
File two_that_began() {
  File f;
  f.hello(7, 0)
      .hello(8, 1)
      .batch(7, 0, {record(MARGAY_ENTER, 1, 1)}, 5)
      .batch(8, 0, {record(MARGAY_ENTER, 1, 2)}, 5);
  return f;
}
// So many batches more of the first, each of a record, every 50 ms.
void first_goes_on(File& f, int batches) {
  for (int i = 0; i < batches; ++i)
    f.at(100 + 50 * i)
        .batch(7, static_cast<std::uint64_t>(1 + i),
               {record(i % 2 == 0 ? MARGAY_LEAVE : MARGAY_ENTER, 1, 10 + 50 * i)}, 50 + 50 * i);
}

TEST(Capture, ASilentStreamHoldsWhatIsCoveredForSoLong) {
  File f = two_that_began();
  // The second is not heard of any more.
  first_goes_on(f, 600);
  Keeper k;
  static_cast<void>(f.read(k));
  ASSERT_EQ(k.told.size(), 4u) << "at the begin, twice on the way, at the end";
  const auto ms = [](TimeNs t) { return (t.value - kWall) / 1'000'000; };
  EXPECT_EQ(ms(k.told[0]), 1 - 1000);
  // The 256th batch came at 12.75 s: 10 s for the silent one, 1 s for what is not heard of yet.
  EXPECT_NEAR(static_cast<double>(ms(k.told[1])), 12'800 - 11'000 - 100, 100);
  EXPECT_NEAR(static_cast<double>(ms(k.told[2])), 25'600 - 11'000 - 100, 100);
  // One that ended holds nothing.
  File g = two_that_began();
  g.goodbye(8, 6, 1);
  first_goes_on(g, 300);
  Keeper ended;
  static_cast<void>(g.read(ended));
  ASSERT_EQ(ended.told.size(), 3u);
  EXPECT_NEAR(static_cast<double>(ms(ended.told[1])), 12'800 - 1'000 - 100, 100);
}

TEST(Capture, AnArchiveOfItHasEveryRecord) {
  const std::filesystem::path dir = std::filesystem::path(::testing::TempDir()) / "margay_capture_archive";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  const test::SyntheticCapture what{40'000, 20, 7};
  const std::string bytes = what.bytes();
  Input input = Input::of_text("night.capture", bytes, 70'000);
  const auto format = choose_format("auto", input);
  ASSERT_TRUE(format) << format.error().message;
  EXPECT_EQ((*format)->name, "capture");
  ArchiveWriter::Options options;
  options.run.levels = {milliseconds(100), seconds(1)};
  // Room for 60 open slices of 100 ms: the whole run has 450.
  options.cell_bytes = 2 * 60 * 20 * (12 * 20 + 128);
  auto writer = ArchiveWriter::create(dir / "a", options);
  ASSERT_TRUE(writer) << writer.error().message;
  std::vector<std::string> problems;
  ReadOptions how;
  how.problem = [&](const std::string& s) { problems.push_back(s); };
  const auto counts = (*format)->read(input, how, **writer);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(problems, std::vector<std::string>{});
  EXPECT_EQ(counts->bytes, bytes.size());
  const auto outcome = (*writer)->finish(counts->late, counts->rejected);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->late_dropped, 0u);
  EXPECT_EQ(outcome->modelled, counts->records);
  EXPECT_EQ(outcome->begin, *counts->begin);
  const auto archive = store::Archive::open(dir / "a", store::Mode::kReadOnly);
  ASSERT_TRUE(archive) << archive.error().message;
  EXPECT_EQ((*archive)->column_range(LevelIndex(0))->value().first,
            slice_of(*counts->begin, milliseconds(100)));

  // The cells are those that the re-slicer makes of the same events.
  Resampler model(slicer::Reslicer::Options{
      *slicer::Grid::make(slice_begin(slice_of(outcome->begin, seconds(1)), seconds(1)),
                          slice_end(slice_of(outcome->end, seconds(1)), seconds(1)),
                          static_cast<std::uint64_t>(slice_of(outcome->end, seconds(1)).value -
                                                     slice_of(outcome->begin, seconds(1)).value + 1)),
      {},
      {}});
  ASSERT_TRUE(read_capture_bytes(bytes, "c", {}, model));
  ASSERT_TRUE(model.finish());
  const auto all = (*archive)->load();
  ASSERT_TRUE(all);
  std::map<std::string, std::uint16_t> ids;
  for (std::uint16_t i = 0; i < all->states.size(); ++i) ids[all->states[StateId(i)].name] = i;
  const auto columns = (*archive)->read_columns(LevelIndex(1), slice_of(outcome->begin, seconds(1)),
                                                slice_of(outcome->end, seconds(1)));
  ASSERT_TRUE(columns);
  ASSERT_EQ(columns->size(), model.cells().grid().slices);
  std::size_t cells = 0;
  for (std::uint32_t k = 0; k < columns->size(); ++k)
    for (std::uint32_t l = 0; l < (*columns)[k].leaves(); ++l)
      for (std::size_t x = 0; x < model.cells().columns(); ++x) {
        const std::uint16_t id = ids.at(model.cells().column_name(x));
        const std::int64_t kept =
            id < (*columns)[k].states() ? (*columns)[k].duration_ns(LeafIndex(l))[id] : 0;
        ASSERT_EQ(kept, static_cast<std::int64_t>(model.cells().count(LeafIndex(l), k, x)))
            << "slice " << k << " leaf " << l << " " << model.cells().column_name(x);
        cells += kept > 0 ? 1 : 0;
      }
  EXPECT_GT(cells, 1000u);
  std::filesystem::remove_all(dir);
}

}  // namespace capture_format_test
}  // namespace margay::trace
