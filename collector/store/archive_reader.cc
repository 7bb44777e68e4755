#include "archive_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "keys.h"
#include "margay/store/column_codec.h"
#include "plane_codec.h"
#include "record_codec.h"
#include "resume_reader.h"

namespace margay::store {
namespace {

tl::unexpected<Error> corrupt(const std::string& what) {
  return fail(ErrorCode::kCorrupt, what);
}

}  // namespace

Result<Resume> ArchiveReader::load(const LoadBounds& bounds) const {
  const Snapshot snapshot(database_);
  if (!snapshot) return fail(database_.not_ready().error(), "reading");
  return read_resume(database_, statuses_, snapshot.options(), bounds);
}

namespace {

// Those reports whose keys begin with `letter`; `take_key(key, record)` reads what the rest of a key says.
template <class Record, class TakeKey>
Result<std::vector<Record>> reports(const Database& database, char letter, TakeKey take_key) {
  const Snapshot snapshot(database);
  if (!snapshot) return fail(database.not_ready().error(), "reading");
  std::vector<Record> out;
  const Status s = database.scan_letter(snapshot.options(), kReports, letter,
                                        [&](std::string_view key, std::string_view bytes) -> Result<bool> {
                                          if (Status k = take_key(key.substr(1), out.emplace_back()); !k)
                                            return fail(k.error().code, k.error().message);
                                          if (Status d = decode_untrusted(bytes, out.back()); !d)
                                            return fail(d.error().code, d.error().message);
                                          return true;
                                        });
  if (!s) return fail(s.error().code, s.error().message);
  return out;
}

}  // namespace

Result<std::vector<AlertRecord>> ArchiveReader::alerts() const {
  return reports<AlertRecord>(database_, kAlertKey, [](std::string_view key, AlertRecord& alert) -> Status {
    alert.id = key;
    return {};
  });
}

Result<std::vector<PhaseRecord>> ArchiveReader::phases() const {
  return reports<PhaseRecord>(database_, kPhaseKey, [](std::string_view key, PhaseRecord& phase) -> Status {
    if (key.size() != 4) return corrupt("a phase's key has a wrong length");
    phase.index = static_cast<std::uint32_t>(get_big_endian(key));
    return {};
  });
}

Status ArchiveReader::scan_columns(LevelIndex level, SliceIndex first, SliceIndex last,
                                   const std::function<bool(model::SliceColumn&&)>& take) const {
  if (last < first) return {};
  const Reading reading(database_);
  if (!reading) return fail(database_.not_ready().error(), "reading");
  rocksdb::ReadOptions options = reading.options();
  // The key behind the last chunk of `last`: one byte longer than it, so that no slice number overflows.
  const std::string end = SliceKey{level, last, 0xffff}.encode() + '\0';
  const std::unique_ptr<rocksdb::Iterator> it(
      database_.db->NewIterator(options, database_.families[kSlices]));
  std::optional<model::SliceColumn> single;  // the next one that stands by itself
  // Reads it from where the iterator is, and leaves that at the one after.
  const auto next_single = [&]() -> Status {
    single.reset();
    std::uint32_t expected = 0;  // chunk
    std::uint32_t total = 0;     // leaves, as chunk 0 told
    std::uint32_t planes = 0;    // chunks of the plane that have come
    for (; it->Valid() && view(it->key()) < end; it->Next()) {
      const auto key = SliceKey::decode(view(it->key()));
      if (!key) return corrupt(database_.path + ": a slice's key has a wrong length");
      if (!single)
        single.emplace(level, key->slice, 0, 0);
      else if (key->slice != single->index)
        break;
      const std::string place = database_.path + ": level " + std::to_string(level.value) + ", slice " +
                                std::to_string(single->index.value);
      if (is_plane(key->chunk)) {
        const std::uint32_t chunk = key->chunk - kPlaneChunk;
        if (expected > 0 && chunk >= chunk_count(total)) continue;  // as of cells, below
        if (expected != chunk_count(total) || single->leaves() != total || chunk != planes++)
          return corrupt(place + ": a chunk is missing");
        if (Status p = decode_plane_untrusted(view(it->value()), chunk, *single); !p)
          return fail(p.error(), place);
        continue;
      }
      // Chunks behind the end are left from a writing with more leaves; they are not part of it.
      if (expected > 0 && expected >= chunk_count(total)) continue;
      if (key->chunk != expected) return corrupt(place + ": a chunk is missing");
      const auto told = decode_chunk_untrusted(view(it->value()), expected, *single);
      if (!told) return fail(told.error(), place);
      if (expected > 0 && *told != total) return corrupt(place + ": its chunks disagree");
      total = *told;
      ++expected;
    }
    if (!it->status().ok()) return rocks_error(it->status(), database_.path);
    if (single && (single->leaves() != total || (planes > 0 && planes != chunk_count(total))))
      return corrupt(database_.path + ": level " + std::to_string(level.value) + ", slice " +
                     std::to_string(single->index.value) + ": a chunk is missing");
    return {};
  };
  // Stretch by stretch: up to the end of a join, from both; behind the last join what stands by itself.
  for (SliceIndex from = first;;) {
    const auto join = joins_.find(*it, level, from);
    if (!join) return fail(join.error(), database_.path);
    it->Seek(SliceKey{level, from, 0}.encode());
    if (Status s = next_single(); !s) return s;
    const SliceIndex through = *join ? std::min(last, (*join)->back().index) : last;
    if (*join)
      for (const model::SliceColumn& c : **join) {
        if (c.index < from) continue;
        while (single && single->index < c.index) {
          if (!take(std::move(*single))) return {};
          if (Status s = next_single(); !s) return s;
        }
        if (c.index > through) break;
        const bool again = single && single->index == c.index;  // written after it was joined
        if (!take(again ? std::move(*single) : model::SliceColumn(c))) return {};
        if (!again) continue;
        if (Status s = next_single(); !s) return s;
      }
    else
      while (single) {
        if (!take(std::move(*single))) return {};
        if (Status s = next_single(); !s) return s;
      }
    if (through >= last) return {};
    from = through + 1;
  }
}

Result<std::vector<model::SliceColumn>> ArchiveReader::read_columns(LevelIndex level, SliceIndex first,
                                                                    SliceIndex last) const {
  std::vector<model::SliceColumn> out;
  std::size_t bytes = 0;
  const Status s = scan_columns(level, first, last, [&](model::SliceColumn&& c) {
    bytes += c.bytes();
    if (bytes > Archive::kLargestRead) return false;
    out.push_back(std::move(c));
    return true;
  });
  if (!s) return fail(s.error().code, s.error().message);
  if (bytes > Archive::kLargestRead)
    return fail(ErrorCode::kLimit, database_.path + ": slices " + std::to_string(first.value) + " to " +
                                       std::to_string(last.value) + " of level " +
                                       std::to_string(level.value) +
                                       " take more than 1 GiB; read fewer at a time");
  return out;
}

Status ArchiveReader::read_raw(std::optional<LeafIndex> leaf, TimeNs from, TimeNs to,
                               const std::function<bool(RawBlock&&)>& take) const {
  const Reading reading(database_);
  if (!reading) return fail(database_.not_ready().error(), "reading");
  std::string value;
  const auto found = database_.get(reading.options(), kMeta, kRawSpanKey, value);
  if (!found) return fail(found.error().code, found.error().message);
  if (*found && value.size() != 8) return corrupt(database_.path + ": the raw blocks' span does not decode");
  // Not told: no block covers more than a moment.
  const std::int64_t span = *found ? std::max<std::int64_t>(0, get_time(value)) : 0;
  const std::int64_t low = std::numeric_limits<std::int64_t>::min();
  const TimeNs begin(from.value < low + span ? low : from.value - span);
  if (to <= begin) return {};
  return database_.scan(reading.options(), kRaw, RawKey{begin, {}, 0}.encode(), RawKey{to, {}, 0}.encode(),
                        [&](std::string_view bytes, std::string_view stored) -> Result<bool> {
                          const auto key = RawKey::decode(bytes);
                          if (!key) return corrupt("a raw block's key has a wrong length");
                          if (leaf && key->leaf != *leaf) return true;
                          RawBlock b{key->leaf, key->first, key->begin, {}, 0, {}};
                          TimeNs end;
                          if (Status s = decode_raw_end_untrusted(stored, end); !s)
                            return fail(s.error().code, s.error().message);
                          if (end < from) return true;
                          if (Status s = decode_raw_untrusted(stored, b); !s)
                            return fail(s.error().code, s.error().message);
                          return take(std::move(b));
                        });
}

Status ArchiveReader::read_reports(TimeNs from, TimeNs to,
                                   const std::function<bool(ReportRecord&&)>& take) const {
  if (to <= from) return {};
  const Reading reading(database_);
  if (!reading) return fail(database_.not_ready().error(), "reading");
  return database_.scan(reading.options(), kReports, report_key(from), report_key(to),
                        [&](std::string_view key, std::string_view bytes) -> Result<bool> {
                          if (key.size() != 9) return corrupt("a report's key has a wrong length");
                          ReportRecord r{TimeNs(get_time(key.substr(1))), {}};
                          if (Status s = decode_blob_untrusted(bytes, r.bytes); !s)
                            return fail(s.error().code, s.error().message);
                          return take(std::move(r));
                        });
}

Result<std::uint64_t> ArchiveReader::stored_bytes(LevelIndex level, SliceIndex first, SliceIndex last) const {
  const Reading reading(database_);
  if (!reading) return fail(database_.not_ready().error(), "reading");
  return joins_.stored_bytes(reading.options(), level, first, last);
}

Result<std::optional<std::pair<SliceIndex, SliceIndex>>> ArchiveReader::column_range(LevelIndex level) const {
  const Reading reading(database_);
  if (!reading) return fail(database_.not_ready().error(), "reading");
  return joins_.range(reading.options(), level);
}

Status ArchiveReader::read_journal(SliceIndex from, std::uint64_t least,
                                   const std::function<bool(JournalEntry&&)>& take) const {
  const Reading reading(database_);
  if (!reading) return fail(database_.not_ready().error(), "reading");
  return journal_.read(reading.options(), from, least, take);
}

Result<bool> ArchiveReader::is_superseded(SliceIndex slice_index, std::uint64_t sequence) const {
  const Reading reading(database_);
  if (!reading) return fail(database_.not_ready().error(), "reading");
  return journal_.is_superseded(reading.options(), slice_index, sequence);
}

Result<std::optional<model::SliceColumn>> ArchiveReader::read_shown(SliceIndex slice_index,
                                                                    std::uint64_t sequence) const {
  const Snapshot snapshot(database_);
  if (!snapshot) return fail(database_.not_ready().error(), "reading");
  return journal_.read_shown(snapshot.options(), slice_index, sequence);
}

}  // namespace margay::store
