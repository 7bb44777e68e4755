// What the gate (gate.h) decides, without a socket: who may come in, who has to go, and who has
// authenticated.
//
// Nothing here knows time or the machine: `now` is handed in. Thread safety: none; the gate's thread owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "margay/base/time.h"

namespace margay::transport {

// Each open connection costs two descriptors at the gate and one at the server behind it.
struct GateLimits {
  std::uint32_t connections = 256;     // open at once, in all
  std::uint32_t unauthenticated = 64;  // of these, those that have not yet authenticated
  std::uint32_t per_address =
      64;  // of these, those of one address (IPv6: of one /64); loopback is no exception
  DurationNs handshake = seconds(2);     // from the accept to the server's READY
  std::uint32_t handshake_bytes = 4096;  // from the client until then; CURVE needs less than 1 KiB
  DurationNs idle = seconds(60);         // without a byte either way, after that
  double rate_per_address = 100;         // new connections a second, beyond the burst
  double burst_per_address = 128;
  double rate = 400;  // the same, of all addresses together
  double burst = 512;
  std::uint32_t buffer = 64 << 10;  // bytes held for a connection each way, while its reader is slow
};

// Where a server's answers say that a ZMTP 3 handshake with CURVE has got to. The gate holds no key: it sees
// the greeting, and the names of the commands, which are in clear. A client without the right key can make no
// server send READY. Cost: O(bytes) until it is decided, nothing after.
class ServerWatch {
 public:
  enum class State {
    kPending,
    kAuthenticated,  // greeting with CURVE, WELCOME, READY
    kRefused,        // ERROR
    kForeign,        // anything else: no ZMTP 3, no CURVE, commands out of order
  };
  State take(std::string_view from_server);
  State state() const { return state_; }

 private:
  State decide(std::string_view body_begin, std::size_t body_size, bool command);

  State state_ = State::kPending;
  std::string held_;        // what is not yet a whole greeting, or the begin of a frame
  std::uint64_t skip_ = 0;  // bytes of the present frame still to come
  bool greeted_ = false;
  bool welcomed_ = false;
};

// Could these be the first bytes of a ZMTP client? Ten of them decide (0xff, eight of any value, 0x7f).
enum class FirstBytes { kMore, kZmtp, kForeign };
FirstBytes first_bytes(std::string_view from_client);

class TokenBucket {
 public:
  TokenBucket(double rate, double burst, TimeNs now) : rate_(rate), burst_(burst), tokens_(burst), at_(now) {}
  bool has(TimeNs now);  // refills
  void take() { tokens_ -= 1; }
  bool full(TimeNs now) const { return at(now) >= burst_; }

 private:
  double at(TimeNs now) const;  // tokens then
  double rate_, burst_, tokens_;
  TimeNs at_;
};

// Who is in. Ids are the caller's; an address is any text (the gate uses address_key).
class Admission {
 public:
  enum class Answer { kAdmit, kFull, kAddress, kRate };
  struct Decision {
    Answer answer = Answer::kAdmit;
    std::optional<std::uint64_t> evict;  // kAdmit: close this one first (it has been taken off the books)
  };
  Admission(const GateLimits& limits, TimeNs now);

  // A newcomer. Where room is missing (of this address, of unauthenticated ones, in all), the oldest
  // unauthenticated one (of this address, where that is what is full) makes it; one that has authenticated
  // never does. A real peer needs milliseconds, so a flood of silent ones cannot keep it out.
  // O(unauthenticated).
  Decision arrive(std::uint64_t id, const std::string& address, TimeNs now);
  void authenticated(std::uint64_t id);
  void leave(std::uint64_t id);
  // The oldest unauthenticated one, if its time is up; it stays on the books until leave().
  std::optional<std::uint64_t> overdue(TimeNs now) const;

  std::size_t open() const { return members_.size(); }
  std::size_t open_unauthenticated() const { return waiting_.size(); }
  std::size_t addresses() const { return addresses_.size(); }  // at most connections + kAddressesRemembered

 private:
  static constexpr std::size_t kAddressesRemembered = 1024;
  struct Address {
    std::uint32_t open = 0;
    TokenBucket bucket;
    TimeNs seen;
  };
  struct Waiting {
    std::uint64_t id;
    TimeNs since;
  };
  struct Member {
    std::map<std::string, Address>::iterator address;
    std::optional<std::list<Waiting>::iterator> waiting;
  };
  std::map<std::string, Address>::iterator remember(const std::string& address, TimeNs now);
  std::optional<std::uint64_t> oldest_of(std::map<std::string, Address>::iterator address) const;

  GateLimits limits_;
  TokenBucket bucket_;
  std::map<std::string, Address> addresses_;
  std::unordered_map<std::uint64_t, Member> members_;
  std::list<Waiting> waiting_;  // oldest first
};

}  // namespace margay::transport
