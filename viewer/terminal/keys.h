// Bytes from a terminal into keys. Pure; an escape sequence may come in pieces. Unknown ones are swallowed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace margay::terminal {

enum class Key : std::uint8_t {
  kQuit,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kLess,  // depth
  kMore,
  kAuto,
  kView,  // partition or newest slices
  kHold,
  kHelp,
  kRedraw,
  kPlay,  // of a replay: play or pause
  kStep,
  kBack,
  kForward,
};

class KeyDecoder {
 public:
  std::vector<Key> feed(std::string_view bytes);

 private:
  std::string pending_;  // an unfinished escape sequence, at most 16 bytes
};

}  // namespace margay::terminal
