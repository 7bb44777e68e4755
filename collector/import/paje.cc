#include "paje.h"

#include <algorithm>

#include "lines.h"
#include "paje_reader.h"

namespace margay::trace::paje {
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
  const auto step = [&]() -> Status {
    reader.set_bytes(input.bytes_read());
    return options.step ? options.step(reader.counts()) : Status();
  };
  if (auto ok = each_line(
          input, kLongestLine, [&](std::string_view line) { return reader.take_line(line); },
          [&] { return reader.take_long_line(); }, step);
      !ok)
    return tl::unexpected(ok.error());
  reader.set_bytes(input.bytes_read());
  if (auto ok = reader.finish(); !ok) return tl::unexpected(ok.error());
  return reader.counts();
}

}  // namespace margay::trace::paje
