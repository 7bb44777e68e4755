// Removes an archive that nobody writes. The store's own.
#pragma once

#include <string>
#include <vector>

#include "margay/base/result.h"

namespace margay::store {

// See Archive::check_removable and Archive::remove.
Status check_removable(const std::string& path, const std::vector<std::string>& also);
Status remove_archive(const std::string& path, const std::vector<std::string>& also);

}  // namespace margay::store
