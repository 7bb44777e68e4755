// What alerts are about in a stretch: its picture has that as parts of its own
// (margay/partition/set_apart.h), as the daemon's own picture has (daemon/detect/told_areas.h).
//
// Pure. Thread safety: functions of their arguments. Errors: what is no alert of a place and a time (another
// kind, leaves that the model has not, another time) is left out.
#pragma once

#include <span>
#include <vector>

#include "margay/partition/set_apart.h"
#include "margay/query/model_file.h"
#include "margay/store/archive.h"

namespace margay::daemon {

// Perturbations and stalls that touch the model's time, the newest kMostAreas, newest first; one that goes on
// ends with it. REQUIRES names and times.
std::vector<partition::Area> told_areas(std::span<const store::AlertRecord> alerts, const Model& model);

}  // namespace margay::daemon
