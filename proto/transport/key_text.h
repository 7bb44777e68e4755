// What key_files.cc and keys_admin.cc share.
#pragma once

#include "margay/transport/keys.h"

namespace margay::transport {

bool is_client_name(std::string_view name);
// At most kLargestKeyFile + 1 bytes. Refuses what others can write, and secrets that others can read.
Result<std::string> read_key_file(const std::string& path, bool secret);

}  // namespace margay::transport
