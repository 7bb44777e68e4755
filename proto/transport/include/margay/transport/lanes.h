// Whose handshakes go through which of a server's unix sockets (gate.h, lanes): the authenticator knows a
// handshake by its lane, not by its address. As long as no more are under way than there are lanes, each has
// one to itself.
//
// Thread safety: the gate's thread changes it, others look. Bounds: kMostRemembered handshakes of each lane,
// the newest. Cost: O(lanes) to take one.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/time.h"

namespace margay::transport {

class Lanes {
 public:
  explicit Lanes(std::uint32_t lanes) : lanes_(lanes) {}
  // The one with the fewest handshakes under way; among these, the one that was taken longest ago.
  std::uint32_t take(std::uint64_t id, const std::string& address, TimeNs now);
  // `decided`: the server has said yes or no; else it may still be about to.
  void leave(std::uint64_t id, std::uint32_t lane, bool decided, TimeNs now);
  std::string who(std::uint32_t lane) const;

 private:
  static constexpr std::size_t kMostRemembered = 32;  // of a lane
  static constexpr DurationNs kRemembered = seconds(1);
  struct Visit {
    std::uint64_t id;
    std::string address;
    std::optional<TimeNs> left;
  };
  struct Lane {
    std::deque<Visit> visits;  // oldest first
    std::uint64_t taken = 0;   // the turn in which it was
  };
  mutable std::mutex mutex_;
  std::vector<Lane> lanes_;  // guarded by mutex_
  std::uint64_t turn_ = 0;
};

}  // namespace margay::transport
