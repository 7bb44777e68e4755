// One line of GStreamer's debug log (GST_DEBUG, without colours):
//
//   H:MM:SS.nnnnnnnnn PID 0xTHREAD LEVEL CATEGORY file:line:function:<object> text
//
// Pure; the text is untrusted. Views live as long as the line. Cost: one pass over the head of the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "margay/base/time.h"

namespace margay::gst {

struct LogLine {
  DurationNs since_start{};  // of GStreamer in that process
  std::int64_t pid = 0;
  std::uint64_t thread = 0;  // a number of GLib's, not of the kernel's
  std::string_view function;
  std::string_view object;  // "queue0:src"; "" where there is none
  std::string_view text;
};

// Nothing where it is no such line: an empty one, or a further line of a text that has several.
std::optional<LogLine> parse_line_untrusted(std::string_view line);

// Whether it looks like the begin of one, so that it is a damaged line and not part of a text.
bool begins_with_time(std::string_view line);

}  // namespace margay::gst
