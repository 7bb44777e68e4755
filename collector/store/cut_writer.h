// Cuts, each written in one atomic batch. The store's own.
//
// Thread safety: of the writer.
#pragma once

#include <rocksdb/write_batch.h>

#include <cstdint>

#include "chunk_encoder.h"
#include "database.h"
#include "journal.h"
#include "leaf_statuses.h"
#include "raw_columns.h"

namespace margay::store {

class CutWriter {
 public:
  // These outlive it.
  CutWriter(Database& database, LeafStatuses& statuses, const Journal& journal)
      : database_(database), statuses_(statuses), journal_(journal) {}

  // What a new archive begins with.
  Status begin(const RunMeta& run);
  // What it goes on from, out of the archive.
  Status read_state();
  // See Archive::commit.
  Status commit(const Cut& cut, bool sync);
  // Blocks that may not be made longer any more: they are dropped.
  void forget_raw() { tails_.clear(); }

 private:
  // A cut's columns and where its leaves stand go into the batch, which is empty: returned is how they lie
  // then.
  Result<LeafStatuses::Layout> put_columns(const Cut& cut);
  Result<bool> put_chunks(const Cut& cut, bool packed);  // false: the leaves do not lie in order

  Database& database_;
  LeafStatuses& statuses_;
  const Journal& journal_;
  std::uint64_t last_sequence_ = 0;
  std::int64_t raw_span_ = 0;
  RawTails tails_;
  ChunkEncoder encoder_;
  rocksdb::WriteBatch batch_;  // its room is kept
};

}  // namespace margay::store
