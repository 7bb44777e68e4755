// What `margay alerts` prints. Pure. Names come from other people's programs: in text they are made
// printable, in JSON they are valid UTF-8.
#pragma once

#include <string>
#include <vector>

#include "evidence.h"

namespace margay::daemon {

struct ListedAlert {
  std::string archive;
  TimeNs run_begin{};
  alert::Alert alert;
  alert::HandledAlert handled = {};
};
// `archives`: more than one was asked for.
std::string alerts_text(const std::vector<ListedAlert>& alerts, bool archives);
std::string alerts_json(const std::vector<ListedAlert>& alerts);
std::string evidence_text(const Evidence& evidence);
std::string evidence_json(const Evidence& evidence);
// To its picture (margay/command/link.h): all resources, for as long before and behind it as it lasts, but a
// second at least. `archive` is an absolute path.
std::string picture_link(const Evidence& evidence, const std::string& archive);

}  // namespace margay::daemon
