// What owners may take of the tables: sources, leaves, states, and the bytes of all texts.
//
// Promise: no key of the network crowds out the others: the last quarter of each table is kept for those who
// have little in it. This machine (kLocalOwner) may take all. Thread safety: none. Cost: O(log owners).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "margay/ingest/message_counters.h"
#include "margay/ingest/source_registry.h"

namespace margay::ingest {

class Quota {
 public:
  // What one owner has of the tables.
  struct Share {
    std::uint32_t sources = 0, leaves = 0, states = 0;
  };
  // Both outlive it.
  Quota(const Limits& limits, MessageCounters& counters) : limits_(limits), counters_(counters) {}

  // Bounded by the keys that there are.
  Share& share(const std::string& owner) { return shares_[owner]; }
  // Of a table with `used` of `limit` entries, of which `own` are the owner's: may it have another?
  static bool has_room(const std::string& owner, std::uint64_t used, std::uint64_t limit, std::uint64_t own);
  // Do cells of so many leaves and states fit, for an owner that has `own` of `limit` entries?
  bool cells_fit(const std::string& owner, std::uint64_t leaves, std::uint64_t states, std::uint64_t own,
                 std::uint64_t limit) const;
  // Room for text that is `after` bytes now, where it was `before`. False, and counted: there is none.
  bool take_text(std::uint64_t before, std::uint64_t after);
  // What an archive holds is taken, also where it is more than a limit that is lower now.
  void restore_text(std::uint64_t bytes) { text_bytes_ += bytes; }
  std::uint64_t text_bytes() const { return text_bytes_; }

 private:
  const Limits& limits_;
  MessageCounters& counters_;
  std::map<std::string, Share> shares_;  // by owner
  std::uint64_t text_bytes_ = 0;
};

}  // namespace margay::ingest
