// The live sessions that a relay daemon serves.
#pragma once

#include <string>
#include <vector>

#include "margay/base/result.h"

namespace margay::lttng {

struct ServedSession {
  std::string host;  // where it was made
  std::string name;
  std::string url;  // for TraceReader::open_live
  // Readers that are attached: a relay daemon gives the packets of a session to one of them only.
  std::int64_t readers = 0;
};

// `relay` is "net://HOST[:PORT]" (5344 without). Recorded ones, which are not live, are left out.
// Errors: kInvalidArgument (not such an address), kUnavailable (nobody answers there, or Babeltrace's plugins
// are not installed). Cost: one connection; where the host does not answer, as long as the system's
// connect(). Thread safety: as Babeltrace's: one thread.
Result<std::vector<ServedSession>> live_sessions(const std::string& relay);

}  // namespace margay::lttng
