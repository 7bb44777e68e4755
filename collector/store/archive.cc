// Writing: one cut, one batch.
#include "margay/store/archive.h"

#include <rocksdb/write_batch.h>

#include <algorithm>
#include <limits>
#include <span>

#include "impl.h"
#include "keys.h"
#include "margay/store/column_codec.h"
#include "margay/store/joined_codec.h"
#include "plane_codec.h"
#include "record_codec.h"
#include "removal.h"

namespace margay::store {

Archive::Archive(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Archive::~Archive() = default;

bool Archive::is_live() const {
  return impl_->live;
}
const std::string& Archive::path() const {
  return impl_->path;
}

Status Archive::Impl::not_ready() const {
  return fail(ErrorCode::kUnavailable, path + ": is closed after an error, until a commit succeeds again");
}

Status Archive::Impl::writable() const {
  if (mode != Mode::kWrite) return fail(ErrorCode::kInvalidArgument, path + ": is open for reading only");
  return {};
}

Status Archive::Impl::write(rocksdb::WriteBatch& what, bool sync) {
  rocksdb::WriteOptions o;
  o.sync = sync;
  if (const auto s = db->Write(o, &what); !s.ok()) {
    failed = true;
    return rocks_error(s, path);
  }
  return {};
}

Status Archive::Impl::recover() {
  if (!failed) return {};
  // RocksDB's own Resume() knows a full disk, but takes a full quota or an input/output error for final. The
  // log on the disk holds every commit that was acknowledged, so opening anew is right for all of them.
  const std::unique_lock lock(mutex);
  close_database();
  errors = std::make_shared<ErrorKeeper>();
  if (Status s = open_database(false); !s) return s;
  failed = false;
  return {};
}

Status Archive::health() const {
  const std::shared_lock lock(impl_->mutex);
  if (const auto s = impl_->errors->get(); !s.ok()) return rocks_error(s, impl_->path);
  return {};
}

namespace {

// Of a batch; room for it is kept from cut to cut.
constexpr std::size_t kKeptBatch = std::size_t{16} << 20;

// Adds what the encoder holds to the batch. False where leaves do not lie in order: nothing was added.
Result<bool> put_encoded(ChunkEncoder& encoder, rocksdb::ColumnFamilyHandle* slices,
                         rocksdb::ColumnFamilyHandle* meta, rocksdb::WriteBatch& batch) {
  const auto chunks = encoder.encode();
  for (const ChunkEncoder::Chunk& c : chunks)
    if (!c.in_order) return false;
  for (const ChunkEncoder::Chunk& c : chunks) {
    if (c.column == nullptr) {
      if (!c.status) return fail(c.status.error().code, c.status.error().message);
      batch.Put(meta, key_of(kPackedOpenKey, c.number), c.value);
      continue;
    }
    const model::SliceColumn& column = *c.column;
    if (!c.status)
      return fail(c.status.error(), "level " + std::to_string(column.level.value) + ", slice " +
                                        std::to_string(column.index.value));
    batch.Put(slices, SliceKey{column.level, column.index, c.number}.encode(), c.value);
  }
  return true;
}

}  // namespace

// With the leaves' states, all of them, if `packed`.
Result<bool> Archive::Impl::put_chunks(const Cut& cut, bool packed) {
  const auto room = [&]() -> Result<bool> {
    return encoder.full() ? put_encoded(encoder, families[kSlices], families[kMeta], cut_batch) : true;
  };
  for (std::size_t i = 0; packed && i < cut.leaf_states.size(); i += kChunkLeaves) {
    const auto leaves = std::span(cut.leaf_states).subspan(i);
    encoder.add(leaves.first(std::min<std::size_t>(kChunkLeaves, leaves.size())),
                static_cast<std::uint16_t>(i / kChunkLeaves));
    if (auto r = room(); !r || !*r) return r;
  }
  const std::vector<DurationNs>& durations = cut.run ? cut.run->levels : levels;
  for (const auto& column : cut.columns) {
    const DurationNs slice =
        column->level.value < durations.size() ? durations[column->level.value] : DurationNs();
    const std::uint32_t count = chunk_count(column->leaves());
    for (std::uint32_t i = 0; i < (column->plane() == model::Plane::kNone ? count : 2 * count); ++i) {
      encoder.add(*column, static_cast<std::uint16_t>(i < count ? i : kPlaneChunk + (i - count)), slice);
      if (auto r = room(); !r || !*r) return r;
    }
  }
  return put_encoded(encoder, families[kSlices], families[kMeta], cut_batch);
}

Result<LeafStatuses::Layout> Archive::Impl::put_columns(const Cut& cut) {
  bool packed = statuses.may_be_all(cut.leaf_states);
  auto put = put_chunks(cut, packed);
  if (put && !*put) {
    packed = false;
    cut_batch.Clear();
    put = put_chunks(cut, packed);
  }
  if (!put) return fail(put.error().code, put.error().message);
  return statuses.put(cut, packed, cut_batch);
}

namespace {

Status put_blobs(const std::vector<Blob>& blobs, char letter, rocksdb::ColumnFamilyHandle* family,
                 rocksdb::WriteBatch& batch) {
  std::string value;
  for (const Blob& b : blobs) {
    if (b.bytes.empty()) {
      batch.Delete(family, key_of(letter, b.name));
      continue;
    }
    if (Status s = encode_blob(b.bytes, value); !s) return s;
    batch.Put(family, key_of(letter, b.name), value);
  }
  return {};
}

// The names of sources that are removed stay for as long as raw events may use them.
Status put_names(const Archive::Impl& impl, const Cut& cut, rocksdb::WriteBatch& batch) {
  for (const ForgottenSource& f : cut.forgotten) {
    SourceRecord names;
    const auto now = std::find_if(cut.sources.begin(), cut.sources.end(),
                                  [&](const SourceRecord& s) { return s.source == f.source; });
    if (now != cut.sources.end()) {
      names = *now;
    } else {
      std::string value;
      const auto found =
          impl.get(rocksdb::ReadOptions(), kSources, key_of(kSourceKey, f.source.value), value);
      if (!found) return fail(found.error().code, found.error().message);
      if (!*found) continue;
      if (Status s = decode_untrusted(value, names); !s) return s;
    }
    if (names.names.empty()) continue;
    names.attributes.clear();
    batch.Put(impl.families[kSources], names_key(names.end.value_or(cut.wall), f.source), encode(names));
  }
  return {};
}

}  // namespace

Status Archive::commit(const Cut& cut, bool sync) {
  if (Status s = impl_->writable(); !s) return s;
  const auto place = [&cut] { return "cut " + std::to_string(cut.sequence); };
  if (Status s = check(cut, false); !s) return fail(s.error(), place());
  if (cut.sequence < impl_->last_sequence)
    return fail(ErrorCode::kInvalidArgument, "cut " + std::to_string(cut.sequence) + " is older than cut " +
                                                 std::to_string(impl_->last_sequence) + " in the archive");
  if (Status s = impl_->recover(); !s) return s;
  const auto& f = impl_->families;
  rocksdb::WriteBatch& batch = impl_->cut_batch;
  batch.Clear();
  const auto layout = impl_->put_columns(cut);
  if (!layout) return fail(layout.error(), place());
  if (cut.run) batch.Put(f[kMeta], slice(kRunKey), encode(*cut.run));
  for (const StateRecord& s : cut.states) batch.Put(f[kMeta], key_of(kStateKey, s.id.value), encode(s.info));
  for (const LeafRecord& l : cut.leaves) batch.Put(f[kMeta], key_of(kLeafKey, l.leaf.value), encode(l));
  for (const MeasureState& m : cut.measure_states)
    batch.Put(f[kMeta], key_of(kMeasureKey, m.leaf.value), encode(m));
  for (const SourceRecord& s : cut.sources)
    batch.Put(f[kSources], key_of(kSourceKey, s.source.value), encode(s));
  for (const StreamRecord& s : cut.streams) batch.Put(f[kSources], stream_key(s.source, s.stream), encode(s));
  if (Status s = put_names(*impl_, cut, batch); !s) return s;
  for (const ForgottenSource& s : cut.forgotten) {
    batch.Delete(f[kSources], key_of(kSourceKey, s.source.value));
    for (const std::uint32_t stream : s.streams) batch.Delete(f[kSources], stream_key(s.source, stream));
  }
  for (const StreamRecord& s : cut.former) batch.Put(f[kSources], key_of(kFormerKey, s.stream), encode(s));
  if (!cut.closed.empty()) batch.Put(f[kMeta], slice(kClosedKey), encode(cut.closed));
  for (const GapRecord& g : cut.gaps) batch.Put(f[kMeta], gap_key(g.first), encode(g));
  for (const SliceIndex g : cut.gaps_forgotten) batch.Delete(f[kMeta], gap_key(g));
  std::string value;
  std::int64_t span = impl_->raw_span;
  const std::vector<RawBlock> raw = impl_->tails.extend(cut.sequence, cut.raw);
  for (const RawBlock& b : raw) {
    if (Status s = encode_raw(b, value); !s) return s;
    batch.Put(f[kRaw], RawKey{b.begin, b.leaf, b.first}.encode(), value);
    span = std::max(span, (b.end - b.begin).value);
  }
  if (span != impl_->raw_span) {
    value.clear();
    put_time(span, value);
    batch.Put(f[kMeta], slice(kRawSpanKey), value);
  }
  for (const AlertRecord& a : cut.alerts) batch.Put(f[kReports], key_of(kAlertKey, a.id), encode(a));
  for (const auto& [level, end] : cut.phases_end)
    batch.DeleteRange(f[kReports], phase_key(level, end), end_of_phase_keys(level));
  for (const PhaseRecord& p : cut.phases) batch.Put(f[kReports], phase_key(p.level, p.index), encode(p));
  if (Status s = put_blobs(cut.signatures, kSignatureKey, f[kMeta], batch); !s) return s;
  if (Status s = put_blobs(cut.state, kBlobKey, f[kMeta], batch); !s) return s;
  if (cut.report) {
    if (Status s = encode_blob(cut.report->bytes, value); !s) return s;
    batch.Put(f[kReports], report_key(cut.report->watermark), value);
  }
  if (Status s = impl_->journal.put(cut, batch); !s) return s;
  batch.Put(f[kMeta], slice(kCutKey), encode(CutMark{cut.sequence, cut.wall}));
  if (Status s = impl_->write(batch, sync); !s) return s;
  if (batch.GetDataSize() > kKeptBatch) batch = rocksdb::WriteBatch();
  impl_->tails.committed(cut.sequence, raw);
  impl_->statuses.committed(*layout);
  impl_->last_sequence = cut.sequence;
  impl_->raw_span = span;
  if (cut.run) impl_->levels = cut.run->levels;
  return {};
}

Result<std::size_t> Archive::join_columns(LevelIndex level, SliceIndex through, std::size_t least,
                                          std::size_t most) {
  if (Status s = impl_->writable(); !s) return tl::unexpected(s.error());
  if (Status s = impl_->recover(); !s) return tl::unexpected(s.error());
  if (level.value >= std::min(impl_->levels.size(), kMostLevels)) return std::size_t{0};
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

Status Archive::check_removable(const std::string& path, const std::vector<std::string>& also) {
  return store::check_removable(path, also);
}
Status Archive::remove(const std::string& path, const std::vector<std::string>& also) {
  return remove_archive(path, also);
}

}  // namespace margay::store
