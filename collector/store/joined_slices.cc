#include "joined_slices.h"

#include <rocksdb/write_batch.h>

#include <algorithm>
#include <limits>

#include "bytes.h"
#include "database.h"
#include "keys.h"
#include "margay/store/column_codec.h"
#include "margay/store/joined_codec.h"

namespace margay::store {
namespace {

constexpr SliceIndex kLowest(std::numeric_limits<std::int64_t>::min());
constexpr SliceIndex kHighest(std::numeric_limits<std::int64_t>::max());

// The key behind all joins of a level.
std::string behind_joins(LevelIndex level) {
  return join_key(level, kHighest) + '\0';
}
std::string place_of(LevelIndex level, SliceIndex last) {
  return "level " + std::to_string(level.value) + ", slices joined up to " + std::to_string(last.value);
}

}  // namespace

Result<JoinedSlices::Columns> JoinedSlices::find(rocksdb::Iterator& it, LevelIndex level,
                                                 SliceIndex from) const {
  it.Seek(join_key(level, from));
  if (!it.Valid()) {
    if (!it.status().ok()) return rocks_error(it.status(), database_.path);
    return Columns();
  }
  if (view(it.key()) >= behind_joins(level)) return Columns();
  const auto key = SliceKey::decode(view(it.key()));
  if (!key) return fail(ErrorCode::kCorrupt, "a slice's key has a wrong length");
  {
    const std::lock_guard lock(kept_mutex_);
    if (kept_ && kept_key_ == view(it.key()) && kept_value_ == view(it.value())) return kept_;
  }
  auto columns = std::make_shared<std::vector<model::SliceColumn>>();
  if (Status s = decode_joined_untrusted(view(it.value()), level, key->slice, *columns); !s)
    return fail(s.error(), place_of(level, key->slice));
  const std::lock_guard lock(kept_mutex_);
  kept_key_ = view(it.key());
  kept_value_ = view(it.value());
  kept_ = columns;
  return Columns(columns);
}

Result<std::optional<model::SliceColumn>> JoinedSlices::read(const rocksdb::ReadOptions& options,
                                                             LevelIndex level, SliceIndex slice_index) const {
  const std::unique_ptr<rocksdb::Iterator> it(
      database_.db->NewIterator(options, database_.families[kSlices]));
  const auto join = find(*it, level, slice_index);
  if (!join) return fail(join.error(), database_.path);
  if (!*join) return std::optional<model::SliceColumn>();
  const auto at = std::lower_bound((*join)->begin(), (*join)->end(), slice_index,
                                   [](const model::SliceColumn& c, SliceIndex s) { return c.index < s; });
  if (at == (*join)->end() || at->index != slice_index) return std::optional<model::SliceColumn>();
  return std::optional(*at);
}

Result<std::optional<SliceIndex>> JoinedSlices::last(LevelIndex level) {
  auto& known = through_[level.value];
  if (known) return *known;
  const std::unique_ptr<rocksdb::Iterator> it(database_.db->NewIterator({}, database_.families[kSlices]));
  it->SeekForPrev(behind_joins(level));
  if (!it->status().ok()) return rocks_error(it->status(), database_.path);
  known.emplace();
  if (it->Valid() && view(it->key()) >= join_key(level, kLowest))
    if (const auto key = SliceKey::decode(view(it->key()))) known->emplace(key->slice);
  return *known;
}

Status JoinedSlices::join(LevelIndex level, const std::vector<model::SliceColumn>& columns) {
  const SliceIndex last = columns.back().index;
  std::string value;
  const Status encoded = encode_joined(columns, database_.levels[level.value], value);
  if (!encoded && encoded.error().code != ErrorCode::kLimit) return encoded;
  if (encoded) {
    rocksdb::WriteBatch batch;
    rocksdb::ColumnFamilyHandle* family = database_.families[kSlices];
    batch.DeleteRange(family, SliceKey{level, columns.front().index, 0}.encode(),
                      SliceKey{level, last, 0xffff}.encode() + '\0');
    batch.Put(family, join_key(level, last), value);
    if (Status s = database_.write(batch, false); !s) return s;
  }
  through_[level.value].emplace(last);
  return {};
}

Status JoinedSlices::trim(LevelIndex level, SliceIndex before) {
  Columns join;
  {
    const std::unique_ptr<rocksdb::Iterator> it(database_.db->NewIterator({}, database_.families[kSlices]));
    auto found = find(*it, level, before);
    if (!found) return fail(found.error(), database_.path);
    join = std::move(*found);
  }
  if (!join || join->front().index >= before || level.value >= database_.levels.size()) return {};
  std::vector<model::SliceColumn> left;
  std::copy_if(join->begin(), join->end(), std::back_inserter(left),
               [&](const model::SliceColumn& c) { return c.index >= before; });
  std::string value;
  if (Status s = encode_joined(left, database_.levels[level.value], value); !s) return s;
  rocksdb::WriteBatch batch;
  batch.Put(database_.families[kSlices], join_key(level, left.back().index), value);
  return database_.write(batch, false);
}

Result<std::uint64_t> JoinedSlices::stored_bytes(const rocksdb::ReadOptions& options, LevelIndex level,
                                                 SliceIndex first, SliceIndex last) const {
  std::uint64_t bytes = 0;
  const auto add = [&](std::string_view key, std::string_view value) -> Result<bool> {
    bytes += key.size() + value.size();
    return true;
  };
  Status s = database_.scan(options, kSlices, SliceKey{level, first, 0}.encode(),
                            SliceKey{level, last, 0xffff}.encode() + '\0', add);
  // The first join that ends behind the range is the last that may be in it.
  const auto add_part = [&](std::string_view key, std::string_view value) -> Result<bool> {
    const auto k = SliceKey::decode(key);
    ByteReader in(value);
    in.u8();
    in.varint();
    const std::uint64_t span = in.varint();
    if (!k || !in.ok()) return fail(ErrorCode::kCorrupt, "joined slices are broken");
    const double slices = static_cast<double>(span) + 1;
    const double end = static_cast<double>(k->slice.value) + 1;
    const double from = std::max(static_cast<double>(first.value), end - slices);
    const double to = std::min(static_cast<double>(last.value) + 1, end);
    if (to > from)
      bytes += static_cast<std::uint64_t>(static_cast<double>(key.size() + value.size()) *
                                          std::min(1.0, (to - from) / slices));
    return k->slice < last;
  };
  if (s) s = database_.scan(options, kSlices, join_key(level, first), behind_joins(level), add_part);
  if (!s) return fail(s.error().code, s.error().message);
  return bytes;
}

Result<std::optional<std::pair<SliceIndex, SliceIndex>>> JoinedSlices::range(
    const rocksdb::ReadOptions& options, LevelIndex level) const {
  using Range = std::optional<std::pair<SliceIndex, SliceIndex>>;
  Range reached;
  const auto reaches = [&](SliceIndex s) {
    if (!reached) reached.emplace(s, s);
    reached->first = std::min(reached->first, s);
    reached->second = std::max(reached->second, s);
  };
  const std::unique_ptr<rocksdb::Iterator> it(
      database_.db->NewIterator(options, database_.families[kSlices]));
  const auto first_join = find(*it, level, kLowest);
  if (!first_join) return fail(first_join.error(), database_.path);
  if (*first_join) {
    reaches((*first_join)->front().index);
    it->SeekForPrev(behind_joins(level));
    if (it->Valid())
      if (const auto key = SliceKey::decode(view(it->key()))) reaches(key->slice);
  }
  const std::string from = SliceKey{level, kLowest, 0}.encode();
  const std::string to = SliceKey{level, kHighest, 0xffff}.encode();
  it->Seek(from);
  if (it->Valid() && view(it->key()) <= to) {
    const auto first = SliceKey::decode(view(it->key()));
    it->SeekForPrev(to);
    const auto last = it->Valid() ? SliceKey::decode(view(it->key())) : std::nullopt;
    if (!first || !last)
      return fail(ErrorCode::kCorrupt, database_.path + ": a slice's key has a wrong length");
    reaches(first->slice);
    reaches(last->slice);
  }
  if (!it->status().ok()) return rocks_error(it->status(), database_.path);
  return reached;
}

}  // namespace margay::store
