// The inside of an Archive: the only place, with the .cc files that include it, that sees RocksDB.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/listener.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "chunk_encoder.h"
#include "joined_slices.h"
#include "journal.h"
#include "leaf_statuses.h"
#include "margay/store/archive.h"
#include "raw_columns.h"

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
  void clear() {
    const std::lock_guard lock(mutex_);
    error_ = rocksdb::Status::OK();
  }

 private:
  mutable std::mutex mutex_;
  rocksdb::Status error_;
};

// A sentence for a person: what was tried, and what is in the way.
tl::unexpected<Error> rocks_error(const rocksdb::Status& status, const std::string& path);

// kUnavailable if some process, which is told, has this archive open for writing.
Status refuse_written(const std::string& path);

struct Archive::Impl {
  ~Impl();

  std::string path;
  std::string registered;  // canonical path in the list of archives this process writes
  Mode mode = Mode::kReadOnly;
  bool live = false;  // kBeside, and there is a writer: `db` is a secondary that is never brought up to date
  ArchiveOptions settings;
  std::unique_ptr<rocksdb::Env> env;  // over settings.files, if any; outlives `db`
  std::uint32_t format = 0;           // of the directory, when it was opened
  std::shared_ptr<ErrorKeeper> errors = std::make_shared<ErrorKeeper>();
  // Readers hold it shared, and open anew (after an error) wants it alone: `db` and `families` change only
  // there. `db` is null when opening anew failed so far.
  mutable std::shared_mutex mutex;
  std::unique_ptr<rocksdb::DB> db;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilies> families{};
  // Of the writer.
  std::vector<DurationNs> levels;
  std::uint64_t last_sequence = 0;
  std::int64_t raw_span = 0;
  RawTails tails;
  ChunkEncoder encoder;
  rocksdb::WriteBatch cut_batch;
  bool failed = false;  // the last write did: open anew before the next

  Status open(bool create);           // takes the archive and opens its database
  Status open_database(bool create);  // the database alone
  void close_database();
  Status not_ready() const;
  // What the writer goes on from; for a new archive the caller sets it.
  Status read_writer_state();
  Status writable() const;
  Status recover();  // after a failed write
  Status write(rocksdb::WriteBatch& what, bool sync);
  // A cut's columns and where its leaves stand go into `cut_batch`, which is empty: returned is how they lie
  // then.
  Result<LeafStatuses::Layout> put_columns(const Cut& cut);
  Result<bool> put_chunks(const Cut& cut, bool packed);  // false: the leaves do not lie in order
  LeafStatuses statuses{*this};
  JoinedSlices joins{*this};
  const Journal journal{*this};

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
  explicit Reading(const Archive::Impl& impl) : lock_(impl.mutex), db_(impl.db.get()) {
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
  explicit Snapshot(const Archive::Impl& impl);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
};

}  // namespace margay::store
