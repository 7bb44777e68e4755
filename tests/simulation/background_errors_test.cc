// Errors of the disk that no commit meets itself: in flushes, compactions and the manifest, which RocksDB
// writes in the background, and in its log.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "faulty_files.h"
#include "margay/store/archive.h"
#include "unit/store/crash_cut.h"
#include "unit/store/store_support.h"

namespace margay::simulation {

using store::testing::numbered_cut;
using namespace std::chrono_literals;

// The file that the database writes its list of files to.
std::string current_manifest(const std::string& archive) {
  std::string name;
  std::getline(std::ifstream(archive + "/db/CURRENT"), name);
  return name;
}

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
    constexpr std::uint64_t kMost = 5'000;
    const std::string before = current_manifest(path);
    Status committed;
    const auto commit = [&] {
      const bool told = committed && !(*archive)->health();
      if (committed) ++number;
      committed = (*archive)->commit(numbered_cut(number), true);
      if (!committed) ++failed;
      EXPECT_TRUE(committed || !told) << "an error that was known before cost a commit";
    };
    for (std::uint64_t cuts = 0; files->failing() > 0 && cuts < kMost; ++cuts) commit();
    ASSERT_EQ(files->failing(), 0u) << "nothing failed in " << kMost << " cuts";
    // The error of a flush or a compaction is told some time after the call that failed. The next commit
    // opens the database anew, which begins another manifest; a cut that failed is committed again.
    for (int waits = 0; waits < 6'000 && (!committed || current_manifest(path) == before); ++waits) {
      std::this_thread::sleep_for(10ms);
      commit();
    }
    EXPECT_NE(current_manifest(path), before);
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

// The disk fails once more while the database is opened anew: commits fail until it is open. True if no
// commit had met the first error when it was told, nor opened the database anew, which is a matter of chance.
bool fails_again_when_opened() {
  const test::TemporaryFolder place("/dev/shm");
  const auto files = std::make_shared<FaultyFiles>();
  store::ArchiveOptions options;
  options.files = files;
  options.memory_bytes = std::size_t{8} << 20;
  const std::string path = place / "a";
  auto archive = store::Archive::create(path, store::testing::example_run(), options);
  EXPECT_TRUE(archive) << archive.error().message;
  std::uint64_t number = 1;
  const auto commit = [&] {
    const Status s = (*archive)->commit(numbered_cut(number), true);
    if (s) ++number;
    return s;
  };
  bool met = false;
  const std::string before = current_manifest(path);
  files->fail(1, "sst");
  for (int cuts = 0; files->failing() > 0 && cuts < 5'000; ++cuts) {
    met = !commit() || met;
    std::this_thread::sleep_for(1ms);  // a flush may fail meanwhile
  }
  EXPECT_EQ(files->failing(), 0u);
  for (int waits = 0; !met && waits < 6'000 && (*archive)->health() && current_manifest(path) == before;
       ++waits)
    std::this_thread::sleep_for(10ms);
  // It may have been told just before the last of these commits, which has opened the database anew.
  if (current_manifest(path) != before) return false;
  files->fail(1, "MANIFEST");
  EXPECT_FALSE(commit()) << "it cannot be opened";
  EXPECT_EQ(files->failing(), 0u);
  const Status again = commit();
  EXPECT_TRUE(again) << again.error().message;
  EXPECT_TRUE((*archive)->health());
  return !met;
}

TEST(BackgroundErrorsTwice, ADatabaseThatCannotBeOpenedAnewIsTriedAgain) {
  int unmet = 0;
  for (int i = 0; i < 100 && unmet < 2 && !HasFailure(); ++i) unmet += fails_again_when_opened();
  EXPECT_EQ(unmet, 2);
}

// Words in the names of the files: tables, the manifest, the log.
INSTANTIATE_TEST_SUITE_P(Of, BackgroundErrors, ::testing::Values("sst", "MANIFEST", "log"),
                         [](const auto& of) { return of.param; });

}  // namespace margay::simulation
