#include "margay/ingest/source_registry.h"

#include "margay/base/pair_table.h"

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
  static constexpr std::pair<Condition, const char*> kTexts[] = {{Condition::kLive, ""},
                                                                 {Condition::kStopped, "stopped"},
                                                                 {Condition::kSilent, "silent"},
                                                                 {Condition::kLost, "lost"},
                                                                 {Condition::kEnded, "ended"}};
  return second_of(kTexts, c, "");
}

Condition Source::condition(TimeNs now, DurationNs silent_after, DurationNs lost_after) const {
  if (ended) return Condition::kEnded;
  if (now - heard > lost_after) return Condition::kLost;
  if (now - heard > silent_after) return Condition::kSilent;
  if (process.state == 'T' || process.state == 't') return Condition::kStopped;
  return Condition::kLive;
}

model::Attributes leaf_attributes(const model::Attributes& source, SourceId id, std::uint32_t stream,
                                  const std::string& name) {
  model::Attributes a = source;
  a["thread"] = name.empty() ? std::to_string(stream) : name;
  if (a.contains("rank")) return a;
  std::string process = a.contains("pid") ? a["pid"] : std::to_string(id.value);
  // In each PID namespace there is a first process.
  if (const auto space = a.find("pid_namespace"); space != a.end()) process += "@" + space->second;
  const auto program = a.find("program");
  a["process"] = program == a.end() ? process : program->second + ":" + process;
  return a;
}

std::uint64_t text_bytes(const model::Attributes& attributes) {
  std::uint64_t sum = 0;
  for (const auto& [key, value] : attributes) sum += key.size() + value.size() + Limits::kTextOverhead;
  return sum;
}

bool same_resource(const model::Attributes& a, const model::Attributes& b) {
  if (!b.contains("rank")) return false;
  for (const char* key : {"host", "rank", "thread"}) {
    const auto x = a.find(key), y = b.find(key);
    if ((x == a.end()) != (y == b.end()) || (x != a.end() && x->second != y->second)) return false;
  }
  return true;
}

}  // namespace margay::ingest
