// The journal: which slices were shown when, and slices as they were shown. The store's own.
//
// Thread safety: put of the writer, the others from any thread.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "margay/store/archive.h"

namespace margay::store {

struct Database;
class JoinedSlices;

class Journal {
 public:
  // They outlive it.
  Journal(const Database& database, const JoinedSlices& joins) : database_(database), joins_(joins) {}

  // The cut's entries and kept slices, and those that it replaces as the archive has them by now.
  Status put(const Cut& cut, rocksdb::WriteBatch& batch) const;
  // See Archive::read_journal, is_superseded, read_shown.
  Status read(const rocksdb::ReadOptions& options, SliceIndex from, std::uint64_t least,
              const std::function<bool(JournalEntry&&)>& take) const;
  Result<bool> is_superseded(const rocksdb::ReadOptions& options, SliceIndex slice,
                             std::uint64_t sequence) const;
  Result<std::optional<model::SliceColumn>> read_shown(const rocksdb::ReadOptions& options, SliceIndex slice,
                                                       std::uint64_t sequence) const;

 private:
  const Database& database_;
  const JoinedSlices& joins_;
};

}  // namespace margay::store
