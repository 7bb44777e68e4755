// What the daemon is told: from the configuration file (a key sets the member that its row names: keys.cc)
// and the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "margay/alert/updates.h"
#include "margay/base/time.h"
#include "margay/ingest/source_registry.h"
#include "margay/log/log.h"
#include "margay/model/slice_column.h"
#include "margay/sinks/settings.h"
#include "margay/slicer/operator.h"
#include "margay/store/retention.h"
#include "margay/transport/rundir.h"

namespace margay::daemon {

struct Options {
  std::string run;
  std::string command;  // of the job, for people
  transport::RunDirectory directory;
  std::string archive;
  std::string alerts_file;     // "" for none
  sinks::Settings sinks;       // where else alerts go
  int owner_pid = 0;           // ends when this process has gone and no source is left; 0: never
  std::uint32_t restarts = 0;  // how often this daemon was restarted, for people

  // Level 0 first, each a multiple of the one before.
  std::vector<DurationNs> levels = {milliseconds(100), seconds(1), seconds(10), seconds(60)};
  // Departures are looked for at all of them; false: at the finest alone.
  bool watch_levels = true;
  slicer::Operator op;  // what the model that is shown is made of; a run keeps it
  std::uint32_t window_slices = 256;
  std::uint32_t amendable_slices = 64;
  DurationNs lateness = milliseconds(10);
  std::uint32_t silence_hold_slices = 2;
  DurationNs silent_after = seconds(1);
  DurationNs lost_after = seconds(10);
  DurationNs commit_period = milliseconds(100);
  bool sync = true;      // acknowledge what is on the disk
  bool compact = false;  // cells (slicer/rounding.h)
  bool raw_events = true;
  DurationNs raw_resolution{
      1};  // raw events' times are rounded down to it; a power of two, divides levels[0]
  std::uint64_t store_memory_bytes = std::uint64_t{96} << 20;
  std::uint64_t raw_backlog_bytes = std::uint64_t{256} << 20;
  std::uint64_t disk_budget_bytes = std::uint64_t{20} << 30;    // of the archive; 0: no bound
  std::uint64_t disk_keep_free_bytes = std::uint64_t{1} << 30;  // of its file system
  store::AgeRules keep;                                         // how long things stay in it
  std::uint64_t window_memory_bytes = std::uint64_t{1} << 30;
  std::uint64_t view_memory_bytes = std::uint64_t{512} << 20;  // for what viewers ask for (VIEW)
  ingest::Limits limits;
  std::optional<double> p;  // nothing: from the noise floor
  double min_effect = 0.1;
  double false_alarms_per_day = 0.5;  // 0: departures are not looked for
  std::uint32_t min_duration_slices = 1;
  alert::Updates::Options updates;  // of alerts that fire and change
  std::vector<std::string> idle_states;
  // For the node agent that `margay run` starts.
  DurationNs node_period = milliseconds(20);
  DurationNs node_sample = milliseconds(50);
  std::uint64_t node_memory_bytes = std::uint64_t{64} << 20;
  double record_budget = 0.01;
  struct Lttng {
    std::uint64_t sub_buffer_bytes = std::uint64_t{256} << 10;
    std::uint32_t sub_buffers = 8;
    std::uint64_t memory_bytes = std::uint64_t{512} << 20;
    std::uint64_t disk_bytes = std::uint64_t{2} << 30;
    DurationNs live_timer = milliseconds(100);
    std::vector<std::string> sessions, rules;
  } lttng;
  std::string http_listen;              // "" for none
  std::vector<std::string> http_hosts;  // observe::HttpServer
  log::Level log_level = log::Level::kInfo;
  std::uint64_t log_file_bytes = std::uint64_t{1} << 20;
  // For other machines: "" is none, and then no door is opened at all.
  struct Listen {
    std::string ingest, reports, control;  // what the public sees
    std::string keys;
    std::uint32_t connections = 256;  // open at once
    std::uint32_t per_address = 64;
    bool any() const { return !ingest.empty() || !reports.empty() || !control.empty(); }
  } listen;
  std::string former_boot_id;  // of this machine, when the run was watched last; found by Pipeline::start
  std::string capture;         // file for every message as it came in, for tests; "" for none
  // For tests: what these throw is met as an error of our own (ingest::Options::fault; before a slice is
  // analysed).
  std::function<void(const wire::EventBatch&)> fault_in_batch;
  std::function<void(const model::SliceColumn&)> fault_in_analysis;
};

}  // namespace margay::daemon
