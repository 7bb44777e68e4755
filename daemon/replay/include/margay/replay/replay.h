// Detection over an archive, again: what was shown to the analysis is shown to it once more.
//
// As it was (no WhatIf): the journal's entries in their order, with the settings of each daemon that watched
// the run, so that alerts and report content are those of the live run, to the byte, for the same build and
// kind of processor. Where the archive has given up its beginning (retention), or has no journal (imported),
// what is left is shown; `repeats` says whether it was all of it. Another build may find something else in
// the same: `comparison` says whether what was found is what was reported live.
//
// With another operator phases and alerts are the same (they rest on durations), the partitions and bars of
// reports are those of what the operator measures.
//
// What if: other settings, another slice (a multiple of one that the archive keeps), a range of time.
//
// Thread safety: none; reads the archive on a thread of its own. Memory: the window, and a queue of 64
// slices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live_comparison.h"
#include "margay/analysis/analyst.h"
#include "margay/store/archive.h"
#include "planes.h"

namespace margay::daemon {

struct WhatIf {
  std::optional<DurationNs> slice;
  std::optional<std::vector<std::string>> idle_states;
  std::optional<std::optional<double>> p;  // given; inside nothing: from the noise floor
  std::optional<TimeNs> from, to;          // [from, to), trace time
  std::optional<slicer::Operator> op;      // of what is shown; another one than the run's
  std::shared_ptr<Planes> planes;          // of `op`, in slices of `slice` (or the run's); not of duration
  // Other keys of the configuration, by their full names (margay/settings/config.h, set()).
  std::vector<std::pair<std::string, std::string>> settings;
  bool any() const { return slice || idle_states || p || from || to || op || !settings.empty(); }
};

struct ReplayResult {
  std::uint64_t slices = 0;     // shown
  std::uint64_t decisions = 0;  // entries of the journal
  std::uint64_t amended = 0;    // slices that had changed, and were shown again
  std::uint64_t missing = 0;    // entries that the journal has lost
  std::uint64_t starts = 0;     // of daemons
  // What was shown is what was shown live, with the same settings.
  bool repeats = false;
  Comparison comparison;  // of a replay of the whole run, in slices of its own, to the end
  bool stopped = false;   // by the listener
  TimeNs begin{}, end{};  // of the slices shown
};

// Calls come in the order of the trace. A function that is not set is not called.
struct ReplayListener {
  // Before a message is taken; false ends the replay.
  std::function<bool(TimeNs watermark)> before;
  std::function<void(const alert::Alert&)> alert;
  // After each message; not while it looks back on what it has said already.
  std::function<void(const Analyst&)> after;
};

// Errors: kInvalidArgument (a slice that no level divides, an empty range), those of the archive. `analyst`
// holds what it came to in the end; `options` must outlive it, and are changed to the run's settings.
Result<ReplayResult> replay(const store::Archive& archive, const store::Resume& resume, const WhatIf& what_if,
                            Options& options, const ReplayListener& listener,
                            std::unique_ptr<Analyst>& analyst);

}  // namespace margay::daemon
