// People who acknowledge and silence alerts: each is answered once the archive has what they said. Thread
// safety: none. Bounded: the newest 64 are remembered, so that a request that comes again is the same one.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "margay/live/alert_notifier.h"
#include "margay/live/client.h"
#include "margay/serve/handling_request.h"

namespace margay::daemon {

class HandlingAnswers {
 public:
  HandlingAnswers(AlertNotifier& notifier, const Clock& clock) : notifier_(notifier), clock_(clock) {}

  // True: `reply` is the answer. False: it is given by settle(). `over`: the run is.
  bool ask(const HandlingRequest& request, const Client& client, bool over, wire::ControlReply& reply);
  // `archived`: the version of what people said that is committed.
  void settle(std::uint64_t archived, const Reply& reply);

 private:
  struct Asked {
    std::uint64_t token = 0;
    Client client;
    std::string said;
    std::uint64_t version = 0;
    TimeNs since{};
  };
  AlertNotifier& notifier_;
  const Clock& clock_;
  std::deque<Asked> asked_;  // oldest first
};

}  // namespace margay::daemon
