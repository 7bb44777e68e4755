#include "paje.h"

#include <cstring>
#include <vector>

#include "paje_reader.h"

namespace margay::trace::paje {
namespace {

constexpr std::size_t kRead = 1 << 20;

// Cuts the input into lines, each given to `take` without its end. A line that is too long is given to
// `long_line`.
Status each_line(Input& input, Reader& reader, const ReadOptions& options) {
  std::vector<char> buffer(kRead + kLongestLine);
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
        if (auto ok = reader.take_line(std::string_view(buffer.data() + begin, end - begin)); !ok) return ok;
      skipping = false;
      begin = search = end + 1;
    }
    held = filled - begin;
    if (*n == 0) {
      if (held > 0 && !skipping) return reader.take_line(std::string_view(buffer.data() + begin, held));
      return {};
    }
    if (skipping) held = 0;
    if (held > kLongestLine) {
      if (auto ok = reader.take_long_line(); !ok) return ok;
      skipping = true;
      held = 0;
    }
    std::memmove(buffer.data(), buffer.data() + begin, held);
    reader.set_bytes(input.bytes_read());
    if (options.step)
      if (auto ok = options.step(reader.counts()); !ok) return ok;
  }
}

}  // namespace

bool detect(std::string_view head) {
  // Comments and blanks, then the first definition.
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 1, head.size()));
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    if (line.empty() || line.front() == '#' || line == "\r") continue;
    if (line.front() != '%') return false;
    line.remove_prefix(1);
    return take_word(line) == "EventDef";
  }
  return false;
}

Result<ReadCounts> read(Input& input, const ReadOptions& options, Consumer& consumer) {
  Reader reader(input.name(), options, consumer);
  if (auto ok = each_line(input, reader, options); !ok) return tl::unexpected(ok.error());
  reader.set_bytes(input.bytes_read());
  if (auto ok = reader.finish(); !ok) return tl::unexpected(ok.error());
  return reader.counts();
}

}  // namespace margay::trace::paje
