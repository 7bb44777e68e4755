// What the analysis was shown, on its way into the archive (store/journal.h): entries wait here for the cut
// that holds their cells, or an earlier one, so that no report or alert in the archive rests on what is not
// there.
//
// A slice that changes after it was shown is kept as it was shown, too: from here, if no cut has had it yet;
// otherwise the archive keeps its own (superseded) before the cut replaces it.
//
// Bounded: while the disk is away the oldest go, and are counted (`lost`: decisions_not_archived). Thread
// safety: none. Cost: O(1) a message, O(leaves) where it brings a topology.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "margay/analysis/exchange.h"
#include "margay/store/archive.h"
#include "margay/store/journal.h"

namespace margay::daemon {

class ShownJournal {
 public:
  struct Bounds {
    std::size_t entries = 65'536;  // waiting; of superseded slices as many
    std::size_t kept = 128;        // columns waiting
  };
  ShownJournal() : ShownJournal(Bounds()) {}
  explicit ShownJournal(Bounds bounds) : bounds_(bounds) {}

  // Goes on behind what an archive holds. `unchanged`: the number of the entry that showed each slice that
  // can still change, and has not since. Call first.
  void resume(std::uint64_t last_sequence, SliceIndex newest,
              const std::map<SliceIndex, std::uint64_t>& unchanged);
  // A daemon began: `entry` says with what; kind, number and place are filled in here.
  void start(store::JournalEntry entry, std::span<const model::Attributes> leaves);

  // The analysis will take this message. `states`, `leaves`: those known by now, where it brings a topology.
  void shown(const ClosedSlice& message, std::uint32_t states, std::span<const model::Attributes> leaves);
  // The slice is not any more what was shown of it.
  void changed(SliceIndex slice);

  // The number of the last entry.
  std::uint64_t sequence() const { return sequence_; }
  // Entries and slices that are in no cut and never will be.
  std::uint64_t lost() const { return lost_; }

  // All that waits. Once the cut is on its way: submitted(), with the oldest slice that can still change.
  void put_into(store::Cut& cut) const;
  void submitted(SliceIndex oldest);

 private:
  void add(store::JournalEntry entry);

  struct Shown {
    std::uint64_t sequence = 0;  // of the entry
    // Until a cut has it; then the archive holds it as shown.
    std::shared_ptr<const model::SliceColumn> column;
  };
  Bounds bounds_;
  std::map<SliceIndex, Shown> shown_;  // slices that can still change, and have not since they were shown
  std::uint64_t sequence_ = 0;
  SliceIndex newest_{};
  std::vector<model::Attributes> leaves_;  // as the journal knows them
  std::deque<store::JournalEntry> entries_;
  std::deque<store::SupersededSlice> superseded_;
  std::deque<store::KeptSlice> kept_;
  std::uint64_t lost_ = 0;
};

}  // namespace margay::daemon
