// Cuts an input into lines, whatever pieces it comes in.
//
// Thread safety: none. Memory: 1 MiB and one line.
#pragma once

#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/trace/input.h"

namespace margay::trace {

// Gives each line, without its end, to `take`; of one that is longer than `longest` bytes only `take_long` is
// told. `step` is called about every MiB. An error of any of them ends it, as does one of the input: kIo,
// kUnavailable.
template <class Take, class TakeLong, class Step>
Status each_line(Input& input, std::size_t longest, Take take, TakeLong take_long, Step step) {
  constexpr std::size_t kRead = 1 << 20;
  std::vector<char> buffer(kRead + longest);
  std::size_t held = 0;  // of a line that has no end yet
  bool skipping = false;
  for (;;) {
    const auto n = input.read(std::span(buffer).subspan(held, kRead));
    if (!n) return tl::unexpected(n.error());
    const std::size_t filled = held + *n;
    std::size_t begin = 0, search = held;
    while (const void* found = std::memchr(buffer.data() + search, '\n', filled - search)) {
      const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - buffer.data());
      if (!skipping)
        if (Status ok = take(std::string_view(buffer.data() + begin, end - begin)); !ok) return ok;
      skipping = false;
      begin = search = end + 1;
    }
    held = filled - begin;
    if (*n == 0) {
      if (held > 0 && !skipping) return take(std::string_view(buffer.data() + begin, held));
      return {};
    }
    if (skipping) held = 0;
    if (held > longest) {
      if (Status ok = take_long(); !ok) return ok;
      skipping = true;
      held = 0;
    }
    std::memmove(buffer.data(), buffer.data() + begin, held);
    if (Status ok = step(); !ok) return ok;
  }
}

}  // namespace margay::trace
