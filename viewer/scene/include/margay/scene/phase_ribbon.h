// The phases' ribbon: phases as the daemon recognised them or, at a p that somebody chose, no finer than the
// picture beside it.
//
// Phases rest on the daemon's own p. At another one a boundary between two of them is shown where the
// temporal partition at that p has a cut as well; phases between which it has none are one stretch, with the
// names of all. So the ribbon never shows a boundary that the picture at its p does not have. A larger number
// of cuts makes no further phases: those are recognised by the daemon alone. Phases of coarser levels are
// further ribbons, as the daemon has them.
//
// Thread safety: pure. Cost: linear in phases and cuts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "margay/scene/view_data.h"
#include "margay/wire/report.pb.h"

namespace margay::scene {

struct PhaseStretch {
  TimeNs from{};
  TimeNs to{};
  std::vector<std::string> names;  // of its phases, in order of time, each once; 4 at most
  bool more = false;               // there are others
  std::string longest;             // the phase that has most of it
  // Of a stretch that is one phase: what the program calls it, or "", and how often it has come.
  std::string label;
  std::uint32_t occurrence = 0;
};

inline constexpr std::size_t kMostPhaseNames = 4;
inline constexpr std::size_t kMostLevelRibbons = 3;  // of more levels the finest

// `temporal`: cuts at the p that was chosen, of any stretch of time; where it knows nothing phases stay as
// they are. Null: at the daemon's p.
std::vector<PhaseStretch> phase_stretches(const wire::Report& report, const ViewData* temporal);

// Of the levels that tell more than finer ones (phase_list.h), the finest first.
struct LevelRibbon {
  DurationNs slice{};
  std::vector<PhaseStretch> phases;
};
std::vector<LevelRibbon> level_ribbons(const wire::Report& report);
// How many these are.
std::size_t level_ribbon_count(const wire::Report& report);

// "A+B"; "..." for those that have no room in it.
std::string phase_names(const PhaseStretch& phase);
// With what the program calls it, and how often it has come: "B (exchange), 2nd".
std::string phase_text(const PhaseStretch& phase);

}  // namespace margay::scene
