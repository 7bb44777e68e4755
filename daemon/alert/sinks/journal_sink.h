// The systemd journal: one entry for each alert, with fields (journalctl MARGAY_ALERT_KIND=perturbation).
//
// libsystemd says nothing where there is no journal, and waits where the journal does not listen. So a socket
// of our own is asked first: none there, or no room in it, is a failure that is tried again later.
//
// Thread safety: none. Cost: three system calls an alert.
#pragma once

#include <string>
#include <vector>

#include "margay/sinks/sink.h"

namespace margay::sinks {

// "NAME=value", MESSAGE first. Pure. The priority is that of the kind: 3 (err) critical, 4 (warning) warning,
// 5 (notice) info; 6 (info) for all that is resolved.
std::vector<std::string> journal_fields(const Notice& notice);

class JournalSink final : public Sink {
 public:
  static constexpr const char* kSocket = "/run/systemd/journal/socket";
  // Of the entries, for journalctl MESSAGE_ID=... and catalogues.
  static constexpr const char* kFiringId = "4ac2f6334af24a32b073007ab921e6fd";
  static constexpr const char* kResolvedId = "eac822b08322472bac24ca1a0688105c";

  const char* name() const override { return "journal"; }
  std::string where() const override { return kSocket; }
  void begin(const Notice& notice, TimeNs now) override;
  std::optional<Outcome> progress(TimeNs now) override;
  void cut(TimeNs) override {}

 private:
  std::optional<Outcome> done_;
};

}  // namespace margay::sinks
