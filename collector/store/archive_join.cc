// Slices that became one value, and what becomes of it. See joined_codec.h.
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <limits>

#include "bytes.h"
#include "impl.h"
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

Result<Archive::Impl::Joined> Archive::Impl::find_join(rocksdb::Iterator& it, LevelIndex level,
                                                       SliceIndex from) const {
  it.Seek(join_key(level, from));
  if (!it.Valid()) {
    if (!it.status().ok()) return rocks_error(it.status(), path);
    return Joined();
  }
  if (view(it.key()) >= behind_joins(level)) return Joined();
  const auto key = SliceKey::decode(view(it.key()));
  if (!key) return fail(ErrorCode::kCorrupt, "a slice's key has a wrong length");
  {
    const std::lock_guard lock(kept_mutex);
    if (kept_join && kept_key == view(it.key()) && kept_value == view(it.value())) return kept_join;
  }
  auto columns = std::make_shared<std::vector<model::SliceColumn>>();
  if (Status s = decode_joined_untrusted(view(it.value()), level, key->slice, *columns); !s)
    return fail(s.error(), place_of(level, key->slice));
  const std::lock_guard lock(kept_mutex);
  kept_key = view(it.key());
  kept_value = view(it.value());
  kept_join = columns;
  return Joined(columns);
}

Result<std::optional<model::SliceColumn>> Archive::Impl::read_joined(const rocksdb::ReadOptions& options,
                                                                     LevelIndex level,
                                                                     SliceIndex slice_index) const {
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(options, families[kSlices]));
  const auto join = find_join(*it, level, slice_index);
  if (!join) return fail(join.error(), path);
  if (!*join) return std::optional<model::SliceColumn>();
  const auto at = std::lower_bound((*join)->begin(), (*join)->end(), slice_index,
                                   [](const model::SliceColumn& c, SliceIndex s) { return c.index < s; });
  if (at == (*join)->end() || at->index != slice_index) return std::optional<model::SliceColumn>();
  return std::optional(*at);
}

Result<std::optional<SliceIndex>> Archive::Impl::last_joined(LevelIndex level) {
  auto& known = joined_through[level.value];
  if (known) return *known;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, families[kSlices]));
  it->SeekForPrev(behind_joins(level));
  if (!it->status().ok()) return rocks_error(it->status(), path);
  known.emplace();
  if (it->Valid() && view(it->key()) >= join_key(level, kLowest))
    if (const auto key = SliceKey::decode(view(it->key()))) known->emplace(key->slice);
  return *known;
}

Result<std::size_t> Archive::join_columns(LevelIndex level, SliceIndex through, std::size_t least,
                                          std::size_t most) {
  if (Status s = impl_->writable(); !s) return tl::unexpected(s.error());
  if (Status s = impl_->recover(); !s) return tl::unexpected(s.error());
  if (level.value >= std::min(impl_->levels.size(), kMostLevels)) return std::size_t{0};
  const auto joined = impl_->last_joined(level);
  if (!joined) return tl::unexpected(joined.error());
  const SliceIndex first = *joined ? **joined + 1 : kLowest;
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
  std::string value;
  const SliceIndex last = columns.back().index;
  const Status encoded = encode_joined(columns, impl_->levels[level.value], value);
  if (!encoded) {
    if (encoded.error().code != ErrorCode::kLimit) return tl::unexpected(encoded.error());
    impl_->joined_through[level.value].emplace(last);  // these stay as they are
    return columns.size();
  }
  rocksdb::WriteBatch batch;
  rocksdb::ColumnFamilyHandle* family = impl_->families[kSlices];
  batch.DeleteRange(family, SliceKey{level, columns.front().index, 0}.encode(),
                    SliceKey{level, last, 0xffff}.encode() + '\0');
  batch.Put(family, join_key(level, last), value);
  if (Status s = impl_->write(batch, false); !s) return tl::unexpected(s.error());
  impl_->joined_through[level.value].emplace(last);
  return columns.size();
}

Status Archive::Impl::trim_join(LevelIndex level, SliceIndex before) {
  Joined join;
  {
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, families[kSlices]));
    auto found = find_join(*it, level, before);
    if (!found) return fail(found.error(), path);
    join = std::move(*found);
  }
  if (!join || join->front().index >= before || level.value >= levels.size()) return {};
  std::vector<model::SliceColumn> left;
  std::copy_if(join->begin(), join->end(), std::back_inserter(left),
               [&](const model::SliceColumn& c) { return c.index >= before; });
  std::string value;
  if (Status s = encode_joined(left, levels[level.value], value); !s) return s;
  rocksdb::WriteBatch batch;
  batch.Put(families[kSlices], join_key(level, left.back().index), value);
  return write(batch, false);
}

Result<std::uint64_t> Archive::stored_bytes(LevelIndex level, SliceIndex first, SliceIndex last) const {
  const Reading reading(*impl_);
  if (!reading) return fail(impl_->not_ready().error(), "reading");
  std::uint64_t bytes = 0;
  const auto add = [&](std::string_view key, std::string_view value) -> Result<bool> {
    bytes += key.size() + value.size();
    return true;
  };
  Status s = impl_->scan(reading.options(), kSlices, SliceKey{level, first, 0}.encode(),
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
  if (s) s = impl_->scan(reading.options(), kSlices, join_key(level, first), behind_joins(level), add_part);
  if (!s) return fail(s.error().code, s.error().message);
  return bytes;
}

Result<std::optional<std::pair<SliceIndex, SliceIndex>>> Archive::column_range(LevelIndex level) const {
  using Range = std::optional<std::pair<SliceIndex, SliceIndex>>;
  const Reading reading(*impl_);
  if (!reading) return fail(impl_->not_ready().error(), "reading");
  Range range;
  const auto reaches = [&](SliceIndex s) {
    if (!range) range.emplace(s, s);
    range->first = std::min(range->first, s);
    range->second = std::max(range->second, s);
  };
  const std::unique_ptr<rocksdb::Iterator> it(
      impl_->db->NewIterator(reading.options(), impl_->families[kSlices]));
  const auto first_join = impl_->find_join(*it, level, kLowest);
  if (!first_join) return fail(first_join.error(), path());
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
    if (!first || !last) return fail(ErrorCode::kCorrupt, path() + ": a slice's key has a wrong length");
    reaches(first->slice);
    reaches(last->slice);
  }
  if (!it->status().ok()) return rocks_error(it->status(), path());
  return range;
}

}  // namespace margay::store
