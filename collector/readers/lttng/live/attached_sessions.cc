#include "attached_sessions.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "margay/base/glob.h"
#include "margay/log/log.h"

namespace margay::lttng {
namespace {

constexpr DurationNs kLookPeriod = seconds(1);
constexpr DurationNs kLongestPause = seconds(10);
constexpr int kMissingLooks = 3;
constexpr std::size_t kMostSaid = 256;

}  // namespace

bool SessionPattern::matches(const ServedSession& s) const {
  return glob_match(host, s.host) && glob_match(name, s.name);
}

Result<SessionPattern> parse_session_pattern(const std::string& text) {
  constexpr std::string_view kScheme = "net://", kHost = "/host/";
  const auto wrong = [&] {
    return fail(ErrorCode::kInvalidArgument,
                text + ": expected net://HOST[:PORT] or net://HOST[:PORT]/host/HOSTNAME/SESSION");
  };
  if (!text.starts_with(kScheme)) return wrong();
  SessionPattern out;
  const std::size_t slash = text.find('/', kScheme.size());
  out.relay = text.substr(0, slash);
  if (out.relay.size() == kScheme.size()) return wrong();
  if (slash == std::string::npos) return out;
  if (text.compare(slash, kHost.size(), kHost) != 0) return wrong();
  const std::size_t host = slash + kHost.size(), split = text.find('/', host);
  if (split == std::string::npos || split == host || split + 1 == text.size() ||
      text.find('/', split + 1) != std::string::npos)
    return wrong();
  out.host = text.substr(host, split - host);
  out.name = text.substr(split + 1);
  return out;
}

AttachedSessions::AttachedSessions(std::vector<SessionPattern> patterns, std::vector<std::string> arguments,
                                   const Clock& clock)
    : patterns_(std::move(patterns)), arguments_(std::move(arguments)), clock_(clock) {
  for (const SessionPattern& p : patterns_) relays_.insert(p.relay);
}

void AttachedSessions::say_once(const std::string& about, const std::string& sentence) {
  if (said_.size() >= kMostSaid && !said_.contains(about)) return;
  if (std::string& last = said_[about]; last != sentence) {
    last = sentence;
    log::warning(sentence);
  }
}

void AttachedSessions::look(const std::string& relay) {
  const auto sessions = live_sessions(relay);
  if (!sessions) {
    say_once(relay, sessions.error().message + "; it is asked again each second");
    return;
  }
  if (said_.erase(relay) > 0) log::info(relay + ": a relay daemon answers");
  for (Read& read : reads_)
    if (read.url.starts_with(relay + "/")) ++read.missing;
  for (const ServedSession& s : *sessions) {
    const bool wanted = std::any_of(patterns_.begin(), patterns_.end(), [&](const SessionPattern& p) {
      return p.relay == relay && p.matches(s);
    });
    if (!wanted) continue;
    const auto mine =
        std::find_if(reads_.begin(), reads_.end(), [&](const Read& read) { return read.url == s.url; });
    if (mine != reads_.end()) {
      mine->missing = 0;
      continue;
    }
    if (s.readers > 0) {
      say_once(s.url, s.url + ": another reader has it, and a relay daemon serves only one; waiting for it");
      continue;
    }
    if (reads_.size() >= kMostReaders) {
      say_once(s.url, s.url + ": " + std::to_string(kMostReaders) +
                          " sessions are read already; waiting for one to end");
      continue;
    }
    said_.erase(s.url);
    std::vector<std::string> arguments = arguments_;
    arguments.insert(arguments.end(), {"--attached", "--host", s.host});
    Read& read = reads_.emplace_back(s.url, std::move(arguments));
    if (!read.process.start(s.url)) log::error(std::string("no reader: ") + std::strerror(errno));
  }
}

void AttachedSessions::keep(Read& read) {
  if (!read.attached && read.process.attached(0)) {
    read.attached = true;
    read.pause = kFirstPause;
    log::info("reading the LTTng session " + read.url);
  }
  if (read.missing >= kMissingLooks && !read.ending) {
    read.ending = true;  // it may have ended before the reader came
    read.process.ask_to_finish();
  }
  if (read.process.running() || read.ending) return;
  // It ends by itself where its session does; while the session is there, it is to be read.
  const TimeNs now = clock_.monotonic();
  if (read.restart_at == TimeNs()) {
    // In good order: the collector told it to.
    read.restart_at = now + (read.process.ended_well() ? kLongestPause : read.pause);
    read.pause = std::min(read.pause * 2, kLongestPause);
    return;
  }
  if (now < read.restart_at || read.missing > 0) return;
  read.restart_at = TimeNs();
  read.attached = false;
  if (!read.process.start(read.url)) log::error(std::string("no reader: ") + std::strerror(errno));
}

void AttachedSessions::tick() {
  const TimeNs now = clock_.monotonic();
  if (now >= next_) {
    for (const std::string& relay : relays_) look(relay);
    next_ = clock_.monotonic() + kLookPeriod;
  }
  for (auto it = reads_.begin(); it != reads_.end();) {
    keep(*it);
    if (it->missing >= kMissingLooks && !it->process.running()) {
      log::info("the LTTng session " + it->url + " is over");
      it = reads_.erase(it);
    } else {
      ++it;
    }
  }
}

void AttachedSessions::stop() {
  for (Read& read : reads_) read.process.ask_to_finish();
  for (Read& read : reads_) read.process.finish(clock_);
}

}  // namespace margay::lttng
