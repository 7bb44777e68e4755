// The database of an archive: opened, opened anew after an error, read and written. The only place, with the
// .cc files that include it, that sees RocksDB. The store's own.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/listener.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "margay/store/archive.h"

namespace margay::store {

// Column families, in the order of kFamilyNames.
enum Family : std::size_t { kMeta, kSlices, kRaw, kReports, kSources, kJournal, kFamilies };
inline constexpr std::array<const char*, kFamilies> kFamilyNames = {"meta",    "slices",  "raw",
                                                                    "reports", "sources", "journal"};
// Families that archives of format 1 have; of those, a reader finds no journal.
inline constexpr std::size_t kFirstFamilies = kJournal;

// Keeps the newest error of a background job until writing works again.
class ErrorKeeper final : public rocksdb::EventListener {
 public:
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* error) override {
    const std::lock_guard lock(mutex_);
    error_ = *error;
  }
  void OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) override {
    const std::lock_guard lock(mutex_);
    error_ = info.new_bg_error;
  }
  rocksdb::Status get() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  mutable std::mutex mutex_;
  rocksdb::Status error_;
};

// A sentence for a person: what was tried, and what is in the way.
tl::unexpected<Error> rocks_error(const rocksdb::Status& status, const std::string& path);

struct Database {
  Database(std::string path, Mode mode, const ArchiveOptions& options, std::uint32_t format);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string path;
  std::string registered;  // among the archives that this process writes
  const Mode mode;
  bool live = false;  // kBeside, and there is a writer: `db` is a secondary that is never brought up to date
  ArchiveOptions settings;
  std::unique_ptr<rocksdb::Env> env;  // over settings.files, if any; outlives `db`
  std::uint32_t format;               // of the directory, when it was opened
  std::shared_ptr<ErrorKeeper> errors = std::make_shared<ErrorKeeper>();
  // Readers hold it shared, and open anew (after an error) wants it alone: `db` and `families` change only
  // there. `db` is null when opening anew failed so far.
  mutable std::shared_mutex mutex;
  std::unique_ptr<rocksdb::DB> db;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilies> families{};
  std::vector<DurationNs> levels;  // of the run, for the writer
  bool failed = false;             // the last write did: open anew before the next

  Status open(bool create);           // takes the archive and opens its database
  Status open_database(bool create);  // the database alone
  void close_database();
  Status not_ready() const;
  Status writable() const;
  Status recover();  // after a failed write or background work that failed
  // Both, which is what a change begins with.
  Status ready_to_write();
  Status write(rocksdb::WriteBatch& what, bool sync);
  // The error of a write, after which the database is opened anew.
  tl::unexpected<Error> write_error(const rocksdb::Status& status);
  Status health() const;

  // Reads one value; false when there is none.
  Result<bool> get(const rocksdb::ReadOptions& options, Family family, std::string_view key,
                   std::string& value) const;
  // Calls take(key, value) for keys in [from, to) until it returns false or an error.
  using Take = std::function<Result<bool>(std::string_view key, std::string_view value)>;
  Status scan(const rocksdb::ReadOptions& options, Family family, const std::string& from,
              const std::string& to, const Take& take) const;
  Status scan_letter(const rocksdb::ReadOptions& options, Family family, char letter, const Take& take) const;
};

inline std::string_view view(const rocksdb::Slice& s) {
  return {s.data(), s.size()};
}
inline rocksdb::Slice slice(std::string_view s) {
  return {s.data(), s.size()};
}

// Holds the database open for the life of a reading call that makes one iterator. That alone is one state,
// also while what is old is dropped beside it: an iterator keeps its files; one made from an earlier snapshot
// could miss some.
class Reading {
 public:
  explicit Reading(const Database& database) : lock_(database.mutex), db_(database.db.get()) {
    options_.fill_cache = false;  // a long scan is seldom repeated: it must not fill the cache
  }
  explicit operator bool() const { return db_ != nullptr; }
  const rocksdb::ReadOptions& options() const { return options_; }

 protected:
  std::shared_lock<std::shared_mutex> lock_;
  rocksdb::DB* db_;
  rocksdb::ReadOptions options_;
};

// Holds the database open, and a snapshot, for the life of a reading call. Not for what retention drops.
// False when there is no database.
class Snapshot : public Reading {
 public:
  explicit Snapshot(const Database& database);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
};

}  // namespace margay::store
