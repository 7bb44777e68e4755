#include "database.h"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/table.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <utility>

#include "archive_directory.h"
#include "private_files.h"

namespace margay::store {
namespace fs = std::filesystem;
namespace {

constexpr int kAttempts = 5;  // to open what somebody is writing

class NoLog final : public rocksdb::Logger {
 public:
  NoLog() : rocksdb::Logger(rocksdb::FATAL_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// A share of the disk's budget; `most` where there is no budget or it is large.
std::uint64_t part_of_budget(const ArchiveOptions& o, std::uint64_t parts, std::uint64_t most) {
  constexpr std::uint64_t kLeast = 1 << 20;
  return o.disk_budget == 0 ? most : std::clamp(o.disk_budget / parts, kLeast, most);
}

rocksdb::Options database_options(const ArchiveOptions& o, const std::shared_ptr<ErrorKeeper>& errors) {
  rocksdb::Options r;
  r.listeners.push_back(errors);
  r.db_write_buffer_size = o.memory_bytes / 2;  // over all families
  r.max_open_files = o.max_open_files;
  r.max_background_jobs = 2;
  r.max_bgerror_resume_count = 0;  // recovery is Database::recover, in one place
  // Families that see few writes must not keep old logs alive.
  r.max_total_wal_size = part_of_budget(o, 8, std::uint64_t{64} << 20);
  r.bytes_per_sync = 1u << 20;  // the disk gets its work evenly, not in bursts
  // No diary of RocksDB's own: on a full disk its writer aborts the process (an assertion that Debian's build
  // keeps), and a directory that may only be read can be read without it. Errors come as a Status.
  r.info_log = std::make_shared<NoLog>();
  r.stats_dump_period_sec = 0;
  r.stats_persist_period_sec = 0;
  r.max_manifest_file_size = part_of_budget(o, 32, std::uint64_t{16} << 20);
  // A log whose last record was torn by a crash is read up to there.
  r.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  return r;
}

rocksdb::ColumnFamilyOptions family_options(Family f, const ArchiveOptions& o,
                                            const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions r;
  const bool large = f == kSlices || f == kRaw;
  r.write_buffer_size =
      std::min<std::uint64_t>(large ? o.memory_bytes / 6 : o.memory_bytes / 24,
                              part_of_budget(o, 32, std::numeric_limits<std::uint64_t>::max()));
  if (o.disk_budget != 0) {
    // Small files go whole when what is in them is old, and no compaction takes a large part of the budget.
    r.target_file_size_base = part_of_budget(o, 64, std::uint64_t{64} << 20);
    r.max_compaction_bytes = r.target_file_size_base * 8;
    r.max_bytes_for_level_base = r.target_file_size_base * 8;
  }
  r.max_write_buffer_number = large ? 3 : 2;
  // Values of slices and raw are compressed already.
  r.compression = large ? rocksdb::kNoCompression : rocksdb::kLZ4Compression;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = true;  // or they would live outside the cache's bound
  table.block_size = large ? 16u << 10 : 4u << 10;
  table.format_version = 5;
  r.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return r;
}

// The smallest key above all keys that begin with `letter`.
std::string after(char letter) {
  return std::string(1, static_cast<char>(letter + 1));
}

}  // namespace

tl::unexpected<Error> rocks_error(const rocksdb::Status& status, const std::string& path) {
  const std::string text = status.ToString();
  if (status.IsNoSpace() || text.find("No space left") != std::string::npos)
    return fail(ErrorCode::kIo, path + ": the disk is full (" + text + ")");
  if (text.find("Permission denied") != std::string::npos)
    return fail(ErrorCode::kIo, path + ": permission denied (" + text + ")");
  if (status.IsCorruption()) return fail(ErrorCode::kCorrupt, path + ": " + text);
  if (status.IsNotSupported()) return fail(ErrorCode::kVersion, path + ": " + text);
  if (status.IsInvalidArgument()) return fail(ErrorCode::kInvalidArgument, path + ": " + text);
  return fail(ErrorCode::kIo, path + ": " + text);
}

Database::Database(std::string at, Mode how, const ArchiveOptions& options, std::uint32_t its_format)
    : path(std::move(at)), mode(how), settings(options), format(its_format) {}

Database::~Database() {
  close_database();
  if (!registered.empty()) forget_writer(registered);
}

void Database::close_database() {
  if (!db) return;
  for (auto*& f : families) {
    if (f) db->DestroyColumnFamilyHandle(f);
    f = nullptr;
  }
  db->Close();
  db.reset();
}

Status Database::open(bool create) {
  settings.memory_bytes = std::max<std::size_t>(settings.memory_bytes, std::size_t{8} << 20);
  if (mode == Mode::kWrite) {
    auto name = register_writer(path);
    if (!name) return tl::unexpected(name.error());
    registered = std::move(*name);
    if (::access(path.c_str(), W_OK | X_OK) != 0) return system_error(path, errno);
  } else if (Status s = refuse_written(path); !s) {
    if (mode != Mode::kBeside || s.error().code != ErrorCode::kUnavailable) return s;
    live = true;
  }
  if (!live) return open_database(create);
  // Files that the writer deletes between our reading of its list and our opening of them are in none of its
  // next lists.
  Status opened;
  for (int i = 0; i < kAttempts && !(opened = open_database(create)); ++i)
    if (opened.error().code == ErrorCode::kVersion) return opened;
  if (!opened)
    return fail(ErrorCode::kUnavailable, path + ": is being written, and changed " +
                                             std::to_string(kAttempts) + " times while it was opened (" +
                                             opened.error().message + ")");
  return {};
}

Status Database::open_database(bool create) {
  rocksdb::Options r = database_options(settings, errors);
  r.create_if_missing = create;
  if (settings.files && !env) env = private_files(settings.files);
  r.env = env ? env.get() : private_files();
  if (live) r.max_open_files = -1;  // a file that the writer deletes stays readable for whoever has it open
  r.create_missing_column_families = mode == Mode::kWrite;  // an older format has fewer
  const auto cache = rocksdb::NewLRUCache(settings.memory_bytes / 3);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  descriptors.emplace_back(rocksdb::kDefaultColumnFamilyName, family_options(kMeta, settings, cache));
  const std::size_t count = mode != Mode::kWrite && format < 2 ? kFirstFamilies : kFamilies;
  for (std::size_t f = 0; f < count; ++f)
    descriptors.emplace_back(kFamilyNames[f], family_options(static_cast<Family>(f), settings, cache));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* raw = nullptr;
  // The second directory would be that of its diary.
  const rocksdb::Status s =
      mode == Mode::kWrite ? rocksdb::DB::Open(r, database_of(path), descriptors, &handles, &raw)
      : live
          ? rocksdb::DB::OpenAsSecondary(r, database_of(path), database_of(path), descriptors, &handles, &raw)
          : rocksdb::DB::OpenForReadOnly(r, database_of(path), descriptors, &handles, &raw);
  if (!s.ok()) {
    if (mode == Mode::kWrite && s.ToString().find("LOCK") != std::string::npos)
      if (Status free = refuse_locked(path); !free) return free;
    std::error_code ec;
    if (!create && !fs::exists(database_of(path) + "/CURRENT", ec) && !ec)
      return cut_short(path, "has no database");
    return rocks_error(s, path);
  }
  db.reset(raw);
  db->DestroyColumnFamilyHandle(handles[0]);
  std::copy(handles.begin() + 1, handles.end(), families.begin());
  return {};
}

Status Database::not_ready() const {
  return fail(ErrorCode::kUnavailable, path + ": is closed after an error, until a commit succeeds again");
}

Status Database::writable() const {
  if (mode != Mode::kWrite) return fail(ErrorCode::kInvalidArgument, path + ": is open for reading only");
  return {};
}

Status Database::recover() {
  // RocksDB tells a background error before it refuses writes because of it: those that it still takes are
  // not waited out.
  if (!failed && errors->get().ok()) return {};
  // RocksDB's own Resume() knows a full disk, but takes a full quota or an input/output error for final. The
  // log on the disk holds every commit that was acknowledged, so opening anew is right for all of them.
  const std::unique_lock lock(mutex);
  failed = true;  // until it is open again, which may fail
  close_database();
  errors = std::make_shared<ErrorKeeper>();
  if (Status s = open_database(false); !s) return s;
  failed = false;
  return {};
}

Status Database::write(rocksdb::WriteBatch& what, bool sync) {
  rocksdb::WriteOptions o;
  o.sync = sync;
  if (const auto s = db->Write(o, &what); !s.ok()) return write_error(s);
  return {};
}

tl::unexpected<Error> Database::write_error(const rocksdb::Status& status) {
  failed = true;
  return rocks_error(status, path);
}

Status Database::ready_to_write() {
  if (Status s = writable(); !s) return s;
  return recover();
}

Status Database::health() const {
  const std::shared_lock lock(mutex);
  if (const auto s = errors->get(); !s.ok()) return rocks_error(s, path);
  return {};
}

Result<bool> Database::get(const rocksdb::ReadOptions& options, Family family, std::string_view key,
                           std::string& value) const {
  const auto s = db->Get(options, families[family], slice(key), &value);
  if (s.IsNotFound()) return false;
  if (!s.ok()) return rocks_error(s, path);
  return true;
}

Status Database::scan(const rocksdb::ReadOptions& given, Family family, const std::string& from,
                      const std::string& to, const Take& take) const {
  rocksdb::ReadOptions options = given;
  const rocksdb::Slice bound(to);
  options.iterate_upper_bound = &bound;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(options, families[family]));
  for (it->Seek(from); it->Valid(); it->Next()) {
    const Result<bool> more = take(view(it->key()), view(it->value()));
    if (!more) return fail(more.error(), path);
    if (!*more) return {};
  }
  if (!it->status().ok()) return rocks_error(it->status(), path);
  return {};
}

Status Database::scan_letter(const rocksdb::ReadOptions& options, Family family, char letter,
                             const Take& take) const {
  return scan(options, family, std::string(1, letter), after(letter), take);
}

Snapshot::Snapshot(const Database& database) : Reading(database) {
  // A secondary stays as it was opened, and knows no snapshots.
  if (db_ && !database.live) options_.snapshot = db_->GetSnapshot();
}
Snapshot::~Snapshot() {
  if (options_.snapshot != nullptr) db_->ReleaseSnapshot(options_.snapshot);
}

}  // namespace margay::store
