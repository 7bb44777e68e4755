// `margay alerts ack`, `unack`, `silence`, `silences` and `unsilence`: what people say about alerts. They ask
// the daemon of the run; where none watches it, they write into its archive.
#pragma once

#include <string>
#include <vector>

#include "ask_daemon.h"
#include "margay/base/result.h"
#include "margay/serve/handling_request.h"
#include "margay/store/archive.h"

namespace CLI {
class App;
}

namespace margay::daemon {

struct HandleRequest {
  CLI::App *ack = nullptr, *unack = nullptr, *silence = nullptr, *silences = nullptr, *unsilence = nullptr;
  std::vector<std::string> words;  // [run or archive] and what it is about
  Where where;                     // of it, the other machine
  HandlingRequest asked;
  std::string from_text, for_text, until_text;
  bool json = false;
};
void add_handle_commands(CLI::App& alerts, HandleRequest& request);
bool handle_parsed(const HandleRequest& request);
// The exit code: 0 done; 1 not done, and why is said on stderr. REQUIRES: handle_parsed().
int handle_command(HandleRequest request);

// A moment later than `after` as people write it: "18:00" (the next one), "2026-11-21 18:00", either with
// seconds; with a Z in UTC, else in local time. Errors: kInvalidArgument.
Result<TimeNs> parse_moment(const std::string& text, TimeNs after);
// What has been said about alerts, in an archive. Errors: as of alert::Handling::decode_untrusted.
Result<alert::Handling> handling_in(const store::Resume& resume);
// The table of `margay alerts silences`. Pure.
std::string silences_text(const alert::Handling& handling, TimeNs now);
// Does it in an archive that nobody writes. Errors: those of store::Archive and of perform().
Result<std::string> perform_in_archive(const std::string& path, const HandlingRequest& request, TimeNs now);

}  // namespace margay::daemon
