// Where the leaves stand, in every cut: one value for each thousand of them, for a key each costs more than
// the cells.
#include <rocksdb/write_batch.h>

#include "impl.h"
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

bool Archive::Impl::may_be_all(const std::vector<LeafState>& all) const {
  return !all.empty() && all.size() >= standing.packed && all.front().leaf.value == 0 &&
         all.back().leaf.value == all.size() - 1;
}

Result<Archive::Impl::Standing> Archive::Impl::put_standing(const Cut& cut, bool packed) {
  const std::vector<LeafState>& all = cut.leaf_states;
  if (all.empty()) return standing;
  rocksdb::ColumnFamilyHandle* family = families[kMeta];
  if (packed) {
    if (standing.single) cut_batch.DeleteRange(family, single_keys_begin(), single_keys_end());
    return Standing{all.size(), false};
  }
  for (const LeafState& l : all) {
    if (Status s = check(l); !s) return fail(s.error().code, s.error().message);
    cut_batch.Put(family, key_of(kOpenKey, l.leaf.value), encode(l));
  }
  return Standing{standing.packed, true};
}

Status Archive::Impl::read_standing() {
  std::vector<LeafState> leaves;
  standing = {};
  Status s =
      scan_letter({}, kMeta, kPackedOpenKey, [&](std::string_view, std::string_view value) -> Result<bool> {
        leaves.clear();
        if (Status d = decode_packed_untrusted(value, {}, leaves); !d)
          return fail(d.error().code, d.error().message);
        standing.packed += leaves.size();
        return true;
      });
  if (!s) return s;
  return scan_letter({}, kMeta, kOpenKey, [&](std::string_view, std::string_view) -> Result<bool> {
    standing.single = true;
    return false;
  });
}

Status Archive::Impl::load_leaf_states(const rocksdb::ReadOptions& options,
                                       std::vector<LeafState>& leaves) const {
  Status s = scan_letter(
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
  return scan_letter(options, kMeta, kOpenKey,
                     [&](std::string_view key, std::string_view value) -> Result<bool> {
                       if (key.size() != 5) return fail(ErrorCode::kCorrupt, "a key has a wrong length");
                       const std::uint64_t leaf = get_big_endian(key.substr(1));
                       LeafState& l = leaf < packed ? leaves[leaf] : leaves.emplace_back();
                       l.leaf = LeafIndex(static_cast<std::uint32_t>(leaf));
                       if (Status d = decode_untrusted(value, l); !d)
                         return fail(d.error().code, d.error().message);
                       return true;
                     });
}

}  // namespace margay::store
