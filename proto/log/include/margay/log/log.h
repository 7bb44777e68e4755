// The log of a Margay process: lines for a person, on stderr.
//
//   2026-11-20 13:02:11  warning  margayd: the archive cannot be written: /data/a: No space left on device
//
// Under systemd (stderr is the journal's) the line begins with the journal's priority <N> instead. For what
// changes, not for what flows: nothing is logged per event or message. Bounded in three ways, each counted:
// lines per call site and in all (throttle.h; once a minute the log says what it left out), the length of a
// line (control characters are replaced), and, where stderr is a file, the size of that file, after which
// nothing more is written until somebody empties it. Writing may wait for stderr, as writing to stderr does.
//
// Thread safety: every function may be called from any thread. Cost: one write(2) a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "margay/base/time.h"

namespace margay::log {

enum class Level { kDebug, kInfo, kWarning, kError, kOff };
// "debug", "info", "warning", "error", "off".
std::optional<Level> parse_level(std::string_view text);

struct Options {
  std::string program;  // "margayd"
  Level level = Level::kInfo;
  double lines_a_minute = 60;
  std::uint64_t file_bytes = std::uint64_t{1} << 20;  // 0: no bound
  int fd = 2;
  const Clock* clock = nullptr;  // nullptr: the machine's
};
inline constexpr std::size_t kLongestLine = 2000;  // bytes

// Sets the process's log up; before it, lines of level info and above go to stderr. May be called again.
void start(const Options& options);

// Where a line is said. (std::source_location is not in every compiler that builds this: the fuzz targets'
// clang.)
struct Place {
  const char* file = "";
  unsigned line = 0;
  static constexpr Place current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};
void debug(const std::string& sentence, const Place& place = Place::current());
void info(const std::string& sentence, const Place& place = Place::current());
void warning(const std::string& sentence, const Place& place = Place::current());
void error(const std::string& sentence, const Place& place = Place::current());

// Says what was left out, once a minute; to be called now and then.
void tick();

struct Counts {
  std::uint64_t lines = 0;       // written
  std::uint64_t suppressed = 0;  // left out by one of the bounds
};
Counts counts();

}  // namespace margay::log
