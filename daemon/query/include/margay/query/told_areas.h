// What alerts are about in a stretch: its picture has that as parts of its own
// (margay/partition/set_apart.h), as the daemon's own picture has (daemon/detect/told_areas.h).
//
// Pure. Thread safety: functions of their arguments. Errors: what is no alert of a place and a time (another
// kind, leaves that the model has not, another time, damaged) is left out.
#pragma once

#include <span>
#include <vector>

#include "margay/partition/set_apart.h"
#include "margay/query/model_file.h"
#include "margay/store/archive.h"
#include "margay/wire/alert_json.h"

namespace margay::daemon {

// Perturbations and stalls that touch [from, to), newest first, a few dozen at most. Cost: linear in all.
std::vector<wire::Alert> told_in(std::span<const store::AlertRecord> alerts, TimeNs from, TimeNs to);

// The leaves that they blame, from onset to end; one that goes on ends with the model. Those of the same
// leaves within a second, or a slice, are one; the newest kMostAreas. REQUIRES names and times.
std::vector<partition::Area> told_areas(std::span<const wire::Alert> alerts, const Model& model);

}  // namespace margay::daemon
