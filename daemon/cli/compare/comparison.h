// Runs read, aligned and compared.
//
// Thread safety: none. Cost: reads the cells of each run twice.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compare/compare_command.h"
#include "margay/base/result.h"
#include "margay/compare/changes.h"
#include "margay/compare/run_in_blocks.h"
#include "margay/model/hierarchy.h"

namespace margay::daemon {

struct ComparedRuns {
  struct OfRun {
    std::string name;
    double seconds = 0, calls = 0, unknown = 0;
    std::size_t resources = 0;
    bool live = false;
    std::vector<double> phase_seconds;  // as `phases`
  };
  std::vector<OfRun> runs;  // the last is compared with those before
  bool same_work = false;   // aligned by work, else by what phases are like
  compare::Per per = compare::Per::kRun;
  std::vector<std::string> phases;  // the first is all of the run
  std::vector<std::string> states;
  // Of the resources that all runs have, the baseline's attributes and paths; one for all of them ("all")
  // where the runs have others.
  std::vector<model::Attributes> leaves;
  std::vector<std::string> resources;
  std::vector<std::string> notes;  // sentences
  compare::ChangeOptions options;
  compare::Changes changes;

  // What resources have in common, or some of their names; "" of all.
  std::string where(const std::vector<std::uint32_t>& of) const;
};

// Errors: sentences, those of compare::ArchivedRun and of the view.
Result<ComparedRuns> compare_runs(const CompareRequest& request,
                                  const std::function<void(double share)>& progress);

}  // namespace margay::daemon
