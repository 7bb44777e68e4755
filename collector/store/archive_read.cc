// Reading. Every call sees one cut (a snapshot); nothing that lies in the files is trusted.
#include <algorithm>
#include <limits>
#include <utility>

#include "impl.h"
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
// The smallest key above all keys that begin with `letter`.
std::string after(char letter) {
  return std::string(1, static_cast<char>(letter + 1));
}

}  // namespace

Snapshot::Snapshot(const Archive::Impl& impl) : Reading(impl) {
  // A secondary stays as it was opened, and knows no snapshots.
  if (db_ && !impl.live) options_.snapshot = db_->GetSnapshot();
}
Snapshot::~Snapshot() {
  if (options_.snapshot != nullptr) db_->ReleaseSnapshot(options_.snapshot);
}

Result<bool> Archive::Impl::get(const rocksdb::ReadOptions& options, Family family, std::string_view key,
                                std::string& value) const {
  const auto s = db->Get(options, families[family], slice(key), &value);
  if (s.IsNotFound()) return false;
  if (!s.ok()) return rocks_error(s, path);
  return true;
}

Status Archive::Impl::scan(const rocksdb::ReadOptions& given, Family family, const std::string& from,
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

Status Archive::Impl::scan_letter(const rocksdb::ReadOptions& options, Family family, char letter,
                                  const Take& take) const {
  return scan(options, family, std::string(1, letter), after(letter), take);
}

Status Archive::Impl::read_writer_state() {
  std::string value;
  const auto run = get({}, kMeta, kRunKey, value);
  if (!run) return fail(run.error().code, run.error().message);
  if (!*run) return fail(ErrorCode::kNotFound, "holds no run; its creation was cut short");
  RunMeta meta;
  if (Status s = decode_untrusted(value, meta); !s) return s;
  levels = meta.levels;
  const auto cut = get({}, kMeta, kCutKey, value);
  if (!cut) return fail(cut.error().code, cut.error().message);
  if (*cut) {
    CutMark mark;
    if (Status s = decode_untrusted(value, mark); !s) return s;
    last_sequence = mark.sequence;
  }
  if (Status s = statuses.read_layout(); !s) return s;
  const auto span = get({}, kMeta, kRawSpanKey, value);
  if (!span) return fail(span.error().code, span.error().message);
  if (*span) {
    if (value.size() != 8) return corrupt("the raw blocks' span does not decode");
    raw_span = std::max<std::int64_t>(0, get_time(value));
  }
  return {};
}

Result<Resume> Archive::load(const LoadBounds& bounds) const {
  const Snapshot snapshot(*impl_);
  if (!snapshot) return fail(impl_->not_ready().error(), "reading");
  return read_resume(*impl_, snapshot.options(), bounds);
}

namespace {

// Those reports whose keys begin with `letter`; `take_key(key, record)` reads what the rest of a key says.
template <class Record, class TakeKey>
Result<std::vector<Record>> reports(const Archive::Impl& impl, char letter, TakeKey take_key) {
  const Snapshot snapshot(impl);
  if (!snapshot) return fail(impl.not_ready().error(), "reading");
  std::vector<Record> out;
  const Status s = impl.scan_letter(snapshot.options(), kReports, letter,
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

Result<std::vector<AlertRecord>> Archive::alerts() const {
  return reports<AlertRecord>(*impl_, kAlertKey, [](std::string_view key, AlertRecord& alert) -> Status {
    alert.id = key;
    return {};
  });
}

Result<std::vector<PhaseRecord>> Archive::phases() const {
  return reports<PhaseRecord>(*impl_, kPhaseKey, [](std::string_view key, PhaseRecord& phase) -> Status {
    if (key.size() != 4) return corrupt("a phase's key has a wrong length");
    phase.index = static_cast<std::uint32_t>(get_big_endian(key));
    return {};
  });
}

Status Archive::scan_columns(LevelIndex level, SliceIndex first, SliceIndex last,
                             const std::function<bool(model::SliceColumn&&)>& take) const {
  if (last < first) return {};
  const Reading reading(*impl_);
  if (!reading) return fail(impl_->not_ready().error(), "reading");
  rocksdb::ReadOptions options = reading.options();
  // The key behind the last chunk of `last`: one byte longer than it, so that no slice number overflows.
  const std::string end = SliceKey{level, last, 0xffff}.encode() + '\0';
  const std::unique_ptr<rocksdb::Iterator> it(impl_->db->NewIterator(options, impl_->families[kSlices]));
  std::optional<model::SliceColumn> single;  // the next one that stands by itself
  // Reads it from where the iterator is, and leaves that at the one after.
  const auto next_single = [&]() -> Status {
    single.reset();
    std::uint32_t expected = 0;  // chunk
    std::uint32_t total = 0;     // leaves, as chunk 0 told
    std::uint32_t planes = 0;    // chunks of the plane that have come
    for (; it->Valid() && view(it->key()) < end; it->Next()) {
      const auto key = SliceKey::decode(view(it->key()));
      if (!key) return corrupt(path() + ": a slice's key has a wrong length");
      if (!single)
        single.emplace(level, key->slice, 0, 0);
      else if (key->slice != single->index)
        break;
      const std::string place = path() + ": level " + std::to_string(level.value) + ", slice " +
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
    if (!it->status().ok()) return rocks_error(it->status(), path());
    if (single && (single->leaves() != total || (planes > 0 && planes != chunk_count(total))))
      return corrupt(path() + ": level " + std::to_string(level.value) + ", slice " +
                     std::to_string(single->index.value) + ": a chunk is missing");
    return {};
  };
  // Stretch by stretch: up to the end of a join, from both; behind the last join what stands by itself.
  for (SliceIndex from = first;;) {
    const auto join = impl_->joins.find(*it, level, from);
    if (!join) return fail(join.error(), path());
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

Result<std::vector<model::SliceColumn>> Archive::read_columns(LevelIndex level, SliceIndex first,
                                                              SliceIndex last) const {
  std::vector<model::SliceColumn> out;
  std::size_t bytes = 0;
  const Status s = scan_columns(level, first, last, [&](model::SliceColumn&& c) {
    bytes += c.bytes();
    if (bytes > kLargestRead) return false;
    out.push_back(std::move(c));
    return true;
  });
  if (!s) return fail(s.error().code, s.error().message);
  if (bytes > kLargestRead)
    return fail(ErrorCode::kLimit, path() + ": slices " + std::to_string(first.value) + " to " +
                                       std::to_string(last.value) + " of level " +
                                       std::to_string(level.value) +
                                       " take more than 1 GiB; read fewer at a time");
  return out;
}

Status Archive::read_raw(std::optional<LeafIndex> leaf, TimeNs from, TimeNs to,
                         const std::function<bool(RawBlock&&)>& take) const {
  const Reading reading(*impl_);
  if (!reading) return fail(impl_->not_ready().error(), "reading");
  std::string value;
  const auto found = impl_->get(reading.options(), kMeta, kRawSpanKey, value);
  if (!found) return fail(found.error().code, found.error().message);
  if (*found && value.size() != 8) return corrupt(path() + ": the raw blocks' span does not decode");
  // Not told: no block covers more than a moment.
  const std::int64_t span = *found ? std::max<std::int64_t>(0, get_time(value)) : 0;
  const std::int64_t low = std::numeric_limits<std::int64_t>::min();
  const TimeNs begin(from.value < low + span ? low : from.value - span);
  if (to <= begin) return {};
  return impl_->scan(reading.options(), kRaw, RawKey{begin, {}, 0}.encode(), RawKey{to, {}, 0}.encode(),
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

Status Archive::read_reports(TimeNs from, TimeNs to, const std::function<bool(ReportRecord&&)>& take) const {
  if (to <= from) return {};
  const Reading reading(*impl_);
  if (!reading) return fail(impl_->not_ready().error(), "reading");
  return impl_->scan(reading.options(), kReports, report_key(from), report_key(to),
                     [&](std::string_view key, std::string_view bytes) -> Result<bool> {
                       if (key.size() != 9) return corrupt("a report's key has a wrong length");
                       ReportRecord r{TimeNs(get_time(key.substr(1))), {}};
                       if (Status s = decode_blob_untrusted(bytes, r.bytes); !s)
                         return fail(s.error().code, s.error().message);
                       return take(std::move(r));
                     });
}

Result<std::uint64_t> Archive::stored_bytes(LevelIndex level, SliceIndex first, SliceIndex last) const {
  const Reading reading(*impl_);
  if (!reading) return fail(impl_->not_ready().error(), "reading");
  return impl_->joins.stored_bytes(reading.options(), level, first, last);
}

Result<std::optional<std::pair<SliceIndex, SliceIndex>>> Archive::column_range(LevelIndex level) const {
  const Reading reading(*impl_);
  if (!reading) return fail(impl_->not_ready().error(), "reading");
  return impl_->joins.range(reading.options(), level);
}

Status Archive::read_journal(SliceIndex from, std::uint64_t least,
                             const std::function<bool(JournalEntry&&)>& take) const {
  const Reading reading(*impl_);
  if (!reading) return fail(impl_->not_ready().error(), "reading");
  return impl_->journal.read(reading.options(), from, least, take);
}

Result<bool> Archive::is_superseded(SliceIndex slice_index, std::uint64_t sequence) const {
  const Reading reading(*impl_);
  if (!reading) return fail(impl_->not_ready().error(), "reading");
  return impl_->journal.is_superseded(reading.options(), slice_index, sequence);
}

Result<std::optional<model::SliceColumn>> Archive::read_shown(SliceIndex slice_index,
                                                              std::uint64_t sequence) const {
  const Snapshot snapshot(*impl_);
  if (!snapshot) return fail(impl_->not_ready().error(), "reading");
  return impl_->journal.read_shown(snapshot.options(), slice_index, sequence);
}

}  // namespace margay::store
