// What an alert rests on, out of its archive: the phase it was seen in, the cells around its onset, what the
// detector was told, and whether it comes out again.
//
// Errors, of all: those of Archive's reading calls. Thread safety: none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "margay/alert/alert.h"
#include "margay/alert/handling.h"
#include "margay/base/result.h"
#include "margay/query/waits.h"
#include "margay/store/archive.h"

namespace margay::daemon {

// How the time of some leaves was spent in a slice: shares of the observed time, by state, descending; and of
// the slice the part that nobody knows of.
struct SliceShares {
  SliceIndex slice{};
  std::vector<std::pair<std::string, double>> states;
  double unknown = 0;
};

struct CellTable {
  std::vector<std::string> leaves;  // paths; those that the alert names, and that the archive knows
  std::vector<SliceShares> blamed;  // of these leaves
  std::vector<SliceShares> others;  // of all others; the same slices
};

struct DerivedAgain {
  bool exact = false;                 // the replay was the one that was said live
  std::optional<alert::Alert> alert;  // as it came out, if it did
  bool same = false;                  // all of it, but for when it was written and its wording
};

struct Evidence {
  alert::Alert alert;
  alert::HandledAlert handled;
  TimeNs run_begin{};
  std::optional<store::PhaseRecord> phase;      // that its onset lies in
  CellTable cells;                              // from some slices before the onset to the end, or so many
  std::map<std::string, std::string> settings;  // of detection, as the run was watched with at that moment
  DerivedAgain again;
  Waits waits;  // whom those that it affects waited for meanwhile
};

// Whom those that it affects waited for while it lasted, those who are no likely cause: what is asked of
// read_waits(). Only of perturbations and stalls.
WaitsQuery waits_of(const alert::Alert& alert);
// All alerts of the archive, by onset; a record that does not read is an error.
Result<std::vector<alert::Alert>> read_alerts(const store::Archive& archive);
// `alert`: one of them. Cost: a replay up to the alert's last word, and the slices of the table.
Result<Evidence> collect_evidence(const store::Archive& archive, const alert::Alert& alert);

}  // namespace margay::daemon
