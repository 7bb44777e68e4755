#include "margay/ingest/source_registry.h"

namespace margay::ingest {

Account& Account::operator+=(const Account& o) {
  produced += o.produced;
  modelled += o.modelled;
  late_dropped += o.late_dropped;
  probe_dropped += o.probe_dropped;
  wire_lost += o.wire_lost;
  rejected += o.rejected;
  recorded += o.recorded;
  next += o.next;
  return *this;
}

const char* to_string(Condition c) {
  switch (c) {
    case Condition::kLive:
      return "";
    case Condition::kStopped:
      return "stopped";
    case Condition::kSilent:
      return "silent";
    case Condition::kLost:
      return "lost";
    case Condition::kEnded:
      return "ended";
  }
  return "";
}

Condition Source::condition(TimeNs now, DurationNs silent_after, DurationNs lost_after) const {
  if (ended) return Condition::kEnded;
  if (now - heard > lost_after) return Condition::kLost;
  if (now - heard > silent_after) return Condition::kSilent;
  if (process.state == 'T' || process.state == 't') return Condition::kStopped;
  return Condition::kLive;
}

}  // namespace margay::ingest
