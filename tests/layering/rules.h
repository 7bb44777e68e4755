// The layering of the sources: data flows one way, from proto/ and collector/ to daemon/; only daemon/cli
// joins everything; modules that only compute touch nothing outside themselves; the probe, which lives in
// other people's processes, uses nothing but libc and MPI.
#pragma once

#include <string>
#include <vector>

#include "tree.h"

namespace margay::layering {

constexpr int kMostLines = 600;  // of a source file: one that is longer is two

// What breaks a rule, "path:line: what is wrong", in order of path; empty if all is well.
std::vector<std::string> violations(const Tree& tree);

}  // namespace margay::layering
