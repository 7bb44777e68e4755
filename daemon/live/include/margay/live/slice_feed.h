// The ingest's end of the queue to the analysis: closed and amended slices in order, what is known by now,
// and how things stand; and the journal of what was shown. Bounded: a slice that nobody has room to look at
// is archived all the same, and counted. Thread safety: none; owned by the ingest.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "margay/analysis/exchange.h"
#include "margay/analysis/history.h"
#include "margay/live/ingest_model.h"
#include "margay/live/shown_journal.h"

namespace margay::daemon {

class SliceFeed {
 public:
  // How things stand, asked for at most ten times a second.
  using AskStatus = std::function<std::shared_ptr<const RunStatus>(TimeNs now)>;
  SliceFeed(const IngestModel& model, Exchange& exchange, AskStatus status);

  // Goes on behind the archive's journal. `unchanged`: ShownJournal::resume.
  void restore(const store::Resume& resume, const LookBack& back,
               const std::map<SliceIndex, std::uint64_t>& unchanged);

  // Room for so many slices.
  std::size_t room() const { return exchange_.slices.room(); }
  void show(std::shared_ptr<const model::SliceColumn> column, bool amended, TimeNs watermark, TimeNs now);
  // How things stand, when no slice has told it for long.
  void tick(TimeNs now);
  // The run is over at `end`. False: there is no room to say it.
  bool show_end(TimeNs end, TimeNs now);

  // Slices that the analysis is not shown for want of room.
  void unseen(std::size_t slices) { slices_unseen_ += slices; }
  void amendment_unseen() { ++amendments_unseen_; }

  ShownJournal& journal() { return journal_; }
  void set(observe::Values& values) const;

 private:
  bool push(ClosedSlice message, TimeNs now);

  const IngestModel& model_;
  Exchange& exchange_;
  AskStatus status_;
  ShownJournal journal_;
  // Of slices that were shown and are still there, with the analysis or the journal: bytes.
  std::shared_ptr<std::atomic<std::uint64_t>> held_bytes_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::uint64_t topology_shown_ = 0;
  std::size_t states_shown_ = 0;
  TimeNs next_status_{};
  std::uint64_t slices_unseen_ = 0, amendments_unseen_ = 0;
};

}  // namespace margay::daemon
