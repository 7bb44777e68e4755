#include "margay/lttng_session/live_session.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <limits>
#include <utility>

#include "ask.h"
#include "margay/base/text.h"
#include "ports.h"
#include "process.h"
#include "requests.h"

namespace margay::lttng {
namespace {

constexpr std::size_t kLongestRun = 180;  // LTTng's names have 255 bytes
constexpr std::size_t kLongestPattern = 255;
constexpr std::size_t kMostPatterns = 256;
constexpr DurationNs kProbe = milliseconds(500);

bool fits_name(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
         c == '.' || c == ':';
}

bool fits_pattern(const std::string& s) {
  return !s.empty() && s.size() <= kLongestPattern &&
         std::none_of(s.begin(), s.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

Result<std::uint32_t> microseconds(DurationNs d, const std::string& what) {
  const std::int64_t us = d.value / 1000;
  if (d.value < 0 || us > std::numeric_limits<std::int32_t>::max() || (d.value > 0 && us == 0))
    return fail(ErrorCode::kInvalidArgument, what + " of an LTTng session: 1 us to 35 min");
  return static_cast<std::uint32_t>(us);
}

Status check(const LiveOptions& o) {
  if (o.run.empty() || o.run.size() > kLongestRun || !std::all_of(o.run.begin(), o.run.end(), fits_name))
    return fail(ErrorCode::kInvalidArgument, "'" + clean_utf8(o.run) + "' is no name for an LTTng session");
  if (o.events.empty() || o.events.size() > kMostPatterns)
    return fail(ErrorCode::kInvalidArgument, "an LTTng session needs patterns of events, 1 to 256");
  for (const EventPattern& e : o.events) {
    bool good = fits_pattern(e.name) && e.exclude.size() <= kMostPatterns;
    for (const std::string& x : e.exclude) good = good && fits_pattern(x);
    if (!good)
      return fail(ErrorCode::kInvalidArgument, "'" + clean_utf8(e.name) + "' is no pattern of LTTng events");
  }
  for (const std::string& c : o.contexts)
    if (!is_context(c)) {
      std::string known;
      for (const std::string& k : context_names()) known += " " + k;
      return fail(ErrorCode::kInvalidArgument,
                  "'" + clean_utf8(c) + "' is no context of LTTng events; there are" + known);
    }
  return {};
}

std::uint64_t free_shared_memory() {
  struct statvfs info {};
  if (::statvfs("/dev/shm", &info) != 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

Status dead(const std::string& which, pid_t pid) {
  return fail(ErrorCode::kUnavailable,
              "LTTng's " + which + " daemon (process " + std::to_string(pid) + ") ended");
}

}  // namespace

std::string live_url(const Daemons& d, const std::string& session) {
  char host[HOST_NAME_MAX + 1] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return "net://" + d.relay_host + ":" + std::to_string(d.live_port) + "/host/" + host + "/" + session;
}

Result<std::vector<SessionInfo>> list_sessions(const Daemons& d, DurationNs patience) {
  return ask_for<std::vector<SessionInfo>>(d, patience, "LTTng", request_list);
}

LiveSession::LiveSession(Daemons daemons, LiveOptions options)
    : daemons_(std::move(daemons)), options_(std::move(options)) {}

LiveSession::LiveSession(LiveSession&& o) noexcept
    : daemons_(std::move(o.daemons_)),
      options_(std::move(o.options_)),
      plan_(o.plan_),
      name_(std::move(o.name_)),
      made_(o.made_),
      exists_(std::exchange(o.exists_, false)),
      started_(o.started_),
      consumers_(std::move(o.consumers_)) {}

LiveSession& LiveSession::operator=(LiveSession&& o) noexcept {
  if (this == &o) return *this;
  (void)destroy();
  daemons_ = std::move(o.daemons_);
  options_ = std::move(o.options_);
  plan_ = o.plan_;
  name_ = std::move(o.name_);
  made_ = o.made_;
  exists_ = std::exchange(o.exists_, false);
  started_ = o.started_;
  consumers_ = std::move(o.consumers_);
  return *this;
}

LiveSession::~LiveSession() {
  (void)destroy();
}

Result<LiveSession> LiveSession::create(Daemons daemons, LiveOptions options) {
  if (auto good = check(options); !good) return tl::unexpected<Error>(good.error());
  LiveSession out(std::move(daemons), std::move(options));
  if (auto made = out.make(); !made) return tl::unexpected<Error>(made.error());
  return out;
}

Status LiveSession::make() {
  if (daemons_.live_port == 0)
    return fail(ErrorCode::kUnavailable, "no LTTng relay daemon for a live session");
  const auto live = microseconds(options_.live_timer, "live_timer");
  if (!live) return tl::unexpected<Error>(live.error());
  if (*live == 0) return fail(ErrorCode::kInvalidArgument, "live_timer of an LTTng session: 1 us to 35 min");
  const auto flush = microseconds(options_.switch_timer, "switch_timer");
  if (!flush) return tl::unexpected<Error>(flush.error());
  const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
  const auto plan =
      plan_buffers(options_, cpus > 0 ? static_cast<std::uint64_t>(cpus) : 1, free_shared_memory());
  if (!plan) return tl::unexpected<Error>(plan.error());
  plan_ = *plan;
  ++made_;
  name_ = "margay-" + options_.run + (made_ > 1 ? "-" + std::to_string(made_) : "");
  const auto url = [&](std::uint16_t port) {
    return "tcp://" + daemons_.relay_host + ":" + std::to_string(port);
  };
  const SessionOrder order{name_, url(daemons_.control_port), url(daemons_.data_port), *live, *flush,
                           plan_, options_.contexts,          options_.events};
  const Status made =
      ask(daemons_, options_.patience, "LTTng session " + name_, [order] { return request_session(order); });
  // One that was too late may be made yet: it is to be destroyed as well.
  exists_ = made || made.error().code == ErrorCode::kTimeout;
  started_ = false;
  watch_consumers();
  if (!made && exists_) (void)destroy();
  return made;
}

void LiveSession::watch_consumers() {
  consumers_.clear();
  if (exists_ && daemons_.sessiond > 0) consumers_ = children_named(daemons_.sessiond, "lttng-consumerd");
}

Status LiveSession::start() {
  const Status begun = ask(daemons_, options_.patience, "LTTng session " + name_,
                           [name = name_] { return request_start(name); });
  if (begun) started_ = true;
  watch_consumers();
  return begun;
}

Status LiveSession::stop(DurationNs drain) {
  if (!started_) return {};
  const std::string what = "LTTng session " + name_;
  if (auto ended = ask(daemons_, options_.patience, what, [name = name_] { return request_stop(name); });
      !ended)
    return ended;
  started_ = false;
  const SystemClock clock;
  for (const TimeNs until = clock.monotonic() + drain;;) {
    const auto pending =
        ask_for<bool>(daemons_, options_.patience, what, [name = name_] { return request_pending(name); });
    if (!pending) return tl::unexpected<Error>(pending.error());
    if (!*pending) return {};
    if (clock.monotonic() >= until)
      return fail(ErrorCode::kTimeout, what + ": not all that was recorded has reached the relay daemon");
    ::usleep(5000);
  }
}

Status LiveSession::destroy() {
  if (!exists_) return {};
  exists_ = false;
  // A dead daemon's session is gone, or nobody is to wait for.
  if (daemons_.sessiond > 0 && !running(daemons_.sessiond)) return {};
  if (alive()) (void)stop();
  started_ = false;
  const Status gone = ask(daemons_, options_.patience, "LTTng session " + name_,
                          [name = name_] { return request_destroy(name); });
  if (!gone && gone.error().code == ErrorCode::kNotFound) return {};
  return gone;
}

Status LiveSession::alive() const {
  if (daemons_.sessiond > 0 && !running(daemons_.sessiond)) return dead("session", daemons_.sessiond);
  for (const pid_t pid : consumers_)
    if (!running(pid)) return dead("consumer", pid);
  if (daemons_.relayd > 0) {
    if (!running(daemons_.relayd)) return dead("relay", daemons_.relayd);
  } else if (!takes_connection(daemons_.relay_host, daemons_.live_port, kProbe)) {
    return fail(ErrorCode::kUnavailable, "LTTng's relay daemon takes no connection at " +
                                             daemons_.relay_host + ":" + std::to_string(daemons_.live_port));
  }
  return {};
}

Status LiveSession::again(Daemons daemons) {
  const bool was_started = started_;
  (void)destroy();  // it may be gone, or its daemon
  daemons_ = std::move(daemons);
  if (auto made = make(); !made) return made;
  return was_started ? start() : Status();
}

Result<std::vector<Loss>> LiveSession::statistics() const {
  return ask_for<std::vector<Loss>>(daemons_, options_.patience, "LTTng session " + name_,
                                    [name = name_] { return request_loss(name); });
}

}  // namespace margay::lttng
