// Accounts of readers (wire::ReaderAccount), summed: they grow, and those of readers that have ended stay.
//
// Bounded: beyond kMostReaders an account is refused, and counted. Thread safety: none. Cost: O(log readers).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "margay/ingest/message_counters.h"
#include "margay/ingest/sender.h"
#include "margay/wire/ingest.pb.h"

namespace margay::ingest {

class ReaderAccounts {
 public:
  static constexpr std::size_t kMostReaders = 256;
  explicit ReaderAccounts(MessageCounters& counters) : counters_(counters) {}
  void receive(const wire::ReaderAccount& account, const Sender& from);

 private:
  MessageCounters& counters_;
  std::map<std::pair<std::string, std::uint64_t>, MessageCounters::Readers> told_;  // by owner and agent
};

}  // namespace margay::ingest
