// The daemon's door: decides which key may do what, counts who was turned away, and notices when that
// changes.
//
//   domain      what is asked for                roles that may
//   "ingest"    sending events                   source
//   "reports"   receiving reports                viewer, operator
//   "control"   asking; FINISH: operator alone   viewer, operator
//
// One thread, "margay-zap", answers ZeroMQ's questions (ZAP), reads the monitors of the sockets and looks at
// the directory of keys each second. It waits for nobody, so neither a storm of attempts nor a busy analysis
// holds up the other. When a right was taken away, or the daemon's key is another, generation() grows: the
// sockets bind anew (GuardedSocket), so that every peer has to show its key again.
//
// A key that stands under several names may do what each of them may, and no more (key_holders.h).
//
// Thread safety: all public functions, from any thread. Bounds: kMostClients keys; RefusalLog for the log.
// REQUIRES: made before the sockets it guards, closed after them; one per context.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "margay/base/time.h"
#include "margay/transport/keys.h"
#include "margay/transport/monitor.h"
#include "margay/transport/refusal_log.h"
#include "margay/transport/transport.h"

namespace margay::transport {

struct SecurityCounters {
  std::uint64_t connections_accepted = 0;  // tcp connections, whatever became of them
  std::uint64_t handshakes_succeeded = 0;
  std::uint64_t handshakes_failed = 0;  // no or another protocol, no key, another daemon's key, too slow
  std::uint64_t keys_refused = 0;       // unknown or revoked keys
  std::uint64_t roles_refused = 0;      // known keys that may not do what they asked for
  std::uint64_t messages_unauthorised =
      0;  // of peers whose right was taken away, or who asked for more than theirs
  std::uint64_t clients_authorised = 0;  // known now
};

class Authenticator {
 public:
  using Log = std::function<void(const std::string&)>;  // called by margay-zap
  // Errors: those of the key files.
  static Result<std::unique_ptr<Authenticator>> start(zmq::context_t& context, std::string keys,
                                                      const Clock& clock, Log log);
  ~Authenticator();
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

  // What a server socket of this domain is to be bound with, now.
  Security server(const std::string& domain) const;
  std::string server_fingerprint() const;
  // A gate stands before the sockets, and a handshake's domain is "DOMAIN/LANE" (GuardedSocket): `at` says
  // whose it is. The gate tells of those that it turns away itself (note_refusal), and of those that break
  // off. Before the first connection; {} before the gate is gone.
  using At = std::function<std::string(const std::string& domain, std::uint32_t lane)>;
  void stands_behind(At at);
  // For the log: somebody was turned away. From any thread; waits for nothing.
  void note_refusal(const std::string& address, const std::string& reason);
  // Counts what happens to a socket's connections from now on.
  Status watch(zmq::socket_t& socket);

  // Whether the user of a message (its key) may still speak in this domain; counts it if not.
  bool admits(const std::string& user, std::string_view domain);
  bool is_operator(const std::string& user) const;
  // What the user of a message is called in DIR/authorized; "" when it is not (any more).
  std::string name_of(const std::string& user) const;
  void count_unauthorised() { ++unauthorised_; }

  std::uint64_t generation() const { return generation_; }
  SecurityCounters snapshot() const;

 private:
  struct User {
    std::string name;
    Role role;
    bool operator==(const User&) const = default;
  };
  using Users = std::map<std::string, User, std::less<>>;  // by public key

  Authenticator(zmq::context_t& context, std::string keys, const Clock& clock, Log log);
  Status load();
  void run();
  void answer();
  void read_monitors();
  void look_at_keys();
  void notice_silent_failures();
  // The status text of ZAP: "" when it may.
  std::string decide(const std::string& key, const std::string& domain, const std::string& peer);
  void say_refusals();

  zmq::context_t& context_;
  const std::string keys_;
  const Clock& clock_;
  Log log_;
  zmq::socket_t zap_;
  RefusalLog refusals_;
  std::string signature_;
  std::string problem_;  // last said

  static constexpr std::size_t kMostToSay = 64;
  mutable std::mutex mutex_;  // guards the next seven
  At at_;
  std::vector<std::pair<std::string, std::string>> to_say_;  // address, reason
  std::uint64_t more_to_say_ = 0;
  Users users_;
  KeyPair server_;
  SecurityCounters counters_;
  std::vector<Monitor> arriving_;

  std::vector<Monitor> monitors_;
  std::uint64_t told_failures_ = 0;            // handshakes whose failure had an event of its own
  std::uint64_t told_refusals_ = 0;            // by ZAP
  std::deque<std::uint64_t> accepted_before_;  // connections at each look, oldest first
  std::atomic<std::uint64_t> unauthorised_{0};
  std::atomic<std::uint64_t> generation_{1};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace margay::transport
