#include "margay/ingest/replies.h"

#include <iterator>

#include "margay/wire/columns.h"

namespace margay::ingest {

wire::ToAgent& Replies::to(const std::string& agent) {
  const bool room = waiting_.size() < kMostAgents || waiting_.contains(agent);
  wire::ToAgent& r = room ? waiting_[agent] : unsaid_;
  if (!room) r.Clear();
  r.set_version(wire::kWireVersion);
  r.set_instance(instance_);
  return r;
}

void Replies::ask_for_hello(const std::string& agent, SourceId source) {
  wire::ToAgent& r = to(agent);
  if (r.need_hello_size() >= kMostAsked) return;
  for (const std::uint64_t asked : r.need_hello())
    if (asked == source.value) return;
  r.add_need_hello(source.value);
}

void Replies::refuse_source(const std::string& agent, SourceId source) {
  wire::ToAgent& r = to(agent);
  const int told = r.not_yours_size();
  if (told == 0 || (told < kMostAsked && r.not_yours(told - 1) != source.value))
    r.add_not_yours(source.value);
}

std::vector<std::pair<std::string, wire::ToAgent>> Replies::take() {
  std::vector<std::pair<std::string, wire::ToAgent>> out(std::make_move_iterator(waiting_.begin()),
                                                         std::make_move_iterator(waiting_.end()));
  waiting_.clear();
  return out;
}

}  // namespace margay::ingest
