// Taking archives away, and writing them anew.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "margay/store/archive.h"
#include "store_support.h"

namespace margay::store {
namespace remove_test {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::example_run;

class Remove : public ::testing::Test {
 protected:
  std::string make(const std::string& name) {
    auto archive = Archive::create(dir_ / name, example_run());
    EXPECT_TRUE(archive) << archive.error().message;
    std::mt19937_64 random(1);
    Cut cut;
    cut.sequence = 1;
    cut.columns = {testing::random_column(random, LevelIndex(0), SliceIndex(3), 9, 4, milliseconds(100))};
    EXPECT_TRUE((*archive)->commit(cut, true));
    return dir_ / name;
  }
  // Refused in these words, and everything is as it was.
  static void refused(const std::string& path, ErrorCode code, const std::string& words) {
    SCOPED_TRACE(words);
    for (const Status& s : {Archive::check_removable(path), Archive::remove(path)}) {
      ASSERT_FALSE(s);
      EXPECT_EQ(s.error().code, code);
      EXPECT_NE(s.error().message.find(words), std::string::npos) << s.error().message;
    }
  }
  static void write(const std::string& path) { std::ofstream(path) << "mine\n"; }

  TemporaryFolder dir_;
};

TEST_F(Remove, AnArchiveGoesWithItsDirectoryAndNothingBesideIt) {
  const std::string path = make("a"), other = make("b");
  ASSERT_TRUE(Archive::check_removable(path));
  ASSERT_TRUE(fs::exists(path + "/MARGAY")) << "asking takes nothing away";
  ASSERT_TRUE(Archive::remove(path + "/"));
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(Archive::open(other, Mode::kReadOnly));
}

TEST_F(Remove, WhatIsNoArchiveIsRefused) {
  refused(dir_ / "missing", ErrorCode::kNotFound, "no such archive");
  fs::create_directory(dir_ / "d");
  refused(dir_ / "d", ErrorCode::kInvalidArgument, "not a Margay archive");
  write(dir_ / "f");
  refused(dir_ / "f", ErrorCode::kInvalidArgument, "is a file or a link");
  const std::string path = make("a");
  fs::create_directory_symlink(path, dir_ / "link");
  refused(dir_ / "link", ErrorCode::kInvalidArgument, "is a file or a link");
  refused(dir_ / "link/", ErrorCode::kInvalidArgument, "is a file or a link");
  EXPECT_TRUE(Archive::open(path, Mode::kReadOnly));
}

TEST_F(Remove, WhatHoldsSomethingElseIsRefusedAndStaysWhole) {
  const std::string path = make("a");
  for (const char* name : {"/notes.txt", "/db/thesis.tex", "/db/1.sst.bak", "/db/MANIFEST-x"}) {
    write(path + name);
    refused(path, ErrorCode::kInvalidArgument, fs::path(name).filename());
    EXPECT_TRUE(Archive::open(path, Mode::kReadOnly));
    fs::remove(path + name);
  }
  fs::create_directory(path + "/more");
  refused(path, ErrorCode::kInvalidArgument, "'more'");
  fs::remove(path + "/more");
  // A link with a name of the store's would lead out of the archive.
  write(dir_ / "precious");
  fs::create_symlink(dir_ / "precious", path + "/db/000999.sst");
  refused(path, ErrorCode::kInvalidArgument, "000999.sst");
  fs::remove(path + "/db/000999.sst");
  fs::rename(path + "/db", dir_ / "elsewhere");
  fs::create_directory_symlink(dir_ / "elsewhere", path + "/db");
  refused(path, ErrorCode::kInvalidArgument, "'db'");
  EXPECT_TRUE(fs::exists(dir_ / "elsewhere/CURRENT"));
}

TEST_F(Remove, FilesThatTheCallerNamesGoAsWell) {
  const std::string path = make("a");
  write(path + "/log");
  refused(path, ErrorCode::kInvalidArgument, "'log'");
  write(path + "/notes");
  EXPECT_FALSE(Archive::remove(path, {"log"}));
  fs::remove(path + "/notes");
  ASSERT_TRUE(fs::exists(path + "/log"));
  EXPECT_TRUE(Archive::remove(path, {"log", "more"}));
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Remove, WhatIsBeingWrittenIsRefused) {
  const std::string path = make("a");
  const auto writer = Archive::open(path, Mode::kWrite);
  ASSERT_TRUE(writer);
  refused(path, ErrorCode::kUnavailable, "being written");
  Cut cut;
  cut.sequence = 2;
  EXPECT_TRUE((*writer)->commit(cut, true)) << "and it goes on";
}

TEST_F(Remove, AHalfNeverLooksWholeAndIsTakenAwayByTheNext) {
  const std::string path = make("a");
  // As after a crash behind the first step, and behind some of the others.
  fs::rename(path + "/MARGAY", path + "/MARGAY.removing");
  EXPECT_EQ(Archive::open(path, Mode::kReadOnly).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Archive::open(path, Mode::kWrite).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(Archive::create(path, example_run()));
  fs::remove(path + "/db/CURRENT");
  ASSERT_TRUE(Archive::remove(path));
  EXPECT_FALSE(fs::exists(path));
  fs::create_directory(path);
  write(path + "/MARGAY.removing");
  ASSERT_TRUE(Archive::remove(path));
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Remove, ANewerFormatGoesAsWell) {
  const std::string path = make("a");
  std::ofstream(path + "/MARGAY") << "Margay archive, format 999\n";
  EXPECT_EQ(Archive::open(path, Mode::kReadOnly).error().code, ErrorCode::kVersion);
  EXPECT_TRUE(Archive::remove(path));
}

TEST(Compact, TakesTheRoomOfWhatWasReplacedAndKeepsTheRest) {
  const TemporaryFolder dir;
  auto archive = Archive::create(dir / "a", example_run());
  ASSERT_TRUE(archive);
  std::mt19937_64 random(5);
  Cut cut;
  for (int round = 0; round < 6; ++round) {  // the same slices again and again
    cut.columns.clear();
    ++cut.sequence;
    for (int s = 0; s < 40; ++s)
      cut.columns.push_back(
          testing::random_column(random, LevelIndex(0), SliceIndex(s), 256, 8, milliseconds(100)));
    ASSERT_TRUE((*archive)->commit(cut, false));
  }
  const std::uint64_t before = (*archive)->disk_use()->archive;
  ASSERT_TRUE((*archive)->compact());
  EXPECT_LT((*archive)->disk_use()->archive, before / 2);
  const auto columns = (*archive)->read_columns(LevelIndex(0), SliceIndex(0), SliceIndex(39));
  ASSERT_TRUE(columns);
  ASSERT_EQ(columns->size(), 40u);
  for (std::size_t s = 0; s < 40; ++s) EXPECT_EQ((*columns)[s], *cut.columns[s]);
  archive->reset();
  EXPECT_EQ(Archive::open(dir / "a", Mode::kReadOnly).value()->compact().error().code,
            ErrorCode::kInvalidArgument);
}

}  // namespace remove_test
}  // namespace margay::store
