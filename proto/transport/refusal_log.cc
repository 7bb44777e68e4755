#include "margay/transport/refusal_log.h"

namespace margay::transport {

std::optional<std::string> RefusalLog::tick(TimeNs now) {
  if (!open_ || now - since_ < seconds(60)) return std::nullopt;
  const std::uint64_t more = unsaid_;
  open_ = false;
  said_.clear();
  unsaid_ = 0;
  if (more == 0) return std::nullopt;
  return "refused " + std::to_string(more) + " more " + many_ + " in the last minute";
}

void RefusalLog::more(std::uint64_t n, TimeNs now) {
  if (n > 0 && !std::exchange(open_, true)) since_ = now;
  unsaid_ += n;
}

std::optional<std::string> RefusalLog::note(const std::string& peer, const std::string& reason, TimeNs now) {
  if (!open_) {
    open_ = true;
    since_ = now;
  }
  // One line is kept for the sum.
  if (said_.size() + 1 >= kLinesAMinute || !said_.insert(peer + '\n' + reason).second) {
    ++unsaid_;
    return std::nullopt;
  }
  return "refused " + one_ + " from " + (peer.empty() ? std::string("a local peer") : peer) + ": " + reason;
}

}  // namespace margay::transport
