// What somebody may have meant who wrote a name that is none. Of this folder only. Pure.
#pragma once

#include <string>
#include <vector>

namespace margay::config {

// "; did you mean 'x'?" for the nearest of the names, or "" where none is near. Cost: lengths times names.
std::string suggest(const std::string& name, const std::vector<std::string>& names);

}  // namespace margay::config
