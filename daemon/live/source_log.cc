#include "margay/live/source_log.h"

#include <new>

#include "margay/log/log.h"

namespace margay::daemon {
namespace {

std::string who(const ingest::Source& source) {
  const model::Attributes& attributes = source.attributes;
  const auto of = [&attributes](const char* key) {
    const auto it = attributes.find(key);
    return it == attributes.end() ? std::string("?") : it->second;
  };
  return "rank " + of("rank") + " on " + of("host") + " (pid " + of("pid") + ")";
}

}  // namespace

void SourceLog::tick(TimeNs now) {
  if (const auto line = refusals_.tick(now)) log::warning(*line);
  std::erase_if(lost_, [&](SourceId id) { return !ingest_.sources().contains(id); });
  for (const auto& [id, source] : ingest_.sources()) {
    const auto condition = source.condition(now, options_.silent_after, options_.lost_after);
    // One that never sent anything is no loss.
    const bool lost = condition == ingest::Condition::kLost && !source.streams.empty();
    if (lost == lost_.contains(id)) continue;
    if (lost) {
      lost_.insert(id);
      log::warning(who(source) + " is lost: neither it nor its agent has sent anything for " +
                   std::to_string(options_.lost_after.value / 1'000'000'000) + " s");
    } else {
      lost_.erase(id);
      log::info(who(source) +
                (condition == ingest::Condition::kEnded ? ", which was lost, has ended" : " sends again"));
    }
  }
}

void SourceLog::impostor(const ingest::Impostor& impostor, const std::string& address, TimeNs now) {
  const auto source = ingest_.sources().find(impostor.source);
  std::string which = "a process that has ended";
  if (source != ingest_.sources().end()) which = who(source->second);
  const std::string from = impostor.owner + (address.empty() ? std::string() : ", " + address);
  const std::string reason = "they send for " + which + ", which belongs to " + impostor.belongs_to +
                             "; a process belongs to the key that introduced it (proto/SECURITY.md)";
  if (const auto line = refusals_.note(from, reason, now)) log::warning(*line);
}

void SourceLog::quarantine(std::string_view message, const std::string& owner, Quarantine& quarantine,
                           TimeNs now) try {
  if (now < next_quarantine_) return;
  next_quarantine_ = now + seconds(60);
  const std::string file = quarantine.keep(message);
  log::error("a message of " + std::to_string(message.size()) + " bytes (" + owner +
             ") could not be taken: " + ingest_.trouble() +
             "; its events are rejected, the daemon goes on; " +
             (file.empty() ? "messages before it wait to be kept" : "it is kept as " + file) +
             ": please report this");
} catch (const std::bad_alloc&) {
  // It is counted.
}

}  // namespace margay::daemon
