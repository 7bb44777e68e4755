// The terminal view as text: a report in, exactly `height` lines of at most `width` columns out. Pure.
//
// The report is untrusted: unknown state ids, NaN shares, broken JSON, absurd times and names with escape
// sequences are drawn as something harmless. The only escape sequences in a line are SGR colours, none at all
// with Colour::kNone. Below 40 x 8 as much is drawn as there is room for.
//
// Times are nanoseconds: `now` is the wall clock; the report's are trace time (Unix epoch).
// Thread safety: pure functions. Cost: linear in the report, plus the frame.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "margay/base/time.h"
#include "margay/wire/report.pb.h"

namespace margay::terminal {

enum class Colour : std::uint8_t { kNone, k16, k256, kTruecolour };

// What the viewer knows about the way to the daemon.
enum class Link : std::uint8_t {
  kWaiting,  // nothing was received yet
  kLive,
  kGone,     // the daemon does not answer; the last report is shown
  kRunGone,  // and its run directory was removed: the run is over
};

struct View {
  int width = 80;   // columns
  int height = 24;  // lines
  Colour colour = Colour::kNone;
  bool unicode = true;
  int scroll = 0;     // first node shown (below the pinned root); clamped
  int depth = -1;     // deepest level of the hierarchy shown; -1: the deepest that fits
  bool bars = false;  // the newest slices as bars, not the partition of the window
  bool help = false;
  bool held = false;  // the picture stands still on the user's wish
  Link link = Link::kLive;
  TimeNs gone_since{};            // wall clock, with kGone
  std::int64_t utc_offset_s = 0;  // of the times of day
  std::string notice;             // a sentence for the footer ("speaks version 2 of the wire"), or ""
};

struct Frame {
  std::vector<std::string> lines;
  int scroll = 0;       // as used, after clamping
  int scroll_most = 0;  // the largest that shows something new
  int page = 1;         // nodes shown at once
  int depth = 0;        // as used
  int depth_most = 0;   // of the hierarchy
};

Frame draw(const wire::Report& report, const View& view, TimeNs now);
std::vector<std::string> render(const wire::Report& report, const View& view, TimeNs now);

}  // namespace margay::terminal
