// What the analysis was shown, read back from an archive in its order (store/journal.h), as the messages that
// the analysis takes. Where the journal does not tell of slices that are kept (written by an older Margay, or
// imported), they come as they are, each closing at its end.
//
// Thread safety: as of store::Archive. Memory: some hundred entries and one slice. Cost: decoding the slices.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "exchange.h"
#include "margay/store/archive.h"

namespace margay::daemon {

class History {
 public:
  // Both must outlive it.
  History(const store::Archive& archive, const store::Resume& resume) : archive_(archive), resume_(resume) {}

  struct Range {
    SliceIndex first{};                // of the slices shown
    std::uint64_t until = UINT64_MAX;  // entries before this number
    // Set before the first slice, and what became known meanwhile is not told. Null: told as it became known,
    // or, where the journal does not begin with the run, all at once.
    std::shared_ptr<const detect::Topology> topology;
  };
  // `entry` is null for what the journal does not tell of. Of kStart entries the message has who was known
  // then. A callback that returns false ends it. Errors: those of the archive.
  using Take = std::function<bool(const store::JournalEntry* entry, ClosedSlice&& message)>;
  Status read(const Range& range, const Take& take);
  // Entries that the journal has lost (its numbers have holes) among those read so far.
  std::uint64_t missing() const { return missing_; }

  // Everybody who is known now.
  std::shared_ptr<const detect::Topology> whole_topology() const;

 private:
  Status plain(SliceIndex first, SliceIndex last, const Take& take, bool& more);
  std::shared_ptr<const detect::Topology> topology(const std::vector<model::Attributes>& leaves,
                                                   std::size_t states, std::uint64_t version) const;

  const store::Archive& archive_;
  const store::Resume& resume_;
  std::uint64_t missing_ = 0;
};

// Where a daemon that is started again looks back to, so as to know the run as before.
struct LookBack {
  SliceIndex first{};          // the first slice that is looked at again
  bool whole = true;           // over all there was, from the run's first decision on
  std::uint64_t sequence = 1;  // of the journal's entry that says so: all before it is looked at
  SliceIndex newest{};         // shown so far
};
// Slices that are looked back on at most.
inline constexpr std::int64_t kMostLookedBack = 36'000;
Result<LookBack> look_back(const store::Archive& archive, const store::Resume& resume);

}  // namespace margay::daemon
