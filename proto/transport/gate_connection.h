// What the gate's thread keeps of a connection, and what it counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gate_socket.h"
#include "margay/base/time.h"
#include "margay/transport/gate_policy.h"
#include "margay/transport/lanes.h"

namespace margay::transport {

// The gate's counters (GateCounters) as its thread counts them.
struct Atomics {
  std::atomic<std::uint64_t> accepted{0}, authenticated{0}, refused_full{0}, refused_address{0},
      refused_rate{0}, evicted{0}, handshake_timeouts{0}, handshake_failures{0}, handshake_abandoned{0},
      not_zmtp{0}, too_chatty{0}, closed_idle{0}, closed{0}, backend_unavailable{0}, out_of_descriptors{0},
      bytes_in{0}, bytes_out{0}, open_now{0}, authenticated_now{0};
};

struct Connection {
  Connection(std::uint64_t n, std::size_t r, Descriptor c) : id(n), route(r), client(std::move(c)) {}
  std::uint64_t id;
  std::size_t route;
  std::string address;  // of the client, for people
  std::optional<std::uint32_t> lane;
  Descriptor client, server;
  std::uint32_t client_events = 0, server_events = 0;  // what epoll was told
  Pipe in, out;                                        // client to server, and back
  ServerWatch watch;
  std::uint64_t from_client = 0;
  TimeNs last;  // a byte moved
  bool authenticated = false;
  bool wants_server = false;                      // the server's queue was full: tried again soon
  bool client_gone = false, server_gone = false;  // closed by that side; what it sent is still on its way
};

// One that is turned away, until it has read why.
struct Farewell {
  Descriptor client;
  TimeNs until;
  std::uint64_t received = 0;
  bool said = false;
};
// What it reads: a greeting as of a server that takes keys; behind it, when the client has begun its own
// handshake, that there is no room.
std::string_view farewell_greeting();
std::string_view farewell_error();
inline constexpr std::size_t kGreetingBytes = 64;

}  // namespace margay::transport
