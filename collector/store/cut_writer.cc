#include "cut_writer.h"

#include <algorithm>
#include <span>

#include "keys.h"
#include "margay/store/column_codec.h"
#include "plane_codec.h"
#include "record_codec.h"

namespace margay::store {
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
Result<bool> CutWriter::put_chunks(const Cut& cut, bool packed) {
  const auto room = [&]() -> Result<bool> {
    return encoder_.full()
               ? put_encoded(encoder_, database_.families[kSlices], database_.families[kMeta], batch_)
               : true;
  };
  for (std::size_t i = 0; packed && i < cut.leaf_states.size(); i += kChunkLeaves) {
    const auto leaves = std::span(cut.leaf_states).subspan(i);
    encoder_.add(leaves.first(std::min<std::size_t>(kChunkLeaves, leaves.size())),
                 static_cast<std::uint16_t>(i / kChunkLeaves));
    if (auto r = room(); !r || !*r) return r;
  }
  const std::vector<DurationNs>& durations = cut.run ? cut.run->levels : database_.levels;
  for (const auto& column : cut.columns) {
    const DurationNs slice =
        column->level.value < durations.size() ? durations[column->level.value] : DurationNs();
    const std::uint32_t count = chunk_count(column->leaves());
    for (std::uint32_t i = 0; i < (column->plane() == model::Plane::kNone ? count : 2 * count); ++i) {
      encoder_.add(*column, static_cast<std::uint16_t>(i < count ? i : kPlaneChunk + (i - count)), slice);
      if (auto r = room(); !r || !*r) return r;
    }
  }
  return put_encoded(encoder_, database_.families[kSlices], database_.families[kMeta], batch_);
}

Result<LeafStatuses::Layout> CutWriter::put_columns(const Cut& cut) {
  bool packed = statuses_.may_be_all(cut.leaf_states);
  auto put = put_chunks(cut, packed);
  if (put && !*put) {
    packed = false;
    batch_.Clear();
    put = put_chunks(cut, packed);
  }
  if (!put) return fail(put.error().code, put.error().message);
  return statuses_.put(cut, packed, batch_);
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
Status put_names(const Database& database, const Cut& cut, rocksdb::WriteBatch& batch) {
  for (const ForgottenSource& f : cut.forgotten) {
    SourceRecord names;
    const auto now = std::find_if(cut.sources.begin(), cut.sources.end(),
                                  [&](const SourceRecord& s) { return s.source == f.source; });
    if (now != cut.sources.end()) {
      names = *now;
    } else {
      std::string value;
      const auto found =
          database.get(rocksdb::ReadOptions(), kSources, key_of(kSourceKey, f.source.value), value);
      if (!found) return fail(found.error().code, found.error().message);
      if (!*found) continue;
      if (Status s = decode_untrusted(value, names); !s) return s;
    }
    if (names.names.empty()) continue;
    names.attributes.clear();
    batch.Put(database.families[kSources], names_key(names.end.value_or(cut.wall), f.source), encode(names));
  }
  return {};
}

}  // namespace

Status CutWriter::begin(const RunMeta& run) {
  database_.levels = run.levels;
  rocksdb::WriteBatch batch;
  batch.Put(database_.families[kMeta], slice(kRunKey), encode(run));
  const model::StateTable fixed;
  for (std::size_t i = 0; i < fixed.size(); ++i)
    batch.Put(database_.families[kMeta], key_of(kStateKey, static_cast<std::uint16_t>(i)),
              encode(fixed.states()[i]));
  return database_.write(batch, true);
}

Status CutWriter::read_state() {
  std::string value;
  const auto run = database_.get({}, kMeta, kRunKey, value);
  if (!run) return fail(run.error().code, run.error().message);
  if (!*run) return fail(ErrorCode::kNotFound, "holds no run; its creation was cut short");
  RunMeta meta;
  if (Status s = decode_untrusted(value, meta); !s) return s;
  database_.levels = meta.levels;
  const auto cut = database_.get({}, kMeta, kCutKey, value);
  if (!cut) return fail(cut.error().code, cut.error().message);
  if (*cut) {
    CutMark mark;
    if (Status s = decode_untrusted(value, mark); !s) return s;
    last_sequence_ = mark.sequence;
  }
  if (Status s = statuses_.read_layout(); !s) return s;
  const auto span = database_.get({}, kMeta, kRawSpanKey, value);
  if (!span) return fail(span.error().code, span.error().message);
  if (*span) {
    if (value.size() != 8) return fail(ErrorCode::kCorrupt, "the raw blocks' span does not decode");
    raw_span_ = std::max<std::int64_t>(0, get_time(value));
  }
  return {};
}

Status CutWriter::commit(const Cut& cut, bool sync) {
  if (Status s = database_.writable(); !s) return s;
  const auto place = [&cut] { return "cut " + std::to_string(cut.sequence); };
  if (Status s = check(cut, false); !s) return fail(s.error(), place());
  if (cut.sequence < last_sequence_)
    return fail(ErrorCode::kInvalidArgument, "cut " + std::to_string(cut.sequence) + " is older than cut " +
                                                 std::to_string(last_sequence_) + " in the archive");
  if (Status s = database_.recover(); !s) return s;
  const auto& f = database_.families;
  rocksdb::WriteBatch& batch = batch_;
  batch.Clear();
  const auto layout = put_columns(cut);
  if (!layout) return fail(layout.error(), place());
  if (cut.run) batch.Put(f[kMeta], slice(kRunKey), encode(*cut.run));
  for (const StateRecord& s : cut.states) batch.Put(f[kMeta], key_of(kStateKey, s.id.value), encode(s.info));
  for (const LeafRecord& l : cut.leaves) batch.Put(f[kMeta], key_of(kLeafKey, l.leaf.value), encode(l));
  for (const MeasureState& m : cut.measure_states)
    batch.Put(f[kMeta], key_of(kMeasureKey, m.leaf.value), encode(m));
  for (const SourceRecord& s : cut.sources)
    batch.Put(f[kSources], key_of(kSourceKey, s.source.value), encode(s));
  for (const StreamRecord& s : cut.streams) batch.Put(f[kSources], stream_key(s.source, s.stream), encode(s));
  if (Status s = put_names(database_, cut, batch); !s) return s;
  for (const ForgottenSource& s : cut.forgotten) {
    batch.Delete(f[kSources], key_of(kSourceKey, s.source.value));
    for (const std::uint32_t stream : s.streams) batch.Delete(f[kSources], stream_key(s.source, stream));
  }
  for (const StreamRecord& s : cut.former) batch.Put(f[kSources], key_of(kFormerKey, s.stream), encode(s));
  if (!cut.closed.empty()) batch.Put(f[kMeta], slice(kClosedKey), encode(cut.closed));
  for (const GapRecord& g : cut.gaps) batch.Put(f[kMeta], gap_key(g.first), encode(g));
  for (const SliceIndex g : cut.gaps_forgotten) batch.Delete(f[kMeta], gap_key(g));
  std::string value;
  std::int64_t span = raw_span_;
  const std::vector<RawBlock> raw = tails_.extend(cut.sequence, cut.raw);
  for (const RawBlock& b : raw) {
    if (Status s = encode_raw(b, value); !s) return s;
    batch.Put(f[kRaw], RawKey{b.begin, b.leaf, b.first}.encode(), value);
    span = std::max(span, (b.end - b.begin).value);
  }
  if (span != raw_span_) {
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
  if (Status s = journal_.put(cut, batch); !s) return s;
  batch.Put(f[kMeta], slice(kCutKey), encode(CutMark{cut.sequence, cut.wall}));
  if (Status s = database_.write(batch, sync); !s) return s;
  if (batch.GetDataSize() > kKeptBatch) batch = rocksdb::WriteBatch();
  tails_.committed(cut.sequence, raw);
  statuses_.committed(*layout);
  last_sequence_ = cut.sequence;
  raw_span_ = span;
  if (cut.run) database_.levels = cut.run->levels;
  return {};
}

}  // namespace margay::store
