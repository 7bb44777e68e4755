// A gate of tcp connections in front of encrypted ZeroMQ sockets.
//
// libzmq takes in whoever connects: each connection costs a descriptor and buffers before any handshake,
// without a bound, and when descriptors run out it spins. So the daemon binds its CURVE sockets to unix
// sockets in its own directory, and the gate stands at the tcp port: it counts, limits, times out and evicts
// (gate_policy.h), and relays the bytes of those it lets in. CURVE runs end to end through it: the gate sees
// cipher text and never holds a key.
//
//   client ==tcp==> gate ("margay-gate", one thread, epoll) ==unix socket==> ZeroMQ ROUTER, PUB
//
// A server sees the gate, not who stands before it. So the gate takes one of several unix sockets of it, a
// lane, for each handshake, and at_lane() tells whose handshake that is: GuardedSocket binds the lanes, each
// with a name of its own for the authenticator.
//
// Who is turned away for want of room is told so: a greeting and, once it has begun its handshake, the
// command ERROR with "300" (kNoRoom). At most kMostFarewells at once, for a second each; the others get a
// reset.
//
// A connection to the server is only made once the client has sent the first ten bytes of ZMTP: port scans,
// silent ones and random bytes never reach it. Memory: 64 KiB in all, and at most 2 * limits.buffer for each
// connection whose reader is slow. Descriptors: 4, one a route, two a connection, and kMostFarewells.
//
// ZeroMQ's heartbeats (ZMQ_HEARTBEAT_IVL) must be on at one side where a connection may be silent for
// limits.idle.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/transport/gate_policy.h"

namespace margay::transport {

struct GateRoute {
  std::string
      listen;  // "127.0.0.1:7650", "[::1]:0", "tcp://0.0.0.0:7650"; numbers only, port 0 chooses a free one
  std::string socket_path;  // of the ipc endpoint, with or without "ipc://"; it need not exist yet
  std::uint32_t lanes = 0;  // not 0: so many of them, "PATH.0", "PATH.1" ... (lane_of())
};
inline std::string lane_of(const std::string& path, std::uint32_t lane) {
  return path + "." + std::to_string(lane);
}
// The status of ZAP that says so: a temporary failure. ("400" is what an authenticator says.)
inline constexpr std::uint32_t kNoRoom = 300;
// Whom the gate itself turned away, from the gate's thread: an address, and a clause that says why.
using GateTold = std::function<void(const std::string& address, const char* reason)>;

// What happened so far. Each connection that is accepted ends up in `open` or in what ended it; those of
// refused_* and emfile were closed at once.
struct GateCounters {
  std::uint64_t accepted = 0;             // let in
  std::uint64_t authenticated = 0;        // of these, that completed the handshake
  std::uint64_t refused_full = 0;         // all slots are taken by authenticated ones
  std::uint64_t refused_address = 0;      // all slots of this address are
  std::uint64_t refused_rate = 0;         // too many new ones a second
  std::uint64_t evicted = 0;              // unauthenticated, made room for a newer one
  std::uint64_t handshake_timeouts = 0;   // unauthenticated for too long
  std::uint64_t handshake_failures = 0;   // the server said ERROR, or something that is no CURVE handshake
  std::uint64_t handshake_abandoned = 0;  // either side closed before the handshake was through
  std::uint64_t not_zmtp = 0;             // the first bytes are no ZeroMQ client's
  std::uint64_t too_chatty = 0;           // too many bytes before authentication
  std::uint64_t closed_idle = 0;
  std::uint64_t closed = 0;               // authenticated ones that either side closed
  std::uint64_t backend_unavailable = 0;  // the server's unix socket is not there
  std::uint64_t out_of_descriptors = 0;   // (or of memory) closed at once for want of them
  std::uint64_t bytes_in = 0;             // relayed from clients to servers
  std::uint64_t bytes_out = 0;            // and back
  std::uint64_t open_now = 0;
  std::uint64_t authenticated_now = 0;
};

class Gate {
 public:
  // Binds every route and starts the thread. `clock` outlives the gate.
  // Errors, each naming the address: kInvalidArgument (no such address, limits of 0), kIo (in use, not
  // allowed).
  static Result<std::unique_ptr<Gate>> open(std::vector<GateRoute> routes, const GateLimits& limits,
                                            const Clock& clock, GateTold told = {});
  static constexpr std::size_t kMostFarewells = 32;
  ~Gate();  // close()
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // "127.0.0.1:43215": where it listens, route by route, with the port that was chosen.
  const std::vector<std::string>& addresses() const { return addresses_; }
  GateCounters counters() const;  // from any thread
  // The address whose handshake goes through this lane now, or did until a moment ago: "10.0.0.7". "A or B"
  // where several share it (more handshakes at once than lanes); "" if nobody is known. From any thread.
  std::string at_lane(std::size_t route, std::uint32_t lane) const;
  // Closes the ports and every connection; what was not relayed yet is lost to them. From any thread, also
  // twice.
  void close();

 private:
  class Loop;
  explicit Gate(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
  std::vector<std::string> addresses_;
};

}  // namespace margay::transport
