// Live sessions that somebody else made, of relay daemons here or on other machines: a reader for each.
//
// Each relay daemon is asked once a second what it has. A session that matches a pattern gets a reader, which
// ends with it; one that ended unexpectedly is started again, after a pause that grows to ten seconds.
//
// Bounds: kMostReaders at a time; what is beyond waits until one has ended, and is said once. Thread safety:
// none.
#pragma once

#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/lttng_trace/live_sessions.h"
#include "reader_process.h"

namespace margay::lttng {

// "net://HOST[:PORT]/host/HOSTNAME/SESSION", the last two with * ? and [...], or "net://HOST[:PORT]" for all.
struct SessionPattern {
  std::string relay, host = "*", name = "*";
  bool matches(const ServedSession& session) const;
};
Result<SessionPattern> parse_session_pattern(const std::string& text);

class AttachedSessions {
 public:
  static constexpr std::size_t kMostReaders = 16;
  static constexpr DurationNs kFirstPause = milliseconds(500);

  // `arguments` of a reader, but for its URL and its host.
  AttachedSessions(std::vector<SessionPattern> patterns, std::vector<std::string> arguments,
                   const Clock& clock);
  // Looks, where it is time to. Cost: a connection to each relay daemon, once a second.
  void tick();
  // All hand over and end.
  void stop();

 private:
  struct Read {
    Read(std::string address, std::vector<std::string> arguments)
        : url(std::move(address)), process(std::move(arguments)) {}
    std::string url;
    ReaderProcess process;
    int missing = 0;  // times that the relay daemon did not tell of it
    bool attached = false;
    bool ending = false;
    TimeNs restart_at{};
    DurationNs pause = kFirstPause;
  };
  void look(const std::string& relay);
  void keep(Read& read);
  void say_once(const std::string& about, const std::string& sentence);

  std::vector<SessionPattern> patterns_;
  std::vector<std::string> arguments_;
  const Clock& clock_;
  std::set<std::string> relays_;
  std::list<Read> reads_;
  std::map<std::string, std::string> said_;  // about a relay daemon or a session: the last sentence
  TimeNs next_{};
};

}  // namespace margay::lttng
