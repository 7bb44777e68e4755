// What an archive holds, read. Every call sees one cut; nothing that lies in the files is trusted. The
// store's own.
//
// Thread safety: any.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "database.h"
#include "joined_slices.h"
#include "journal.h"
#include "leaf_statuses.h"

namespace margay::store {

// Its functions are those of Archive.
class ArchiveReader {
 public:
  // These outlive it.
  ArchiveReader(const Database& database, const LeafStatuses& statuses, const JoinedSlices& joins,
                const Journal& journal)
      : database_(database), statuses_(statuses), joins_(joins), journal_(journal) {}

  Result<Resume> load(const LoadBounds& bounds) const;
  Result<std::vector<AlertRecord>> alerts() const;
  Result<std::vector<PhaseRecord>> phases() const;
  Status scan_columns(LevelIndex level, SliceIndex first, SliceIndex last,
                      const std::function<bool(model::SliceColumn&&)>& take) const;
  Result<std::vector<model::SliceColumn>> read_columns(LevelIndex level, SliceIndex first,
                                                       SliceIndex last) const;
  Result<std::optional<std::pair<SliceIndex, SliceIndex>>> column_range(LevelIndex level) const;
  Result<std::uint64_t> stored_bytes(LevelIndex level, SliceIndex first, SliceIndex last) const;
  Status read_journal(SliceIndex from, std::uint64_t least,
                      const std::function<bool(JournalEntry&&)>& take) const;
  Result<std::optional<model::SliceColumn>> read_shown(SliceIndex slice, std::uint64_t sequence) const;
  Result<bool> is_superseded(SliceIndex slice, std::uint64_t sequence) const;
  Status read_raw(std::optional<LeafIndex> leaf, TimeNs from, TimeNs to,
                  const std::function<bool(RawBlock&&)>& take) const;
  Status read_reports(TimeNs from, TimeNs to, const std::function<bool(ReportRecord&&)>& take) const;

 private:
  const Database& database_;
  const LeafStatuses& statuses_;
  const JoinedSlices& joins_;
  const Journal& journal_;
};

}  // namespace margay::store
