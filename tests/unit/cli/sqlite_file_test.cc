// Tables as CSV and as SQLite: the same values in both, whatever they are; a file that is whole or not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "export/sqlite_file.h"

namespace margay::daemon {
namespace sqlite_file_test {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Column::Kind;

constexpr TimeNs kZero{1'000'000'000'000'000'007};

const Table kTable = {"things",
                      {{"begin_s", Kind::kMoment},
                       {"from", Kind::kText},
                       {"count", Kind::kInteger},
                       {"share", Kind::kReal},
                       {"short", Kind::kShortReal},
                       {"there", Kind::kYesNo}},
                      {"begin_s", "\"from\", begin_ns"}};

class SqliteFileTest : public testing::Test {
 protected:
  SqliteFileTest() : folder_(fs::path(testing::TempDir()) / ("sqlite_file_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    before_ = fs::current_path();
    fs::current_path(folder_);
  }
  ~SqliteFileTest() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }
  static Status write(const std::string& path, const std::vector<Row>& rows) {
    auto file = SqliteFile::create(path, kZero);
    if (!file) return tl::unexpected(file.error());
    if (Status ok = (*file)->make(kTable); !ok) return ok;
    if (Status ok = (*file)->fill(kTable); !ok) return ok;
    for (const Row& row : rows)
      if (Status ok = (*file)->add(row); !ok) return ok;
    return (*file)->commit();
  }
  // Each field as SQLite writes it; NULL as "-".
  static std::vector<std::string> ask(const std::string& path, const std::string& sql) {
    std::vector<std::string> out;
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open_v2(fs::absolute(path).c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    const auto take = [](void* to, int n, char** values, char**) {
      for (int i = 0; i < n; ++i)
        static_cast<std::vector<std::string>*>(to)->emplace_back(values[i] != nullptr ? values[i] : "-");
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), take, &out, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
    return out;
  }

 private:
  fs::path folder_, before_;
};

TEST_F(SqliteFileTest, ValuesAreThoseOfCsv) {
  const Row row = {
      TimeNs(kZero.value + 12'345'678'901), std::string("a,\"b\"\n\xff"), std::int64_t{-3}, 0.1, 0.1, true};
  const Row nothing(kTable.columns.size());
  EXPECT_EQ(csv_head(kTable), "begin_s,from,count,share,short,there\n");
  EXPECT_EQ(csv_line(kTable, row, kZero), "12.345678901,\"a,\"\"b\"\"??\",-3,0.10000000000000001,0.1,TRUE\n");
  EXPECT_EQ(csv_line(kTable, nothing, kZero), ",,,,,\n");
  ASSERT_TRUE(write("a.sqlite", {row, nothing}));
  EXPECT_THAT(ask("a.sqlite", "SELECT * FROM things"),
              ElementsAre("1000000012345678908", "12.345678901", "a,\"b\"??", "-3", "0.1", "0.1", "1", "-",
                          "-", "-", "-", "-", "-", "-"));
  EXPECT_THAT(ask("a.sqlite", "PRAGMA integrity_check"), ElementsAre("ok"));
  EXPECT_THAT(ask("a.sqlite", "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY rowid"),
              ElementsAre("things_begin_s", "things_from_begin_ns"));
}

TEST_F(SqliteFileTest, ExtremesAreNoOtherValues) {
  const TimeNs least(std::numeric_limits<std::int64_t>::min() / 4);
  ASSERT_TRUE(write("b.sqlite", {{least, std::string(), std::numeric_limits<std::uint64_t>::max(),
                                  std::nan(""), -0.0, false}}));
  EXPECT_THAT(ask("b.sqlite", "SELECT begin_ns, \"from\", count, share, short, there FROM things"),
              ElementsAre(std::to_string(least.value), "", "1.84467440737096e+19", "-", "0.0", "0"));
}

TEST_F(SqliteFileTest, AnyNameIsAFileName) {
  for (const char* name : {"file:x?mode=memory", ":memory:", "a'b\".sqlite"}) {
    ASSERT_TRUE(write(name, {})) << name;
    EXPECT_GT(fs::file_size(name), 4096u) << name;
  }
}

TEST_F(SqliteFileTest, NothingIsLeftOfWhatIsNotCommitted) {
  std::ofstream("old.sqlite") << "old";
  {
    auto file = SqliteFile::create("old.sqlite", kZero);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->make(kTable));
    EXPECT_TRUE(fs::exists("old.sqlite.partial"));
  }
  EXPECT_FALSE(fs::exists("old.sqlite.partial"));
  EXPECT_EQ(fs::file_size("old.sqlite"), 3u);
  ASSERT_TRUE(write("old.sqlite", {}));
  EXPECT_THAT(ask("old.sqlite", "SELECT COUNT(*) FROM things"), ElementsAre("0"));
  EXPECT_EQ(std::distance(fs::directory_iterator("."), fs::directory_iterator()), 1);
}

TEST_F(SqliteFileTest, ClearedRowsAreGone) {
  auto file = SqliteFile::create("c.sqlite", kZero);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->make(kTable));
  ASSERT_TRUE((*file)->fill(kTable));
  ASSERT_TRUE((*file)->add(Row(kTable.columns.size())));
  ASSERT_TRUE((*file)->clear(kTable));
  ASSERT_TRUE((*file)->commit());
  EXPECT_THAT(ask("c.sqlite", "SELECT COUNT(*) FROM things"), ElementsAre("0"));
}

TEST_F(SqliteFileTest, PlacesThatCannotBeAreErrors) {
  const auto missing = SqliteFile::create("no/where.sqlite", kZero);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "no/where.sqlite.partial: No such file or directory");
  fs::create_directory("folder");
  const Status over = write("folder", {});
  ASSERT_FALSE(over);
  EXPECT_THAT(over.error().message, HasSubstr("folder: could not be written: Is a directory"));
  EXPECT_FALSE(fs::exists("folder.partial"));
}

}  // namespace sqlite_file_test
}  // namespace margay::daemon
