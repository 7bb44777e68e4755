// A model of all leaves of a run seen from another point of view: its cells in another order, below another
// tree. Private to the folder.
//
// Pure. Thread safety: functions of their arguments. Errors: kInvalidArgument where the model has not just
// the run's leaves. Cost: linear in the cells, and that of a ViewTree.
#pragma once

#include <vector>

#include "margay/model/view.h"
#include "margay/query/model_file.h"
#include "margay/store/archive.h"

namespace margay::daemon {

struct Turned {
  Model model;
  std::vector<partition::LeafPosition> from;  // by its leaves: which they were
};
Result<Turned> turned(const Model& model, const store::Resume& resume, const model::View& view);

}  // namespace margay::daemon
