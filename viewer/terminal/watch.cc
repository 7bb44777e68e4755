#include "margay/terminal/watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <vector>

#include "keys.h"
#include "margay/base/time.h"
#include "margay/feed/feed.h"
#include "margay/terminal/live_lines.h"
#include "margay/text/text.h"
#include "margay/wire/columns.h"
#include "tty.h"

namespace margay::terminal {
namespace {

using feed::Feed;
using std::chrono::milliseconds;

constexpr DurationNs kFramePeriod = margay::milliseconds(100);
constexpr DurationNs kJump = seconds(10);      // of a replay, by one key
constexpr DurationNs kClockTick = seconds(1);  // ages on the screen move on even without reports

std::int64_t utc_offset_s() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  return localtime_r(&now, &local) != nullptr ? local.tm_gmtoff : 0;
}

const wire::Report& report_of(const Feed& feed) {
  static const wire::Report none;
  return feed.newest() ? *feed.newest() : none;
}

Link link_of(const Feed& feed) {
  switch (feed.connection()) {
    case feed::Connection::kWaiting:
      return Link::kWaiting;
    case feed::Connection::kLive:
      return Link::kLive;
    case feed::Connection::kGone:
      return Link::kGone;
    case feed::Connection::kRunGone:
      break;
  }
  return Link::kRunGone;
}

bool is_over(const Feed& feed) {
  return report_of(feed).final() || feed.connection() == feed::Connection::kRunGone;
}

// Waits for reports, keys or signals. `in` < 0: no keys. False when the input has gone.
bool wait_for(Feed& feed, const Signals& signals, int in, DurationNs most) {
  std::vector<zmq::pollitem_t> items = feed.poll_items();
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
    case Key::kView:
      view.bars = !view.bars;
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
      request.set_jump_ns(key == Key::kBack ? text::minus(report.watermark_ns(), kJump.value)
                                            : text::plus(report.watermark_ns(), kJump.value));
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
    if (feed.take({})) dirty = dirty || !view.held;

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
        if (key == Key::kHold && (view.held = !view.held)) held = report_of(feed), held_at = clock.realtime();
        apply(key, view, shown);
        if (wire::ControlRequest request; replay_request(key, report_of(feed), request))
          static_cast<void>(feed.send(request));
        dirty = true;
      }

    mono = clock.monotonic();
    if (!feed.refused().empty()) return 1;
    view.link = link_of(feed);
    const bool over = is_over(feed);
    if (options.exit_at_end && over) return 0;
    if (mono - drawn >= kClockTick && !over) dirty = true;
    if (dirty && mono - drawn >= kFramePeriod) {
      const TimeNs now = clock.realtime();
      view.gone_since = now - feed.silence();
      view.notice = feed.notice();
      view.utc_offset_s = utc_offset_s();
      const Terminal::Size size = terminal.size();
      view.width = size.width;
      view.height = size.height;
      shown = draw(view.held ? held : report_of(feed), view, view.held ? held_at : now);
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
    feed.take([&](const feed::ReportPtr& report) {
      if (first)
        text += "margay: watching run " + text::printable(report->run(), options.view.unicode, 200) + ", " +
                std::to_string(report->health().sources_live()) + " sources live\n";
      first = false;
      for (const std::string& line : lines.feed(*report, mono)) text += line + "\n";
    });
    if (!feed.refused().empty()) return 1;
    if ((feed.connection() == feed::Connection::kGone) != was_gone) {
      was_gone = !was_gone;
      text += was_gone ? "margay: the daemon does not answer; waiting for it\n"
                       : "margay: the daemon answers again\n";
    }
    const bool over = is_over(feed);
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
  const SystemClock clock;
  Feed feed(clock, {options.dir, options.connect, options.key});
  if (auto ok = feed.open(); !ok) {
    std::fprintf(stderr, "margay: %s\n", text::printable(ok.error().message).c_str());
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
    if (!feed.refused().empty())
      std::fprintf(stderr, "margay: %s\n", text::printable(feed.refused()).c_str());
    return code;
  } catch (const std::exception& e) {  // the terminal was given back on the way here
    std::fprintf(stderr, "margay: %s\n", text::printable(e.what()).c_str());
    return 1;
  }
}

}  // namespace margay::terminal
