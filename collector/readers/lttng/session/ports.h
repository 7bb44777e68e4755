// TCP ports of this machine.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>

#include "margay/base/result.h"
#include "margay/base/time.h"

namespace margay::lttng {

// Three that nobody listened on at this moment. Somebody else may take one before you do: look with
// listens().
Result<std::array<std::uint16_t, 3>> free_ports();
// `pid` itself listens on `port` (IPv4). Cost: reads /proc/net/tcp and the process's descriptors.
bool listens(pid_t pid, std::uint16_t port);
// The process named `name` that does; -1 none, or not ours to see.
pid_t who_listens(const std::string& name, std::uint16_t port);
// Somebody takes a connection to `host` (a number: 127.0.0.1) within `limit`.
bool takes_connection(const std::string& host, std::uint16_t port, DurationNs limit);

}  // namespace margay::lttng
