// Where the leaves stand, in every cut: one value for each thousand of them, for a key each costs more than
// the cells. The store's own.
//
// Packed when the cut has all of them (all that are packed, at least), one by one else. One by one counts
// instead of packed. Thread safety: load from any thread, the others of the writer.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <cstddef>
#include <vector>

#include "margay/store/archive.h"

namespace margay::store {

struct Database;

class LeafStatuses {
 public:
  // How they lie in the archive.
  struct Layout {
    std::size_t packed = 0;  // leaves
    bool single = false;     // there may be some
  };
  // The database outlives it.
  explicit LeafStatuses(const Database& database) : database_(database) {}

  // Could these be all leaves? What is in between is not looked at.
  bool may_be_all(const std::vector<LeafState>& leaves) const;
  // Puts those of the cut that are not `packed` already into the batch: returned is how they lie then.
  Result<Layout> put(const Cut& cut, bool packed, rocksdb::WriteBatch& batch) const;
  void committed(Layout layout) { layout_ = layout; }
  // How they lie, out of the archive.
  Status read_layout();
  // Appends all.
  Status load(const rocksdb::ReadOptions& options, std::vector<LeafState>& leaves) const;

 private:
  const Database& database_;
  Layout layout_;
};

}  // namespace margay::store
