// A client's connection to a daemon, here (ipc) or on another machine (tcp, with a key file), which says why
// the daemon refuses it.
//
// After a refusal it connects again by itself, with growing pauses (1 s up to 30 s), with each of the
// daemon's keys that the file has in turn, and at once when the file was replaced. What lay in the old
// connection's queue is lost then: callers send again what was not answered, as after any interruption.
//
// Thread safety: none. REQUIRES: the context and the clock outlive it.
#pragma once

#include <optional>
#include <string>

#include "margay/base/time.h"
#include "margay/transport/keys.h"
#include "margay/transport/monitor.h"
#include "margay/transport/transport.h"

namespace margay::transport {

class ClientConnection {
 public:
  // `key_file`: "" for a local endpoint.
  ClientConnection(zmq::context_t& context, const Clock& clock, zmq::socket_type type, std::string endpoint,
                   std::string key_file);
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;
  ~ClientConnection();

  // Errors: kInvalidArgument, with the command that helps; those of key files.
  Status open();
  Socket& socket() { return *socket_; }
  // Reads what happened to the connection; to be called in each pass. Never waits.
  void look();
  // A new connection with an empty queue. While refused, that is left to look().
  void reconnect();
  // Why the daemon (or what answers in its place) refuses this client, as a sentence; "" if it does not.
  const std::string& refused() const { return refused_; }

 private:
  Security security() const;
  Status connect();
  void close();
  void give_up_for_now(const std::string& why);
  Status read_key();
  void on_failure(int kind, std::uint32_t value);

  zmq::context_t& context_;
  const Clock& clock_;
  zmq::socket_type type_;
  std::string endpoint_, key_file_;
  std::optional<ClientKey> key_;
  std::string file_signature_;
  std::optional<Monitor> monitor_;
  std::optional<Socket> socket_;
  std::string refused_;
  std::size_t server_ = 0;    // which of the daemon's keys is tried
  std::size_t failures_ = 0;  // handshakes in a row that came to nothing
  DurationNs wait_ = seconds(1);
  TimeNs retry_at_{};  // 0: connected, or on the way
  TimeNs next_look_{};
};

// tcp://host:port with another port; "" if it is not of that form.
std::string with_port(const std::string& endpoint, std::uint32_t port);
std::uint32_t port_of(const std::string& endpoint);  // 0 if it has none

}  // namespace margay::transport
