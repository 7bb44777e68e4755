#include "shelves.h"

#include <dirent.h>
#include <fcntl.h>
#include <rocksdb/convenience.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "archive_directory.h"
#include "keys.h"

namespace margay::store {
namespace {

constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();

Family family_of(Shelf shelf) {
  return shelf == Shelf::kRaw ? kRaw : shelf == Shelf::kReports ? kReports : kSlices;
}
// The first key of a shelf at or after `t`, a time or (of slices) a slice.
std::string key_at(Shelf shelf, LevelIndex level, std::int64_t t) {
  switch (shelf) {
    case Shelf::kRaw:
      return RawKey{TimeNs(t), {}, 0}.encode();
    case Shelf::kReports:
      return report_key(TimeNs(t));
    case Shelf::kSlices:
      break;
  }
  return SliceKey{level, SliceIndex(t), 0}.encode();
}
std::optional<std::int64_t> time_of(Shelf shelf, std::string_view key) {
  switch (shelf) {
    case Shelf::kRaw:
      if (const auto k = RawKey::decode(key)) return k->begin.value;
      return std::nullopt;
    case Shelf::kReports:
      if (key.size() == 9) return get_time(key.substr(1));
      return std::nullopt;
    case Shelf::kSlices:
      break;
  }
  if (const auto k = SliceKey::decode(key)) return k->slice.value;
  return std::nullopt;
}

// The times of the first and the last key of a shelf; nothing when it is empty.
Result<std::optional<std::pair<std::int64_t, std::int64_t>>> range_of(const Database& database,
                                                                      const JoinedSlices& joins, Shelf shelf,
                                                                      LevelIndex level) {
  using Range = std::optional<std::pair<std::int64_t, std::int64_t>>;
  const Reading reading(database);
  if (!reading) return fail(database.not_ready().error(), "reading");
  if (shelf == Shelf::kSlices) {
    const auto slices = joins.range(reading.options(), level);
    if (!slices) return tl::unexpected(slices.error());
    return *slices ? Range(std::pair((*slices)->first.value, (*slices)->second.value)) : Range();
  }
  const std::string from = key_at(shelf, level, kLow);
  const std::string to = key_at(shelf, level, kHigh);
  rocksdb::ReadOptions o;
  const rocksdb::Slice lower(from);
  const rocksdb::Slice upper(to);
  o.iterate_lower_bound = &lower;
  o.iterate_upper_bound = &upper;
  const std::unique_ptr<rocksdb::Iterator> it(
      database.db->NewIterator(o, database.families[family_of(shelf)]));
  it->SeekToFirst();
  if (!it->Valid()) {
    if (!it->status().ok()) return rocks_error(it->status(), database.path);
    return Range();
  }
  const auto first = time_of(shelf, view(it->key()));
  it->SeekToLast();
  if (!it->Valid()) return rocks_error(it->status(), database.path);
  const auto last = time_of(shelf, view(it->key()));
  if (!first || !last) return fail(ErrorCode::kCorrupt, database.path + ": a key has a wrong length");
  return Range(std::pair(*first, *last));
}

// Whether times in `unit` can be told in nanoseconds, and differences taken.
bool sane(const std::pair<std::int64_t, std::int64_t>& range, DurationNs unit) {
  constexpr std::int64_t kMost = kHigh / 4;
  return range.first >= -kMost / unit.value && range.second <= kMost / unit.value &&
         range.first <= range.second;
}

Status drop_range(Database& database, Family of, const std::string& from, const std::string& to) {
  if (Status s = database.ready_to_write(); !s) return s;
  rocksdb::ColumnFamilyHandle* family = database.families[of];
  // The mark goes into a file of its own: one that also held the newest things would reach over everything in
  // between, and its compaction would write all of that anew.
  auto s = database.db->Flush(rocksdb::FlushOptions(), family);
  if (s.ok()) s = database.db->DeleteRange(rocksdb::WriteOptions(), family, from, to);
  if (s.ok()) {
    // The mark alone frees nothing before a compaction comes by.
    const rocksdb::Slice begin(from);
    const rocksdb::Slice end(to);
    const rocksdb::RangePtr range(&begin, &end);
    s = rocksdb::DeleteFilesInRanges(database.db.get(), family, &range, 1, false);
    // What shares its file with something younger, or is in the newest files: little, but it would stay for
    // as long as nothing else has to be compacted, and be taken for room that is still to be made.
    rocksdb::CompactRangeOptions o;
    o.exclusive_manual_compaction = false;
    if (s.ok()) s = database.db->CompactRange(o, family, &begin, &end);
  }
  if (s.ok()) return {};
  return database.write_error(s);
}

Status drop(Database& database, Shelf shelf, LevelIndex level, std::int64_t before) {
  return drop_range(database, family_of(shelf), key_at(shelf, level, kLow), key_at(shelf, level, before));
}

}  // namespace

Status Shelves::drop_columns_before(LevelIndex level, SliceIndex before) {
  if (Status s = database_.ready_to_write(); !s) return s;
  if (Status s = joins_.trim(level, before); !s) return s;
  if (Status s = drop_range(database_, kSlices, join_key(level, SliceIndex(kLow)), join_key(level, before));
      !s)
    return s;
  if (Status s = drop(database_, Shelf::kSlices, level, before.value); !s || level != LevelIndex(0)) return s;
  for (const char letter : {kEntryKey, kVersionKey})
    if (Status s = drop_range(database_, kJournal, journal_key(letter, SliceIndex(kLow), 0),
                              journal_key(letter, before, 0));
        !s)
      return s;
  return {};
}
Status Shelves::drop_raw_before(TimeNs time) {
  if (Status s = drop(database_, Shelf::kRaw, {}, time.value); !s) return s;
  // Names that none of what is left can use: too few for files of their own.
  const auto s = database_.db->DeleteRange(rocksdb::WriteOptions(), database_.families[kSources],
                                           names_key(TimeNs(kLow), SourceId()), names_key(time, SourceId()));
  if (s.ok()) return {};
  return database_.write_error(s);
}
Status Shelves::drop_reports_before(TimeNs time) {
  return drop(database_, Shelf::kReports, {}, time.value);
}

Status Shelves::flush() {
  if (Status s = database_.ready_to_write(); !s) return s;
  for (rocksdb::ColumnFamilyHandle* family : database_.families)
    if (const auto s = database_.db->Flush(rocksdb::FlushOptions(), family); !s.ok())
      return database_.write_error(s);
  return {};
}

Status Shelves::compact() {
  if (Status s = flush(); !s) return s;
  rocksdb::CompactRangeOptions o;
  // Also what lies at the bottom already: marks of what was dropped are only applied by writing it anew.
  o.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  for (rocksdb::ColumnFamilyHandle* family : database_.families) {
    const auto s = database_.db->CompactRange(o, family, nullptr, nullptr);
    if (s.ok()) continue;
    return database_.write_error(s);
  }
  return {};
}

Result<DiskUse> disk_use_of(const std::string& path) {
  const std::string place = database_of(path);
  struct statvfs fs {};
  if (::statvfs(place.c_str(), &fs) != 0) return fail(ErrorCode::kIo, place + ": " + std::strerror(errno));
  DiskUse use;
  use.free = std::uint64_t{fs.f_bavail} * fs.f_frsize;
  use.size = std::uint64_t{fs.f_blocks} * fs.f_frsize;
  DIR* dir = ::opendir(place.c_str());
  if (dir == nullptr) return fail(ErrorCode::kIo, place + ": " + std::strerror(errno));
  while (const dirent* entry = ::readdir(dir)) {
    struct stat st {};
    // Files come and go meanwhile.
    if (::fstatat(::dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
      continue;
    use.archive += static_cast<std::uint64_t>(st.st_blocks) * 512;
  }
  ::closedir(dir);
  return use;
}

Result<std::vector<Extent>> Shelves::extents(Shelf shelf, LevelIndex level, TimeNs until,
                                             unsigned parts) const {
  const auto range = range_of(database_, joins_, shelf, level);
  if (!range) return tl::unexpected(range.error());
  const std::shared_lock lock(database_.mutex);
  if (!database_.db) return fail(database_.not_ready().error(), "reading");
  // Slices are counted in slices.
  const bool slices = shelf == Shelf::kSlices;
  if (slices && level.value >= database_.levels.size()) return std::vector<Extent>();
  const DurationNs unit = slices ? database_.levels[level.value] : DurationNs(1);
  if (!*range) return std::vector<Extent>();
  if (!sane(**range, unit))
    return fail(ErrorCode::kCorrupt, database_.path + ": a key has an impossible time");
  const std::int64_t begin = (*range)->first;
  const std::int64_t limit = slices ? slice_of(until, unit).value : until.value;
  const std::int64_t end = std::min(limit, (*range)->second);  // never the newest
  if (parts == 0 || end <= begin) return std::vector<Extent>();
  const std::int64_t step = (end - begin - 1) / static_cast<std::int64_t>(parts) + 1;
  std::vector<std::int64_t> edges;
  for (std::int64_t t = begin; t<end; t = end - t> step ? t + step : end) edges.push_back(t);
  edges.push_back(end);
  std::vector<std::string> keys;
  for (const std::int64_t t : edges) keys.push_back(key_at(shelf, level, t));
  std::vector<rocksdb::Range> ranges;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) ranges.emplace_back(keys[i], keys[i + 1]);
  std::vector<std::uint64_t> sizes(ranges.size(), 0);
  const auto s = database_.db->GetApproximateSizes(rocksdb::SizeApproximationOptions(),
                                                   database_.families[family_of(shelf)], ranges.data(),
                                                   static_cast<int>(ranges.size()), sizes.data());
  if (!s.ok()) return rocks_error(s, database_.path);
  if (slices) {
    // Joins count where they end.
    std::vector<std::string> ends;
    for (const std::int64_t t : edges) ends.push_back(join_key(level, SliceIndex(t)));
    std::vector<rocksdb::Range> joins;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) joins.emplace_back(ends[i], ends[i + 1]);
    std::vector<std::uint64_t> joined(joins.size(), 0);
    const auto j =
        database_.db->GetApproximateSizes(rocksdb::SizeApproximationOptions(), database_.families[kSlices],
                                          joins.data(), static_cast<int>(joins.size()), joined.data());
    if (!j.ok()) return rocks_error(j, database_.path);
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] += joined[i];
  }
  std::vector<Extent> out;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    out.push_back({TimeNs(edges[i] * unit.value), TimeNs(edges[i + 1] * unit.value), sizes[i]});
  return out;
}

Result<std::optional<TimeNs>> Shelves::oldest(Shelf shelf, LevelIndex level) const {
  const auto range = range_of(database_, joins_, shelf, level);
  if (!range) return tl::unexpected(range.error());
  if (!*range) return std::optional<TimeNs>();
  const bool slices = shelf == Shelf::kSlices;
  if (slices && level.value >= database_.levels.size()) return std::optional<TimeNs>();
  const DurationNs unit = slices ? database_.levels[level.value] : DurationNs(1);
  if (!sane(**range, unit))
    return fail(ErrorCode::kCorrupt, database_.path + ": a key has an impossible time");
  return std::optional(TimeNs((*range)->first * unit.value));
}

}  // namespace margay::store
