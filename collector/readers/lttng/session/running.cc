#include <lttng/lttng.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "ask.h"
#include "margay/lttng_session/daemons.h"
#include "ports.h"
#include "process.h"

namespace margay::lttng {

Result<Daemons> find_running(DurationNs patience) {
  Daemons out;
  const char* home = std::getenv("LTTNG_HOME");
  if (home == nullptr) home = std::getenv("HOME");
  std::string tried;
  for (const bool system : {true, false}) {
    if (!system && (::getuid() == 0 || home == nullptr)) break;  // root's is there, or nowhere
    out.home = system ? "" : home;
    const std::string place = system ? std::string(kSystemPlace) : out.home + "/.lttng";
    tried += (tried.empty() ? "" : ", ") + place;
    // For an ordinary user the first means "$HOME/.lttng" where he is not in the group `tracing`.
    if (system && ::access((place + "/client-lttng-sessiond").c_str(), W_OK) != 0) continue;
    const auto answers =
        ask_for<int>(out, patience, place, []() -> Result<int> { return lttng_session_daemon_alive(); });
    if (!answers) return tl::unexpected<Error>(answers.error());
    if (*answers != 1) continue;
    std::ifstream file(place + "/lttng-sessiond.pid");
    if (!(file >> out.sessiond)) out.sessiond = -1;
    if (takes_connection(out.relay_host, out.live_port, milliseconds(500)) &&
        takes_connection(out.relay_host, out.control_port, milliseconds(500)))
      out.relayd = who_listens("lttng-relayd", out.live_port);
    else
      out.live_port = 0;
    return out;
  }
  return fail(ErrorCode::kUnavailable, "no LTTng session daemon answers in " + tried);
}

}  // namespace margay::lttng
