// Making and opening: the directory, its marker, the lock, RocksDB's options, and errors a person can act on.
#include <fcntl.h>
#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "impl.h"
#include "keys.h"
#include "private_files.h"
#include "record_codec.h"

namespace margay::store {
namespace fs = std::filesystem;
namespace {

constexpr int kAttempts = 5;  // to open what somebody is writing
constexpr const char* kMarkerName = "MARGAY";
constexpr const char* kUnnamed = ".new";  // behind the marker's name while it is written
constexpr const char* kDatabaseName = "db";
constexpr const char* kMarkerText = "Margay archive, format ";

std::string marker(const std::string& path) {
  return path + "/" + kMarkerName;
}
std::string database(const std::string& path) {
  return path + "/" + kDatabaseName;
}
tl::unexpected<Error> system_error(const std::string& path, int error) {
  return fail(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, path + ": " + std::strerror(error));
}

tl::unexpected<Error> cut_short(const std::string& path, const char* lacks) {
  return fail(ErrorCode::kNotFound, path + ": " + lacks + "; its creation was cut short");
}

// Archives that this process has open for writing. POSIX drops a process's locks on a file as soon as it
// closes any descriptor of it, so an archive of our own must be recognised before its LOCK file is touched.
std::mutex g_written_mutex;
std::set<std::string>& written() {
  static std::set<std::string> paths;
  return paths;
}
bool written_here(const std::string& canonical) {
  const std::lock_guard lock(g_written_mutex);
  return written().contains(canonical);
}
bool register_written(const std::string& canonical) {
  const std::lock_guard lock(g_written_mutex);
  return written().insert(canonical).second;
}

std::string canonical(const std::string& path) {
  std::error_code ec;
  const fs::path p = fs::weakly_canonical(path, ec);
  return ec ? path : p.string();
}

tl::unexpected<Error> locked(const std::string& path, const std::string& by) {
  return fail(ErrorCode::kUnavailable,
              path + ": is being written by " + by + "; ask its daemon, or stop it first");
}

// The process that holds RocksDB's lock; 0 when none does. Not for archives that this process writes.
pid_t lock_holder(const std::string& path) {
  const int fd = ::open((database(path) + "/LOCK").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool held = ::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(fd);
  return held ? lock.l_pid : 0;
}

// The entries of a directory to the disk.
void sync_directory(const fs::path& path) {
  const int d = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (d < 0) return;  // may be entered but not read: nothing to be done
  ::fsync(d);
  ::close(d);
}

// The marker goes to the disk before RocksDB begins: a directory with a database and no marker is not ours.
Status write_marker(const std::string& path) {
  const std::string text = kMarkerText + std::to_string(Archive::kFormat) + "\n";
  const std::string name = marker(path) + kUnnamed;
  const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return system_error(name, errno);
  const bool good =
      ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  if (!good) return system_error(name, error);
  if (::rename(name.c_str(), marker(path).c_str()) != 0) return system_error(name, errno);
  // The entries in the directories too, or a loss of power could take away what `sync` promised.
  for (const fs::path& dir : {fs::path(path), fs::absolute(path).parent_path()}) sync_directory(dir);
  return {};
}

// The first entry of the directory that is none of those which create() makes before the archive holds a run;
// "": there is none. The database comes after its marker: without one it is not ours.
Result<std::string> first_foreign(const std::string& path) {
  std::error_code ec;
  const bool marked = fs::exists(marker(path), ec);
  for (fs::directory_iterator it(path, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string name = it->path().filename().string();
    const bool ours = name == kMarkerName || name == std::string(kMarkerName) + kUnnamed ||
                      (marked && name == kDatabaseName);
    if (!ours) return name;
  }
  if (ec) return fail(ErrorCode::kIo, path + ": " + ec.message());
  return std::string();
}

// The format of the archive in `path`.
Result<std::uint32_t> check_marker(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    if (errno == ENOENT) return fail(ErrorCode::kNotFound, path + ": no such archive");
    return system_error(path, errno);
  }
  if (!S_ISDIR(st.st_mode))
    return fail(ErrorCode::kInvalidArgument,
                path + ": is a file, not an archive (an archive is a directory)");
  const int fd = ::open(marker(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno != ENOENT) return system_error(marker(path), errno);
    std::error_code ec;
    if (fs::is_empty(path, ec)) return fail(ErrorCode::kNotFound, path + ": no such archive, it is empty");
    const auto foreign = first_foreign(path);
    if (foreign && foreign->empty()) return cut_short(path, "has no marker");
    return fail(ErrorCode::kInvalidArgument,
                path + ": is not a Margay archive (it has no file '" + kMarkerName + "')");
  }
  char text[64];
  const ssize_t n = ::read(fd, text, sizeof(text));
  ::close(fd);
  if (n < 0) return system_error(marker(path), errno);
  const std::string_view head(kMarkerText);
  const std::string_view got(text, static_cast<std::size_t>(n));
  std::uint32_t format = 0;
  if (got.substr(0, head.size()) != head ||
      std::from_chars(got.data() + head.size(), got.data() + got.size(), format).ec != std::errc() ||
      format == 0)
    return fail(ErrorCode::kInvalidArgument,
                path + ": is not a Margay archive (its file '" + kMarkerName + "' does not tell a format)");
  if (format > Archive::kFormat)
    return fail(ErrorCode::kVersion, path + ": was written by a newer Margay: format " +
                                         std::to_string(format) + ", this one reads up to " +
                                         std::to_string(Archive::kFormat));
  return format;
}

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
  r.max_bgerror_resume_count = 0;  // recovery is Impl::recover, in one place
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

Status refuse_written(const std::string& path) {
  if (written_here(canonical(path))) return locked(path, "this process");
  if (const pid_t pid = lock_holder(path); pid != 0) return locked(path, "process " + std::to_string(pid));
  return {};
}

Archive::Impl::~Impl() {
  close_database();
  if (!registered.empty()) {
    const std::lock_guard lock(g_written_mutex);
    written().erase(registered);
  }
}

void Archive::Impl::close_database() {
  if (!db) return;
  for (auto*& f : families) {
    if (f) db->DestroyColumnFamilyHandle(f);
    f = nullptr;
  }
  db->Close();
  db.reset();
}

Status Archive::Impl::open(bool create) {
  settings.memory_bytes = std::max<std::size_t>(settings.memory_bytes, std::size_t{8} << 20);
  const std::string name = canonical(path);
  if (mode == Mode::kWrite) {
    if (!register_written(name)) return locked(path, "this process");
    registered = name;
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

Status Archive::Impl::open_database(bool create) {
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
      mode == Mode::kWrite ? rocksdb::DB::Open(r, database(path), descriptors, &handles, &raw)
      : live ? rocksdb::DB::OpenAsSecondary(r, database(path), database(path), descriptors, &handles, &raw)
             : rocksdb::DB::OpenForReadOnly(r, database(path), descriptors, &handles, &raw);
  if (!s.ok()) {
    if (mode == Mode::kWrite && s.ToString().find("LOCK") != std::string::npos) {
      const pid_t pid = lock_holder(path);
      if (pid != 0) return locked(path, "process " + std::to_string(pid));
    }
    std::error_code ec;
    if (!create && !fs::exists(database(path) + "/CURRENT", ec) && !ec)
      return cut_short(path, "has no database");
    return rocks_error(s, path);
  }
  db.reset(raw);
  db->DestroyColumnFamilyHandle(handles[0]);
  std::copy(handles.begin() + 1, handles.end(), families.begin());
  return {};
}

Result<std::unique_ptr<Archive>> Archive::create(const std::string& path, const RunMeta& run,
                                                 const ArchiveOptions& options) {
  if (Status s = check(run); !s) return fail(s.error(), path);
  std::error_code ec;
  if (fs::exists(marker(path), ec)) {
    // One that holds no run was never handed to anybody: it is finished here.
    const auto there = open(path, Mode::kWrite, options);
    if (there)
      return fail(ErrorCode::kInvalidArgument, path + ": is an archive already; give another directory");
    if (there.error().code != ErrorCode::kNotFound) return tl::unexpected(there.error());
  }
  std::vector<fs::path> made;  // the innermost first
  for (fs::path p = fs::absolute(path).lexically_normal(); p.has_relative_path() && !fs::exists(p, ec);
       p = p.parent_path())
    made.push_back(p);
  if (Status s = make_private_directory(path); !s) return tl::unexpected(s.error());
  for (const fs::path& p : made) sync_directory(p.parent_path());
  const auto foreign = first_foreign(path);
  if (!foreign) return tl::unexpected(foreign.error());
  if (!foreign->empty())
    return fail(ErrorCode::kInvalidArgument,
                path + ": is not empty (" + *foreign + "); an archive wants a directory of its own");
  if (Status s = write_marker(path); !s) return fail(s.error().code, s.error().message);
  auto impl = std::make_unique<Impl>();
  impl->format = kFormat;
  impl->path = path;
  impl->mode = Mode::kWrite;
  impl->settings = options;
  if (Status s = impl->open(true); !s) return fail(s.error().code, s.error().message);
  sync_directory(path);  // RocksDB syncs what is in its directory, not that the directory is there
  impl->levels = run.levels;
  rocksdb::WriteBatch batch;
  batch.Put(impl->families[kMeta], slice(kRunKey), encode(run));
  const model::StateTable fixed;
  for (std::size_t i = 0; i < fixed.size(); ++i)
    batch.Put(impl->families[kMeta], key_of(kStateKey, static_cast<std::uint16_t>(i)),
              encode(fixed.states()[i]));
  if (Status s = impl->write(batch, true); !s) return fail(s.error().code, s.error().message);
  return std::unique_ptr<Archive>(new Archive(std::move(impl)));
}

Result<std::unique_ptr<Archive>> Archive::open(const std::string& path, Mode mode,
                                               const ArchiveOptions& options) {
  const auto format = check_marker(path);
  if (!format) return fail(format.error().code, format.error().message);
  auto impl = std::make_unique<Impl>();
  impl->format = *format;
  impl->path = path;
  impl->mode = mode;
  impl->settings = options;
  if (Status s = impl->open(false); !s) return fail(s.error().code, s.error().message);
  // From here on an older Margay could not open it.
  if (mode == Mode::kWrite && *format < kFormat) {
    if (Status s = write_marker(path); !s) return fail(s.error().code, s.error().message);
    impl->format = kFormat;
  }
  if (Status s = impl->read_writer_state(); !s) return fail(s.error(), path);
  return std::unique_ptr<Archive>(new Archive(std::move(impl)));
}

Status Archive::checkpoint(const std::string& to) {
  if (!impl_->db) return impl_->not_ready();
  std::error_code ec;
  if (fs::exists(to, ec)) return fail(ErrorCode::kInvalidArgument, to + ": exists already");
  if (Status s = make_private_directory(to); !s) return s;
  rocksdb::Checkpoint* raw = nullptr;
  if (const auto s = rocksdb::Checkpoint::Create(impl_->db.get(), &raw); !s.ok())
    return rocks_error(s, path());
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  if (const auto s = checkpoint->CreateCheckpoint(database(to)); !s.ok()) return rocks_error(s, to);
  return write_marker(to);
}

}  // namespace margay::store
