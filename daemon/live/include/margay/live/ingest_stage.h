// The daemon's first thread ("margay-ingest"): messages in, cells, cuts and acknowledgements out. It never
// waits for a disk or for the analysis.
#pragma once

#include <atomic>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "archive_health.h"
#include "durability.h"
#include "margay/analysis/exchange.h"
#include "margay/analysis/history.h"
#include "margay/ingest/ingest.h"
#include "margay/settings/options.h"
#include "margay/slicer/levels.h"
#include "margay/slicer/slicer.h"
#include "margay/store/archive.h"
#include "margay/store/commit_queue.h"
#include "margay/store/joiner.h"
#include "margay/store/keeper.h"
#include "margay/transport/guarded.h"
#include "margay/transport/limited.h"
#include "margay/transport/refusal_log.h"
#include "quarantine.h"
#include "shown_journal.h"

namespace margay::app {

class IngestStage {
 public:
  // `remote` takes what agents on other machines send. `resume` is what the archive held when it was opened
  // (empty for a new one).
  static Result<std::unique_ptr<IngestStage>> make(const Options& options, zmq::context_t& context,
                                                   store::Archive& archive, const store::Resume& resume,
                                                   const LookBack& back, Exchange& exchange,
                                                   const Clock& clock,
                                                   std::optional<transport::GuardedSocket> remote = {});
  ~IngestStage();
  void start();
  void join();

 private:
  IngestStage(const Options& options, transport::LimitedSocket socket, store::Archive& archive,
              Exchange& exchange, const Clock& clock, slicer::Levels levels, const store::Resume& resume);
  Status restore(const store::Resume& resume);
  Status restore_journal(const store::Resume& resume, const LookBack& back);
  void run();
  bool receive();
  void take(const transport::Socket::Frame& frame, char way);
  void close_slices(TimeNs watermark);
  std::optional<SliceIndex> gap_from(TimeNs watermark) const;
  void take_gap(SliceIndex next);
  void note_amended();
  void take_amended(TimeNs watermark, bool all);
  void publish(std::shared_ptr<const model::SliceColumn> column, bool amended, TimeNs watermark);
  void journal_shown(const ClosedSlice& message);
  std::shared_ptr<const model::SliceColumn> closed_copy(const model::SliceColumn& column) const;
  void keep(const model::SliceColumn& column);
  void put_pending(std::shared_ptr<const model::SliceColumn> column);
  std::shared_ptr<const Standing> standing() const;
  void say_lost_sources(TimeNs now);
  void put_in_quarantine(const transport::Socket::Frame& frame, const std::string& owner, TimeNs now);
  void say_impostor(const ingest::Impostor& impostor, const std::string& address);
  void collect_changes();
  bool much_waits() const;
  std::size_t most_held() const;
  DurationNs between_commits() const;
  // `last`: of the run. `end`: this process commits nothing any more.
  void commit(bool last, bool end = false);
  void poll_commits();
  void tell_retention();
  void send_replies();
  bool finishing();
  void tell_finished();

  const Options& options_;
  Exchange& exchange_;
  const Clock& clock_;
  store::Archive& archive_;
  store::RunMeta run_;
  transport::LimitedSocket socket_;
  std::optional<transport::GuardedSocket> remote_;
  model::StateTable states_;
  slicer::Slicer slicer_;
  slicer::Levels levels_;
  ingest::Ingest ingest_;
  Quarantine quarantine_;  // written by margay-store
  TimeNs next_quarantine_{};
  observe::DiskGauge disk_;  // measured by margay-store, the thread of commits_
  ArchiveHealth archive_health_;
  const Durability durability_;
  store::Keeper keeper_;
  store::Joiner joiner_;
  std::unique_ptr<store::CommitQueue> commits_;  // uses archive_, keeper_ and joiner_ on its thread

  // What the next cut will hold, beyond what it reads from the stages above.
  std::map<std::pair<std::uint8_t, std::int64_t>, std::shared_ptr<const model::SliceColumn>> pending_columns_;
  std::vector<store::AlertRecord> pending_alerts_;
  std::map<std::pair<LevelIndex, std::uint32_t>, store::PhaseRecord> pending_phases_;
  std::vector<store::Blob> pending_signatures_;
  std::map<LevelIndex, std::uint32_t> pending_phases_end_;
  std::optional<store::ReportRecord> pending_report_;
  std::optional<Findings::Handling> pending_handling_;
  std::map<std::uint64_t, std::uint64_t> handling_cuts_;   // cut -> the version that it holds
  std::map<std::uint64_t, std::uint64_t> unwatched_cuts_;  // likewise
  std::uint64_t unwatched_submitted_ = 0;
  ingest::Ingest::Forgotten pending_forgotten_;
  std::vector<store::RawBlock> pending_raw_;
  std::vector<EventRecord> raw_scratch_;
  std::size_t pending_raw_bytes_ = 0;
  std::map<std::uint64_t, std::size_t> raw_in_cuts_;  // bytes, of cuts on their way to the disk
  std::size_t pending_alert_bytes_ = 0, pending_signature_bytes_ = 0;
  // Slices that were published and are still there, with the analysis or the journal.
  std::shared_ptr<std::atomic<std::uint64_t>> published_bytes_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::uint64_t raw_lost_ = 0;  // records not archived for want of room
  std::uint64_t retained_ = 0;  // times that retention worked, as far as it was told
  bool told_full_ = false;
  std::uint64_t slices_unseen_ = 0;
  std::uint64_t amendments_unseen_ = 0;
  ShownJournal journal_;
  std::set<SliceIndex> amended_;  // not yet shown to the analysis
  TimeNs next_amended_{};
  std::uint64_t alerts_lost_ = 0;
  std::uint64_t columns_lost_ = 0;  // columns not archived, the disk being away for too long
  std::size_t states_committed_ = 0;
  std::uint64_t topology_committed_ = 0;
  std::uint64_t topology_published_ = 0;
  std::size_t states_published_ = 0;
  std::map<std::uint64_t, ingest::AckPoint> ack_points_;  // by cut
  std::uint64_t cut_ = 0;
  std::uint64_t acked_cut_ = 0;
  TimeNs last_commit_{};
  std::size_t received_ = 0;  // bytes, since the last cut
  TimeNs next_standing_{};
  bool start_counted_ = false;
  std::set<SourceId> lost_sources_;  // said to be
  transport::RefusalLog refusals_{"messages", "messages"};
  std::size_t pending_column_bytes_ = 0;
  std::vector<store::GapRecord> pending_gaps_;
  std::vector<SliceIndex> pending_gaps_forgotten_;
  std::deque<SliceIndex> gaps_;  // of the archive, by their first slice, oldest first
  std::uint64_t absences_ = 0;
  DurationNs not_watched_{};
  std::optional<std::pair<TimeNs, TimeNs>> last_absence_;
  TimeNs no_gap_before_{};              // who was not known may still bring what happened meanwhile
  std::vector<LeafIndex> former_boot_;  // leaves that were there when the machine was started anew
  bool said_final_ = false;
  bool last_cut_submitted_ = false;
  DurationNs finish_patience_{};
  TimeNs finish_deadline_{}, last_finish_deadline_{};
  std::uint64_t finish_taken_ = 0;  // records
  TimeNs last_deadline_{};
  bool finish_started_ = false;
  std::int32_t exit_code_ = 0;
  std::ofstream capture_;  // every message as it came in, for tests
  std::thread thread_;
};

}  // namespace margay::app
