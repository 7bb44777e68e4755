// The part of the options that detection depends on: as the detector takes them, and as the journal keeps
// them, so that a replay runs with what the run was watched with. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/detect/detector.h"
#include "margay/settings/options.h"
#include "margay/store/records.h"

namespace margay::daemon {

detect::DetectorOptions detector_options(const Options& options);
// The levels above the finest that are watched.
std::vector<DurationNs> coarser_levels(const Options& options);
// Of the window that is shown where the operator is another one than duration.
detect::WindowOptions measured_window_options(const Options& options);
// The operator that a run was begun with. Errors: kCorrupt.
Result<slicer::Operator> run_operator(const store::RunMeta& run);

// Exact: numbers come back bit for bit.
std::map<std::string, std::string> to_settings(const Options& options);
// Names that are not there leave `options` as they are (but for the operator, which is duration then); names
// of a newer Margay are ignored. Errors: kCorrupt (a value that does not read, or is out of range), naming
// it.
Status apply_settings(const std::map<std::string, std::string>& settings, Options& options);

}  // namespace margay::daemon
