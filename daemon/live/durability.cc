#include "margay/live/durability.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace margay::daemon {

// "COUNT BOOT": losses so far, and the boot on which something is outstanding, if anything is.
Durability::Durability(bool sync, std::string boot, const store::Resume& resume)
    : sync_(sync), boot_(std::move(boot)), cut_(resume.sequence) {
  const auto blob = std::find_if(resume.state.begin(), resume.state.end(),
                                 [](const store::Blob& b) { return b.name == kBlob; });
  if (blob == resume.state.end()) return;
  found_ = blob->bytes;
  losses_ = std::strtoull(found_.c_str(), nullptr, 10);
  const std::size_t space = found_.find(' ');
  const std::string then = space == std::string::npos ? "" : found_.substr(space + 1);
  lost_ = !then.empty() && then != boot_;
  losses_ += lost_ ? 1 : 0;
}

std::optional<std::string> Durability::said() const {
  if (!lost_) return std::nullopt;
  return "the machine went down while store.sync was false: cut " + std::to_string(cut_) +
         " is the last one left, and records acknowledged after it may be missing. Those of agents that "
         "still run are counted as wire_lost; those of processes that went down with the machine are "
         "unknown. store.sync = true prevents this";
}

std::optional<store::Blob> Durability::note(bool outstanding) const {
  std::string bytes;
  if (outstanding)
    bytes = std::to_string(losses_) + ' ' + boot_;
  else if (losses_ > 0)
    bytes = std::to_string(losses_);
  if (bytes == found_) return std::nullopt;
  return store::Blob{kBlob, std::move(bytes)};
}

std::optional<store::Blob> Durability::last() const {
  if (sync_) return std::nullopt;
  return store::Blob{kBlob, losses_ > 0 ? std::to_string(losses_) : ""};
}

std::string this_boot() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

}  // namespace margay::daemon
