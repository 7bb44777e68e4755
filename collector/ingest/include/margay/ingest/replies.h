// What agents are to be told, until it is sent: one message each.
//
// Bounded: beyond kMostAgents a reply goes nowhere, which is as if it had been lost on the way; the next one
// tells it. Thread safety: none. Cost: O(log agents) each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/ids.h"
#include "margay/wire/ingest.pb.h"

namespace margay::ingest {

class Replies {
 public:
  static constexpr std::size_t kMostAgents = 1024;  // between two calls of take()
  static constexpr int kMostAsked = 256;            // sources in one reply; the others' turn comes

  explicit Replies(std::uint64_t instance) : instance_(instance) {}

  // The message to the agent with this routing id, to be added to. Valid until the next call.
  wire::ToAgent& to(const std::string& agent);
  // Asks for the source's hello, and so for what is not confirmed.
  void ask_for_hello(const std::string& agent, SourceId source);
  // The source belongs to another owner.
  void refuse_source(const std::string& agent, SourceId source);
  // (routing id, message), of all; none is left.
  std::vector<std::pair<std::string, wire::ToAgent>> take();

 private:
  const std::uint64_t instance_;
  std::map<std::string, wire::ToAgent> waiting_;
  wire::ToAgent unsaid_;  // stands in where there is no room
};

}  // namespace margay::ingest
