#include "margay/store/archive.h"

#include <rocksdb/utilities/checkpoint.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "archive_directory.h"
#include "archive_reader.h"
#include "cut_writer.h"
#include "database.h"
#include "margay/store/joined_codec.h"
#include "private_files.h"
#include "record_codec.h"
#include "removal.h"
#include "shelves.h"

namespace margay::store {

struct Archive::Impl {
  Database database;
  LeafStatuses statuses{database};
  JoinedSlices joins{database};
  const Journal journal{database, joins};
  const ArchiveReader reader{database, statuses, joins, journal};
  CutWriter writer{database, statuses, journal};
  Shelves shelves{database, joins};

  Impl(const std::string& path, Mode mode, const ArchiveOptions& options, std::uint32_t format)
      : database(path, mode, options, format) {}
};

Archive::Archive(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Archive::~Archive() = default;

Result<std::unique_ptr<Archive>> Archive::create(const std::string& path, const RunMeta& run,
                                                 const ArchiveOptions& options) {
  if (Status s = check(run); !s) return fail(s.error(), path);
  if (has_marker(path)) {
    // One that holds no run was never handed to anybody: it is finished here.
    const auto there = open(path, Mode::kWrite, options);
    if (there)
      return fail(ErrorCode::kInvalidArgument, path + ": is an archive already; give another directory");
    if (there.error().code != ErrorCode::kNotFound) return tl::unexpected(there.error());
  }
  if (Status s = make_directory(path); !s) return tl::unexpected(s.error());
  auto impl = std::make_unique<Impl>(path, Mode::kWrite, options, kFormat);
  if (Status s = impl->database.open(true); !s) return tl::unexpected(s.error());
  sync_directory(path);  // RocksDB syncs what is in its directory, not that the directory is there
  if (Status s = impl->writer.begin(run); !s) return tl::unexpected(s.error());
  return std::unique_ptr<Archive>(new Archive(std::move(impl)));
}

Result<std::unique_ptr<Archive>> Archive::open(const std::string& path, Mode mode,
                                               const ArchiveOptions& options) {
  const auto format = check_marker(path);
  if (!format) return tl::unexpected(format.error());
  auto impl = std::make_unique<Impl>(path, mode, options, *format);
  if (Status s = impl->database.open(false); !s) return tl::unexpected(s.error());
  // From here on an older Margay could not open it.
  if (mode == Mode::kWrite && *format < kFormat) {
    if (Status s = write_marker(path); !s) return tl::unexpected(s.error());
    impl->database.format = kFormat;
  }
  if (Status s = impl->writer.read_state(); !s) return fail(s.error(), path);
  return std::unique_ptr<Archive>(new Archive(std::move(impl)));
}

Status Archive::check_removable(const std::string& path, const std::vector<std::string>& also) {
  return store::check_removable(path, also);
}
Status Archive::remove(const std::string& path, const std::vector<std::string>& also) {
  return remove_archive(path, also);
}

const std::string& Archive::path() const {
  return impl_->database.path;
}
bool Archive::is_live() const {
  return impl_->database.live;
}
Status Archive::health() const {
  return impl_->database.health();
}

Status Archive::commit(const Cut& cut, bool sync) {
  return impl_->writer.commit(cut, sync);
}

Result<std::size_t> Archive::join_columns(LevelIndex level, SliceIndex through, std::size_t least,
                                          std::size_t most) {
  if (Status s = impl_->database.ready_to_write(); !s) return tl::unexpected(s.error());
  if (level.value >= std::min(impl_->database.levels.size(), kMostLevels)) return std::size_t{0};
  const auto joined = impl_->joins.last(level);
  if (!joined) return tl::unexpected(joined.error());
  const SliceIndex first = *joined ? **joined + 1 : SliceIndex(std::numeric_limits<std::int64_t>::min());
  std::vector<model::SliceColumn> columns;
  std::size_t cells = 0;
  bool large = false, measured = false;
  const Status read = scan_columns(level, first, through, [&](model::SliceColumn&& c) {
    // Planes lie beside the chunks, and would go with them.
    measured = c.plane() != model::Plane::kNone;
    if (measured) return false;
    cells += std::size_t{c.leaves()} * c.states();
    large = c.leaves() > kMostJoinedLeaves || cells > kMostJoinedCells;
    if (large) return false;
    columns.push_back(std::move(c));
    return columns.size() < std::min(most, kMostJoinedSlices);
  });
  if (!read) return tl::unexpected(read.error());
  if (measured || columns.empty() || (columns.size() < least && !large)) return std::size_t{0};
  if (Status s = impl_->joins.join(level, columns); !s) return tl::unexpected(s.error());
  return columns.size();
}

Status Archive::checkpoint(const std::string& to) {
  if (!impl_->database.db) return impl_->database.not_ready();
  std::error_code ec;
  if (std::filesystem::exists(to, ec)) return fail(ErrorCode::kInvalidArgument, to + ": exists already");
  if (Status s = make_private_directory(to); !s) return s;
  rocksdb::Checkpoint* raw = nullptr;
  if (const auto s = rocksdb::Checkpoint::Create(impl_->database.db.get(), &raw); !s.ok())
    return rocks_error(s, path());
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  if (const auto s = checkpoint->CreateCheckpoint(database_of(to)); !s.ok()) return rocks_error(s, to);
  return write_marker(to);
}

Result<Resume> Archive::load(const LoadBounds& bounds) const {
  return impl_->reader.load(bounds);
}
Result<std::vector<AlertRecord>> Archive::alerts() const {
  return impl_->reader.alerts();
}
Result<std::vector<PhaseRecord>> Archive::phases() const {
  return impl_->reader.phases();
}
Status Archive::scan_columns(LevelIndex level, SliceIndex first, SliceIndex last,
                             const std::function<bool(model::SliceColumn&&)>& take) const {
  return impl_->reader.scan_columns(level, first, last, take);
}
Result<std::vector<model::SliceColumn>> Archive::read_columns(LevelIndex level, SliceIndex first,
                                                              SliceIndex last) const {
  return impl_->reader.read_columns(level, first, last);
}
Result<std::optional<std::pair<SliceIndex, SliceIndex>>> Archive::column_range(LevelIndex level) const {
  return impl_->reader.column_range(level);
}
Result<std::uint64_t> Archive::stored_bytes(LevelIndex level, SliceIndex first, SliceIndex last) const {
  return impl_->reader.stored_bytes(level, first, last);
}
Status Archive::read_journal(SliceIndex from, std::uint64_t least,
                             const std::function<bool(JournalEntry&&)>& take) const {
  return impl_->reader.read_journal(from, least, take);
}
Result<std::optional<model::SliceColumn>> Archive::read_shown(SliceIndex slice,
                                                              std::uint64_t sequence) const {
  return impl_->reader.read_shown(slice, sequence);
}
Result<bool> Archive::is_superseded(SliceIndex slice, std::uint64_t sequence) const {
  return impl_->reader.is_superseded(slice, sequence);
}
Status Archive::read_raw(std::optional<LeafIndex> leaf, TimeNs from, TimeNs to,
                         const std::function<bool(RawBlock&&)>& take) const {
  return impl_->reader.read_raw(leaf, from, to, take);
}
Status Archive::read_reports(TimeNs from, TimeNs to, const std::function<bool(ReportRecord&&)>& take) const {
  return impl_->reader.read_reports(from, to, take);
}

Status Archive::drop_columns_before(LevelIndex level, SliceIndex slice) {
  return impl_->shelves.drop_columns_before(level, slice);
}
Status Archive::drop_raw_before(TimeNs time) {
  impl_->writer.forget_raw();
  return impl_->shelves.drop_raw_before(time);
}
Status Archive::drop_reports_before(TimeNs time) {
  return impl_->shelves.drop_reports_before(time);
}
Status Archive::flush() {
  return impl_->shelves.flush();
}
Status Archive::compact() {
  return impl_->shelves.compact();
}
Result<std::vector<Extent>> Archive::extents(Shelf shelf, LevelIndex level, TimeNs until,
                                             unsigned parts) const {
  return impl_->shelves.extents(shelf, level, until, parts);
}
Result<std::optional<TimeNs>> Archive::oldest(Shelf shelf, LevelIndex level) const {
  return impl_->shelves.oldest(shelf, level);
}

Result<DiskUse> Archive::disk_use() const {
  return store::disk_use_of(path());
}
Result<DiskUse> Archive::disk_use_of(const std::string& path) {
  return store::disk_use_of(path);
}

}  // namespace margay::store
