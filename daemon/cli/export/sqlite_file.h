// Tables in one SQLite file that is there whole or not at all: it is made as PATH.partial, which becomes PATH
// when all of it is on the disk. What was at PATH is replaced.
//
// Rows go in by prepared statements, in one transaction without a journal; indices are made behind them.
// Memory: SQLite's cache (64 MiB). What it sorts for an index lies in files without a name beside PATH.
//
// Errors: kIo, with the path and why. Thread safety: none. Owns the file until commit().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "tables/table.h"

struct sqlite3;
struct sqlite3_stmt;

namespace margay::daemon {

class SqliteFile {
 public:
  static constexpr int kSchema = 1;  // PRAGMA user_version

  // `zero`: what times are counted from. A file PATH.partial that was left there is taken away.
  static Result<std::unique_ptr<SqliteFile>> create(const std::string& path, TimeNs zero);
  // Takes away what was not committed.
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  // Makes it, without rows. A moment NAME_s is two columns: NAME_ns, and NAME_s, which takes no room.
  Status make(const Table& table);
  // What is added from now on is of this table, which was made.
  Status fill(const Table& table);
  Status add(const Row& row);
  // Takes its rows away again.
  Status clear(const Table& table);
  Status commit();

 private:
  SqliteFile(std::string path, TimeNs zero);
  Status open();
  Status run(const std::string& sql);
  Status failed(int code);
  void close();

  const std::string path_, partial_;
  const TimeNs zero_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  std::vector<std::string> indices_;  // statements
  bool there_ = false;                // partial_
};

}  // namespace margay::daemon
