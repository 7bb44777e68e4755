// Who is at the other end of a unix socket, as the kernel knows it (SO_PEERCRED).
#pragma once

#include <string>

#include "margay/base/result.h"

namespace margay::transport {

// Before a client connects to an ipc endpoint: its directory is trusted_user()'s (local_user.h), nobody else
// may write there, and who listens, if anybody does yet, is that user. Other endpoints are always fine.
// Errors: kInvalidArgument, with who it is and what to type. Cost: a connection, closed at once.
Status check_local_daemon(const std::string& endpoint);

}  // namespace margay::transport
