// The readers that `margay run` starts beside the node agent: what they are called with, and what the job
// needs in its environment so that there is something to read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/result.h"
#include "margay/gst/log_spool.h"
#include "margay/process/child.h"
#include "margay/settings/options.h"
#include "margay/transport/rundir.h"

namespace margay::daemon {

struct ReaderPlan {
  std::string what;  // "the reader of GStreamer's log"
  process::ChildOptions options;
  std::vector<std::pair<std::string, std::string>> job_environment;
  // Of what the job writes for it: to be kept within `most_bytes`, whatever the reader does.
  std::unique_ptr<gst::LogSpool> spool;
  std::uint64_t most_bytes = 0;
  // There when the reader is ready for the job: KEY=VALUE lines of more environment; "": it needs no waiting.
  std::string ready_file;
  std::string note_file;  // what it has to say to the user then; "" or not there: nothing
};
struct ReaderPlace {
  std::string program;  // of the reader
  transport::RunDirectory directory;
  std::string run;
  std::int64_t owner = 0;
  std::size_t memory_bytes = 0;
  std::string archive;
  // What waits for the LTTng reader: below the archive while the run lasts, not in memory.
  std::string traces() const { return archive + "/lttng"; }
};

// Of GStreamer's debug log: files in the run's directory that the job writes. `level` is what GST_DEBUG is to
// be ("*:6"); one that the user has set goes before. Errors: those of gst::LogSpool::open.
Result<ReaderPlan> gstreamer_reader(const ReaderPlace& place, const std::string& level);

// Of LTTng: `helpers` are preloaded ("pthread,libc", or "none"), `rules` are files of what events mean.
Result<ReaderPlan> lttng_reader(const ReaderPlace& place, const Options::Lttng& settings,
                                const std::string& helpers, const std::vector<std::string>& rules);
// What a ready file says; false while it is not there. LD_PRELOAD comes once for each library.
bool read_environment(const std::string& path, std::vector<std::pair<std::string, std::string>>& out);

}  // namespace margay::daemon
