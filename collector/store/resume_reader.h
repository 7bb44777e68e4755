// What a restart goes on from, read out of one snapshot. The store's own.
#pragma once

#include "database.h"
#include "leaf_statuses.h"

namespace margay::store {

// Nothing that lies in the files is trusted: what refers to a leaf refers to one that is there.
// Errors: kCorrupt, kIo. Thread safety: as RocksDB's reads. Cost: O(what is read); of alerts, phases and
// signatures no more than `bounds` is in memory at once.
Result<Resume> read_resume(const Database& database, const LeafStatuses& statuses,
                           const rocksdb::ReadOptions& options, const LoadBounds& bounds);

}  // namespace margay::store
