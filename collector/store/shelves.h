// What lies where in an archive and how much it takes, and giving it up. The store's own.
//
// Thread safety: drop_*, flush and compact of the writer, the others from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "database.h"
#include "joined_slices.h"

namespace margay::store {

// Its functions are those of Archive.
class Shelves {
 public:
  // These outlive it.
  Shelves(Database& database, JoinedSlices& joins) : database_(database), joins_(joins) {}

  Status drop_columns_before(LevelIndex level, SliceIndex before);
  Status drop_raw_before(TimeNs time);
  Status drop_reports_before(TimeNs time);
  Status flush();
  Status compact();
  Result<std::vector<Extent>> extents(Shelf shelf, LevelIndex level, TimeNs until, unsigned parts) const;
  Result<std::optional<TimeNs>> oldest(Shelf shelf, LevelIndex level) const;

 private:
  Database& database_;
  JoinedSlices& joins_;
};

// Of an archive that need not be open.
Result<DiskUse> disk_use_of(const std::string& path);

}  // namespace margay::store
