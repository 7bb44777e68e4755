// Errors of the disk that no commit meets itself: in flushes, compactions and the manifest, which RocksDB
// writes in the background, and in its log.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "faulty_files.h"
#include "margay/store/archive.h"
#include "unit/store/crash_cut.h"
#include "unit/store/store_support.h"

namespace margay::simulation {

using store::testing::numbered_cut;

class BackgroundErrors : public ::testing::TestWithParam<std::string> {};

TEST_P(BackgroundErrors, TheCutThatFailedIsCommittedAgainAndNoneIsLost) {
  const test::TemporaryFolder place("/dev/shm");
  const std::string path = place / "a";
  const auto files = std::make_shared<FaultyFiles>();
  store::ArchiveOptions options;
  options.files = files;
  options.memory_bytes = std::size_t{8} << 20;  // write buffers are soon full
  auto archive = store::Archive::create(path, store::testing::example_run(), options);
  ASSERT_TRUE(archive) << archive.error().message;

  std::uint64_t number = 0, failed = 0;
  for (int round = 0; round < 3; ++round) {
    files->fail(1, GetParam());
    // The error of a flush or a compaction is told by a later commit, unless RocksDB has mended it by then.
    // One that failed is committed again.
    constexpr std::uint64_t kMost = 5'000;
    Status committed;
    const auto commit = [&] {
      if (committed) ++number;
      committed = (*archive)->commit(numbered_cut(number), true);
      if (!committed) ++failed;
    };
    for (std::uint64_t cuts = 0; files->failing() > 0 && cuts < kMost; ++cuts) commit();
    ASSERT_EQ(files->failing(), 0u) << "nothing failed in " << kMost << " cuts";
    for (int tries = 0; tries < 10 && !(committed && (*archive)->health()); ++tries) commit();
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_TRUE((*archive)->health());
  }

  // A commit writes the log itself.
  if (GetParam() == "log") {
    EXPECT_GE(failed, 3u);
  }
  archive->reset();
  const auto read = store::Archive::open(path, store::Mode::kReadOnly);
  ASSERT_TRUE(read) << read.error().message;
  const auto held = (*read)->load();
  ASSERT_TRUE(held) << held.error().message;
  const store::Cut expected = numbered_cut(number);
  EXPECT_EQ(held->sequence, number);
  EXPECT_EQ(held->state, expected.state);
  EXPECT_EQ(held->streams, expected.streams);
  EXPECT_EQ(held->alerts, expected.alerts);
  const auto columns = (*read)->read_columns(LevelIndex(0), SliceIndex(0), SliceIndex(0));
  ASSERT_TRUE(columns) << columns.error().message;
  ASSERT_EQ(columns->size(), 1u);
  EXPECT_EQ(columns->front(), *expected.columns[0]);
}

// Words in the names of the files: tables, the manifest, the log.
INSTANTIATE_TEST_SUITE_P(Of, BackgroundErrors, ::testing::Values("sst", "MANIFEST", "log"),
                         [](const auto& of) { return of.param; });

}  // namespace margay::simulation
