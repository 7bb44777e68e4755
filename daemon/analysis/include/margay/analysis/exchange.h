// What the daemon's two threads say to each other. Values and bounded queues; no shared state but a few
// flags.
//
//   margay-ingest  -- ClosedSlice -->  margay-analyse      slices in order, and how things stand
//   margay-ingest  <-- Findings  ----  margay-analyse      alerts and phases, for the next cut
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bounded_queue.h"
#include "margay/detect/topology.h"
#include "margay/ingest/ingest.h"
#include "margay/model/slice_column.h"
#include "margay/observe/counters.h"
#include "margay/observe/http.h"
#include "margay/observe/process.h"
#include "margay/settings/memory_budget.h"
#include "margay/store/records.h"
#include "margay/transport/gate.h"
#include "margay/transport/limited.h"
#include "margay/transport/notifier.h"
#include "margay/transport/security.h"

namespace margay::daemon {

// In the archive: how many daemons have committed to this run.
inline constexpr const char* kStartsBlob = "margayd.starts";
// Beside its database: which sink has had which alert (daemon/alert/sinks).
inline constexpr const char* kSentFile = "alerts.sent";

// How things stand when a slice closes.
struct RunStatus {
  std::vector<ingest::Account> accounts;  // by leaf
  std::vector<std::string> conditions;    // by leaf
  std::uint32_t live = 0, ended = 0;      // sources
  observe::Values values;                 // what the ingest fills of the table of counters
  std::uint64_t processes = 0;            // that are or were there, as far as is known
  std::uint64_t unwatched = 0;            // of them, those that are not watched, or were not to their end
  std::string unwatched_why;              // a clause
  std::string archive_trouble;            // why nothing gets into the archive now, or ""
  TimeNs archive_trouble_since{};         // trace time
  std::string retention;  // what the archive's bounds have cost so far, a sentence; "": nothing
};

struct ClosedSlice {
  std::shared_ptr<const model::SliceColumn> column;  // nullptr: only status, or the end
  bool amended = false;
  std::uint64_t position = 0;  // number of the journal's entry that tells of it; 0: nothing new
  TimeNs watermark{};
  std::shared_ptr<const detect::Topology> topology;  // new since the last one, or nullptr
  std::shared_ptr<const RunStatus> status;           // or nullptr
  bool final = false;                                // the run is over at `end`
  TimeNs end{};
};

// What the analysis found, to be kept in the archive.
struct Findings {
  std::vector<store::AlertRecord> alerts;
  std::vector<store::PhaseRecord> phases;
  std::vector<store::Blob> signatures;  // of phases, each written once
  std::map<LevelIndex, std::uint32_t>
      phases_end;  // of a level there are none from this index on: one was taken back
  std::optional<store::ReportRecord> report;  // what viewers saw
  struct Handling {
    std::uint64_t version = 0;
    std::string bytes;
  };
  std::optional<Handling> handling;  // what people have said about alerts (margay/alert/handling.h)
  bool final = false;

  bool is_nothing() const {
    return alerts.empty() && phases.empty() && signatures.empty() && !report && !handling && !final;
  }
};

struct FinishRequest {
  std::int32_t exit_code = 0;
  DurationNs patience = seconds(5);
};

struct Exchange {
  BoundedQueue<ClosedSlice> slices{512};
  BoundedQueue<Findings> findings{64};
  // Each is rung when there is something new for that thread: in its queue, or in the flags below.
  transport::Notifier for_ingest, for_analysis;
  transport::Gate* gate = nullptr;           // as door
  transport::Authenticator* door = nullptr;  // set before the threads start; nullptr: not on the network
  std::uint64_t memory_promised = 0;         // set before the threads start
  // What all sockets of the daemon have still to send.
  std::shared_ptr<transport::Outgoing> outgoing = std::make_shared<transport::Outgoing>(kOutgoingBytes);
  std::atomic<int> statuses{0};                     // in `slices`: each has the account of every source
  std::atomic<bool> stop{false};                    // end at once, in order: commit, leave the run open
  std::atomic<bool> finished{false};                // the last cut is committed (or given up)
  std::atomic<bool> archive_failed{false};          // it was given up
  std::atomic<std::uint64_t> handling_archived{0};  // Findings::Handling::version that is committed
  std::mutex mutex;
  std::optional<FinishRequest> finish;  // guarded by mutex
  observe::Heartbeats beats;
  std::unique_ptr<observe::HttpServer> http;  // set before the threads begin; nullptr: nobody asks over HTTP
  void request_stop() {
    stop = true;
    for_ingest.notify();
    for_analysis.notify();
  }
  // The newest report, for whoever asks; the verdict in it, for the main thread.
  void show(std::shared_ptr<const wire::Report> report) {
    if (http) http->update(report);
    const std::lock_guard lock(mutex);
    shown.swap(report);
  }
  std::shared_ptr<const wire::Report> last_shown() {
    const std::lock_guard lock(mutex);
    return shown;
  }
  std::uint64_t http_requests() const { return http ? http->requests() : 0; }
  std::shared_ptr<const wire::Report> shown;  // guarded by mutex
  std::string archive_error;                  // guarded by mutex; why it was given up
};

}  // namespace margay::daemon
