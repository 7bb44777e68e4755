// Slices that became one value (joined_codec.h): found, read, made, and trimmed. The store's own.
//
// A join lies under the key of its last slice. The one read last is kept: a replay asks slice by slice.
// Thread safety: find, read, stored_bytes and range from any thread; the others of the writer.
#pragma once

#include <rocksdb/db.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "margay/store/archive.h"

namespace margay::store {

struct Database;

class JoinedSlices {
 public:
  using Columns = std::shared_ptr<const std::vector<model::SliceColumn>>;
  // The database outlives it.
  explicit JoinedSlices(Database& database) : database_(database) {}

  // The slices of the first join that ends at `from` or later; nothing if there is none. One iterator may
  // serve joins and single slices: one state of both.
  Result<Columns> find(rocksdb::Iterator& it, LevelIndex level, SliceIndex from) const;
  // One slice out of its join; nothing if it is in none.
  Result<std::optional<model::SliceColumn>> read(const rocksdb::ReadOptions& options, LevelIndex level,
                                                 SliceIndex slice) const;
  // Joins `columns`, which are the slices behind the last join, and end at `last`. Those of which no join can
  // be made stay as they are, and are not asked for again.
  Status join(LevelIndex level, const std::vector<model::SliceColumn>& columns);
  // Of a level, the last slice that is in a join; nothing: none is. Read once, then kept.
  Result<std::optional<SliceIndex>> last(LevelIndex level);
  // Takes what lies before `before` out of the join that goes on behind it.
  Status trim(LevelIndex level, SliceIndex before);
  // Bytes of slices [first, last], of joins in proportion.
  Result<std::uint64_t> stored_bytes(const rocksdb::ReadOptions& options, LevelIndex level, SliceIndex first,
                                     SliceIndex last) const;
  // The first and the last slice, joined or not.
  Result<std::optional<std::pair<SliceIndex, SliceIndex>>> range(const rocksdb::ReadOptions& options,
                                                                 LevelIndex level) const;

 private:
  Database& database_;
  std::array<std::optional<std::optional<SliceIndex>>, kMostLevels> through_;  // by level
  mutable std::mutex kept_mutex_;
  mutable std::string kept_key_, kept_value_;  // guarded by kept_mutex_
  mutable Columns kept_;                       // likewise
};

}  // namespace margay::store
