#include "leaf_statuses.h"

#include "database.h"
#include "keys.h"
#include "margay/store/column_codec.h"
#include "record_codec.h"

namespace margay::store {
namespace {

std::string single_keys_begin() {
  return std::string(1, kOpenKey);
}
std::string single_keys_end() {
  return std::string(1, static_cast<char>(kOpenKey + 1));
}

}  // namespace

bool LeafStatuses::may_be_all(const std::vector<LeafState>& all) const {
  return !all.empty() && all.size() >= layout_.packed && all.front().leaf.value == 0 &&
         all.back().leaf.value == all.size() - 1;
}

Result<LeafStatuses::Layout> LeafStatuses::put(const Cut& cut, bool packed,
                                               rocksdb::WriteBatch& batch) const {
  const std::vector<LeafState>& all = cut.leaf_states;
  if (all.empty()) return layout_;
  rocksdb::ColumnFamilyHandle* family = database_.families[kMeta];
  if (packed) {
    if (layout_.single) batch.DeleteRange(family, single_keys_begin(), single_keys_end());
    return Layout{all.size(), false};
  }
  for (const LeafState& l : all) {
    if (Status s = check(l); !s) return fail(s.error().code, s.error().message);
    batch.Put(family, key_of(kOpenKey, l.leaf.value), encode(l));
  }
  return Layout{layout_.packed, true};
}

Status LeafStatuses::read_layout() {
  std::vector<LeafState> leaves;
  layout_ = {};
  Status s = database_.scan_letter({}, kMeta, kPackedOpenKey,
                                   [&](std::string_view, std::string_view value) -> Result<bool> {
                                     leaves.clear();
                                     if (Status d = decode_packed_untrusted(value, {}, leaves); !d)
                                       return fail(d.error().code, d.error().message);
                                     layout_.packed += leaves.size();
                                     return true;
                                   });
  if (!s) return s;
  return database_.scan_letter({}, kMeta, kOpenKey, [&](std::string_view, std::string_view) -> Result<bool> {
    layout_.single = true;
    return false;
  });
}

Status LeafStatuses::load(const rocksdb::ReadOptions& options, std::vector<LeafState>& leaves) const {
  Status s = database_.scan_letter(
      options, kMeta, kPackedOpenKey, [&](std::string_view key, std::string_view value) -> Result<bool> {
        if (key.size() != 3 || get_big_endian(key.substr(1)) * kChunkLeaves != leaves.size())
          return fail(ErrorCode::kCorrupt, "open states of leaves are missing");
        Status d =
            decode_packed_untrusted(value, LeafIndex(static_cast<std::uint32_t>(leaves.size())), leaves);
        if (!d) return fail(d.error().code, d.error().message);
        return true;
      });
  if (!s) return s;
  const std::size_t packed = leaves.size();
  return database_.scan_letter(options, kMeta, kOpenKey,
                               [&](std::string_view key, std::string_view value) -> Result<bool> {
                                 if (key.size() != 5)
                                   return fail(ErrorCode::kCorrupt, "a key has a wrong length");
                                 const std::uint64_t leaf = get_big_endian(key.substr(1));
                                 LeafState& l = leaf < packed ? leaves[leaf] : leaves.emplace_back();
                                 l.leaf = LeafIndex(static_cast<std::uint32_t>(leaf));
                                 if (Status d = decode_untrusted(value, l); !d)
                                   return fail(d.error().code, d.error().message);
                                 return true;
                               });
}

}  // namespace margay::store
