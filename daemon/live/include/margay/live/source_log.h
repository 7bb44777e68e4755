// What the daemon's log says of sources: who is lost, heard again, or speaks for another; and of messages
// amid which an error of its own was met. Bounded by the minute. Thread safety: none; owned by the ingest.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "margay/ingest/ingest.h"
#include "margay/live/quarantine.h"
#include "margay/settings/options.h"
#include "margay/transport/refusal_log.h"

namespace margay::daemon {

class SourceLog {
 public:
  SourceLog(const Options& options, const ingest::Ingest& ingest) : options_(options), ingest_(ingest) {}

  // One line for each that is lost or heard again.
  void tick(TimeNs now);
  // Who it was, and whose it is; the first of each a minute. `address`: where from, or "".
  void impostor(const ingest::Impostor& impostor, const std::string& address, TimeNs now);
  // The first of a minute is said, and kept for a report.
  void quarantine(std::string_view message, const std::string& owner, Quarantine& quarantine, TimeNs now);

 private:
  const Options& options_;
  const ingest::Ingest& ingest_;
  std::set<SourceId> lost_;  // said to be
  transport::RefusalLog refusals_{"messages", "messages"};
  TimeNs next_quarantine_{};
};

}  // namespace margay::daemon
