#include "margay/terminal/watch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <optional>
#include <vector>

#include "keys.h"
#include "margay/base/time.h"
#include "margay/terminal/live_lines.h"
#include "margay/terminal/text.h"
#include "margay/transport/dial.h"
#include "margay/wire/columns.h"
#include "tty.h"

namespace margay::terminal {
namespace {

using std::chrono::milliseconds;
using transport::Socket;

constexpr DurationNs kFramePeriod = margay::milliseconds(100);
constexpr DurationNs kAskPeriod = seconds(1);  // silence after which the daemon is asked for its status
constexpr DurationNs kGoneAfter = seconds(3);  // silence, answers included, that is called gone
constexpr DurationNs kJump = seconds(10);      // of a replay, by one key
constexpr DurationNs kClockTick = seconds(1);  // ages on the screen move on even without reports

std::int64_t utc_offset_s() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  return localtime_r(&now, &local) != nullptr ? local.tm_gmtoff : 0;
}

// The newest report, and whether the daemon is there.
class Feed {
 public:
  explicit Feed(const WatchOptions& o) : dir_(o.dir), connect_(o.connect), key_(o.key) {}

  Status open() {
    control_.emplace(context_, clock_, zmq::socket_type::dealer,
                     connect_.empty() ? dir_.control_endpoint() : connect_, key_);
    if (auto ok = control_->open(); !ok) return ok;
    // A daemon on another machine says itself where its reports are.
    return connect_.empty() ? receive_from(dir_.reports_endpoint()) : Status();
  }

  // Takes what has come. `each` sees every report that decodes, in order. True if the newest changed.
  template <class Each>
  bool take(TimeNs mono, Each&& each) {
    bool changed = false;
    control_->look();
    if (reports_) reports_->look();
    while (auto frame = reports_ ? reports_->socket().try_receive() : std::nullopt) {
      wire::Report report;
      if (report.ParseFromString(frame->body)) changed = accept(std::move(report), mono, each) || changed;
    }
    while (auto frame = control_->socket().try_receive()) {
      wire::ControlReply reply;
      if (!reply.ParseFromString(frame->body)) continue;
      heard_ = mono;
      if (!reply.error().empty()) notice_ = reply.error();
      if (const std::string at = transport::with_port(connect_, reply.reports_port());
          !reports_ && !at.empty())
        if (auto ok = receive_from(at); !ok) notice_ = ok.error().message;
      // An answer may be older than what was published since; a final report is never taken back.
      if (reply.has_report() && (!have_ || reply.report().emitted_wall_ns() > report_.emitted_wall_ns()))
        changed = accept(std::move(*reply.mutable_report()), mono, each) || changed;
    }
    return changed;
  }

  // Asks the daemon when nothing was heard for a while.
  void ask(TimeNs mono) {
    const bool due = !began_ || (mono - heard_ >= kAskPeriod && mono - asked_at_ >= kAskPeriod);
    if (!due) return;
    if (!began_) heard_ = mono;
    began_ = true;
    wire::ControlRequest request;
    request.set_version(wire::kWireVersion);
    request.set_kind(wire::ControlRequest::STATUS);
    control_->socket().try_send(request);  // unanswered, it is asked again
    asked_at_ = mono;
  }

  void send(const wire::ControlRequest& request) { static_cast<void>(control_->socket().try_send(request)); }

  Link link(TimeNs mono) const {
    if (have_ && report_.final()) return Link::kLive;
    if (mono - heard_ < kGoneAfter) return have_ ? Link::kLive : Link::kWaiting;
    struct stat st {};
    if (!connect_.empty()) return have_ ? Link::kGone : Link::kWaiting;
    if (::stat(dir_.path.c_str(), &st) != 0) return Link::kRunGone;
    return have_ ? Link::kGone : Link::kWaiting;
  }
  DurationNs silence(TimeNs mono) const { return mono - heard_; }
  bool have() const { return have_; }
  const wire::Report& report() const { return report_; }
  const std::string& notice() const { return notice_; }
  // Why the daemon does not let us in, or "".
  const std::string& refused() const { return control_->refused(); }
  std::vector<Socket*> sockets() {
    if (!reports_) return {&control_->socket()};
    return {&reports_->socket(), &control_->socket()};
  }

 private:
  template <class Each>
  bool accept(wire::Report report, TimeNs mono, Each&& each) {
    heard_ = mono;
    if (report.version() > wire::kWireVersion) {
      notice_ = "the daemon speaks version " + std::to_string(report.version()) +
                " of the wire, this viewer version " + std::to_string(wire::kWireVersion) +
                ": update Margay here";
      return true;
    }
    notice_.clear();
    have_ = true;
    report_ = std::move(report);
    each(report_);
    return true;
  }

  Status receive_from(const std::string& endpoint) {
    reports_.emplace(context_, clock_, zmq::socket_type::sub, endpoint, key_);
    return reports_->open();
  }

