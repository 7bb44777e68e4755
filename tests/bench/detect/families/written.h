// Cases of families as files, for any detector: DIR/traces/NAME.trace (Pajé), DIR/truth/NAME.json,
// DIR/index.json.
//
// A truth file has: case, group, trace, duration_s, slice_s, hierarchy_levels, leaves, leaf_paths, states,
// events, idle_states, clean, perturbations [{begin_s, end_s, resources, kind, strength, resources_alt}].
// strength: so many times as long takes what is hurt; 0: it stands still. Times in seconds from the begin of
// the trace.
//
// All throw std::runtime_error where a file cannot be written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "families.h"

namespace margay::bench {

struct CaseName {
  std::string name, group;
  bool clean;
};

CaseName write_case(const std::string& directory, const Family& family, std::string_view kind,
                    std::uint64_t seed, const Recording& recording);
void write_index(const std::string& directory, const std::vector<CaseName>& cases);

}  // namespace margay::bench
