// The daemon's first half: messages in, cells, cuts and acknowledgements out. What to do with a message, and
// what is due by now; no thread, no socket, no clock but the one it is given (ingest_loop.h has those). It
// never waits for a disk or for the analysis.
//
// Thread safety: none; its commits may be written on a thread of their own (store::CommitQueue).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "margay/analysis/exchange.h"
#include "margay/analysis/history.h"
#include "margay/live/archive_health.h"
#include "margay/live/archive_writer.h"
#include "margay/live/cut_builder.h"
#include "margay/live/durability.h"
#include "margay/live/ingest_model.h"
#include "margay/live/retention_log.h"
#include "margay/live/shutdown.h"
#include "margay/live/slice_closer.h"
#include "margay/live/slice_feed.h"
#include "margay/live/source_log.h"
#include "margay/store/commit_queue.h"

namespace margay::daemon {

class IngestStage {
 public:
  // Of whoever carries the messages.
  struct Ports {
    // To the agent with this routing id. One that does not get through is made good by the next.
    std::function<void(const std::string& agent, const wire::ToAgent& message)> send;
    // Its rows of the table of counters, behind those of the ingest.
    std::function<void(observe::Values& values)> set = [](observe::Values&) {};
    bool stepped = false;  // cuts are written by store::CommitQueue::write_next()
  };
  // `resume` is what the archive held when it was opened (empty for a new one). All but the ports must
  // outlive it. Errors: those of the archive; kInvalidArgument (levels that make no sense).
  static Result<std::unique_ptr<IngestStage>> make(const Options& options, store::Archive& archive,
                                                   const store::Resume& resume, const LookBack& back,
                                                   Exchange& exchange, const Clock& clock, Ports ports);

  // Once, before the first step: sources get some time to send what they kept.
  void begin();
  // `owner`: whose word it is (ingest::Ingest::receive); `address`: where from, or "".
  void receive(std::string_view message, const std::string& agent, const std::string& owner,
               const std::string& address);
  // What is due by now. Cost: O(streams), and what it does.
  void step();
  // The last cut of this process, and of what it confirms; waits for the disk, a while.
  void end();

  store::CommitQueue& commits() { return *commits_; }
  const IngestModel& model() const { return *model_; }

 private:
  enum class Last { kNo, kOfProcess, kOfRun };
  IngestStage(const Options& options, store::Archive& archive, const store::Resume& resume,
              Exchange& exchange, const Clock& clock, Ports ports, std::unique_ptr<IngestModel> model);
  void look_for_absence(TimeNs now);
  void take_findings(TimeNs now);
  DurationNs between_commits() const;
  void commit(Last last);
  void put_run(store::Cut& cut, Last last);
  void poll_commits();
  void send_replies();
  void tick_shutdown(TimeNs now);
  void close_all(TimeNs now);
  void close_archive(TimeNs now);
  void tell_finished();
  std::shared_ptr<const RunStatus> status(TimeNs now);

  const Options& options_;
  Exchange& exchange_;
  const Clock& clock_;
  const Ports ports_;
  store::RunMeta run_;
  const std::unique_ptr<IngestModel> model_;
  const Durability durability_;
  ArchiveHealth health_;
  ArchiveWriter writer_;                         // used by the thread of commits_
  std::unique_ptr<store::CommitQueue> commits_;  // gone before what it writes with
  CutBuilder cuts_;
  SliceFeed feed_;
  SliceCloser closer_;
  Shutdown shutdown_;
  SourceLog source_log_;
  RetentionLog retention_log_;
  TimeNs before_{};  // the last step
  TimeNs last_commit_{};
  std::size_t received_ = 0;  // bytes, since the last cut
  bool start_counted_ = false;
};

}  // namespace margay::daemon