  transport::RunDirectory dir_;
  std::string connect_, key_;
  const SystemClock clock_;
  zmq::context_t context_{1};
  std::optional<transport::Dial> reports_, control_;
  wire::Report report_;
  std::string notice_;
  bool have_ = false, began_ = false;
  TimeNs heard_{}, asked_at_{};
};

// Waits for reports, keys or signals. `in` < 0: no keys. False when the input has gone.
bool wait_for(Feed& feed, const Signals& signals, int in, DurationNs most) {
  std::vector<zmq::pollitem_t> items;
  for (Socket* s : feed.sockets()) items.push_back({s->raw().handle(), 0, ZMQ_POLLIN, 0});
  items.push_back({nullptr, signals.readable(), ZMQ_POLLIN, 0});
  if (in >= 0) items.push_back({nullptr, in, ZMQ_POLLIN, 0});
  try {
    zmq::poll(items, milliseconds(std::max<std::int64_t>(0, (most.value + 999'999) / 1'000'000)));
  } catch (const zmq::error_t&) {
    return true;  // interrupted: the pipe tells by what
  }
  return in < 0 || (items.back().revents & ZMQ_POLLERR) == 0;
}

// Only lines that changed, one write; `before` becomes `lines`.
std::string frame_bytes(const std::vector<std::string>& lines, std::vector<std::string>& before) {
  std::string out;
  const bool anew = before.size() != lines.size();
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (anew || lines[i] != before[i])
      // Erased first: after a full line the cursor stands on its last column, and would erase that.
      out += "\x1b[" + std::to_string(i + 1) + ";1H\x1b[0m\x1b[2K" + lines[i] + "\x1b[0m";
  before = lines;
  if (out.empty()) return out;
  // Terminals that know "synchronized output" show the whole frame at once; the others ignore the marks.
  return std::string("\x1b[?2026h") + (anew ? "\x1b[2J" : "") + out + "\x1b[?2026l";
}

void apply(Key key, View& view, const Frame& shown) {
  switch (key) {
    case Key::kUp:
      view.scroll = shown.scroll - 1;
      break;
    case Key::kDown:
      view.scroll = shown.scroll + 1;
      break;
    case Key::kPageUp:
      view.scroll = shown.scroll - shown.page;
      break;
    case Key::kPageDown:
      view.scroll = shown.scroll + shown.page;
      break;
    case Key::kHome:
      view.scroll = 0;
      break;
    case Key::kEnd:
      view.scroll = shown.scroll_most;
      break;
    case Key::kLess:
      view.depth = std::max(0, shown.depth - 1);
      break;
    case Key::kMore:
      view.depth = std::min(shown.depth_most, shown.depth + 1);
      break;
    case Key::kAuto:
      view.depth = -1;
      break;
    case Key::kHelp:
      view.help = !view.help;
      break;
    case Key::kHold:
    case Key::kQuit:
    case Key::kRedraw:
    case Key::kPlay:
    case Key::kStep:
    case Key::kBack:
    case Key::kForward:
      break;
  }
  view.scroll = std::clamp(view.scroll, 0, shown.scroll_most);
}

// What a key asks of a replay; false: nothing.
bool replay_request(Key key, const wire::Report& report, wire::ControlRequest& request) {
  if (!report.has_replay()) return false;
  request.set_version(wire::kWireVersion);
  switch (key) {
    case Key::kPlay:
      request.set_kind(report.replay().paused() ? wire::ControlRequest::PLAY : wire::ControlRequest::PAUSE);
      return true;
    case Key::kStep:
      request.set_kind(wire::ControlRequest::STEP);
      request.set_steps(1);
      return true;
    case Key::kBack:
    case Key::kForward:
      request.set_kind(wire::ControlRequest::JUMP);
      request.set_jump_ns(key == Key::kBack ? minus(report.watermark_ns(), kJump.value)
                                            : plus(report.watermark_ns(), kJump.value));
      return true;
    default:
      return false;
  }
}

int watch_screen(const WatchOptions& options, Feed& feed, Signals& signals) {
  const SystemClock clock;
  Terminal terminal(options.in, options.out);
  if (auto ok = terminal.take(); !ok) {
    std::fprintf(stderr, "margay: %s\n", ok.error().message.c_str());
    return 1;
  }
  View view = options.view;
  wire::Report held;
  TimeNs held_at{};
  KeyDecoder keys;
  Frame shown;
  std::vector<std::string> on_screen;
  bool dirty = true;
  TimeNs drawn{};
  for (;;) {
    TimeNs mono = clock.monotonic();
    if (feed.take(mono, [](const wire::Report&) {})) dirty = dirty || !view.held;
    feed.ask(mono);

    for (const int signal : signals.take()) {
      if (signal == SIGTSTP) {
        terminal.give_back();
        signals.suspend();
        if (auto ok = terminal.take(); !ok) return 1;
        on_screen.clear();
      } else if (signal == SIGWINCH || signal == SIGCONT) {
        on_screen.clear();
      } else {
        terminal.give_back();
        return signal == SIGINT ? 0 : 128 + signal;  // Ctrl-C is the other way to say q
      }
      dirty = true;
    }
    char bytes[256];
    const ssize_t n = ::read(options.in, bytes, sizeof bytes);
    if (n > 0)
      for (const Key key : keys.feed({bytes, static_cast<std::size_t>(n)})) {
        if (key == Key::kQuit) return 0;
        if (key == Key::kRedraw) on_screen.clear();
        if (key == Key::kHold && (view.held = !view.held)) held = feed.report(), held_at = clock.realtime();
        apply(key, view, shown);
        if (wire::ControlRequest request; replay_request(key, feed.report(), request)) feed.send(request);
        dirty = true;
      }

    mono = clock.monotonic();
    if (!feed.refused().empty()) return 1;
    view.link = feed.link(mono);
    const bool over = (feed.have() && feed.report().final()) || view.link == Link::kRunGone;
    if (options.exit_at_end && over) return 0;
    if (mono - drawn >= kClockTick && !over) dirty = true;
    if (dirty && mono - drawn >= kFramePeriod) {
      const TimeNs now = clock.realtime();
      view.gone_since = now - feed.silence(mono);
      view.notice = feed.notice();
      view.utc_offset_s = utc_offset_s();
      const Terminal::Size size = terminal.size();
      view.width = size.width;
      view.height = size.height;
      shown = draw(view.held ? held : feed.report(), view, view.held ? held_at : now);
      const std::string frame = frame_bytes(shown.lines, on_screen);
      if (!frame.empty() && !terminal.write_all(frame)) {
        if (signals.take().empty()) return 1;  // the terminal has gone
        return 128 + SIGTERM;
      }
      dirty = false;
      drawn = mono;
    }
    const DurationNs wait = dirty ? kFramePeriod - (mono - drawn) : margay::milliseconds(500);
    if (!wait_for(feed, signals, options.in, wait)) return 128 + SIGHUP;
  }
}

int watch_lines(const WatchOptions& options, Feed& feed, Signals& signals) {
  const SystemClock clock;
  Terminal out(options.in, options.out);  // never taken: only for its whole writes
  LiveLines lines(options.view.unicode);
  bool first = true;
  bool was_gone = false;
  for (;;) {
    const TimeNs mono = clock.monotonic();
    std::string text;
    feed.take(mono, [&](const wire::Report& report) {
      if (first)
        text += "margay: watching run " + printable(report.run(), options.view.unicode, 200) + ", " +
                std::to_string(report.health().sources_live()) + " sources live\n";
      first = false;
      for (const std::string& line : lines.feed(report, mono)) text += line + "\n";
    });
    if (!feed.refused().empty()) return 1;
    feed.ask(mono);
    const Link link = feed.link(mono);
    if ((link == Link::kGone) != was_gone) {
      was_gone = !was_gone;
      text += was_gone ? "margay: the daemon does not answer; waiting for it\n"
                       : "margay: the daemon answers again\n";
    }
    const bool over = (feed.have() && feed.report().final()) || link == Link::kRunGone;
    if (over) text += "margay: the run is over\n";
    if (!text.empty() && !out.write_all(text)) return 1;
    if (over) return 0;
    for (const int signal : signals.take())
      if (signal == SIGTSTP)
        signals.suspend();
      else if (signal != SIGWINCH && signal != SIGCONT)
        return 128 + signal;
    wait_for(feed, signals, -1, margay::milliseconds(500));
  }
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

View view_for_terminal() {
  View view;
  const std::string term = environment("TERM"), colorterm = environment("COLORTERM");
  if (!environment("NO_COLOR").empty() || term.empty() || term == "dumb")
    view.colour = Colour::kNone;
  else if (colorterm == "truecolor" || colorterm == "24bit" || term.find("direct") != std::string::npos)
    view.colour = Colour::kTruecolour;
  else if (term.find("256color") != std::string::npos)
    view.colour = Colour::k256;
  else
    view.colour = Colour::k16;
  std::string locale = environment("LC_ALL");
  if (locale.empty()) locale = environment("LC_CTYPE");
  if (locale.empty()) locale = environment("LANG");
  std::transform(locale.begin(), locale.end(), locale.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  view.unicode = locale.find("UTF-8") != std::string::npos || locale.find("UTF8") != std::string::npos;
  return view;
}

int watch(const WatchOptions& options) {
  Feed feed(options);
  if (auto ok = feed.open(); !ok) {
    std::fprintf(stderr, "margay: %s\n", printable(ok.error().message).c_str());
    return 1;
  }
  Signals signals;
  if (auto ok = signals.open(); !ok) {
    std::fprintf(stderr, "margay: %s\n", ok.error().message.c_str());
    return 1;
  }
  const bool screen =
      !options.plain && isatty(options.in) != 0 && isatty(options.out) != 0 && environment("TERM") != "dumb";
  try {
    const int code = screen ? watch_screen(options, feed, signals) : watch_lines(options, feed, signals);
    if (!feed.refused().empty()) std::fprintf(stderr, "margay: %s\n", printable(feed.refused()).c_str());
    return code;
  } catch (const std::exception& e) {  // the terminal was given back on the way here
    std::fprintf(stderr, "margay: %s\n", printable(e.what()).c_str());
    return 1;
  }
}

}  // namespace margay::terminal
