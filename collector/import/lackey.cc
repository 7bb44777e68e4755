// What valgrind --tool=lackey --trace-mem=yes writes: a line for each instruction that is fetched (I), and
// each load (L), store (S) and load-and-store (M) of data. MEMORY.md says what becomes what.
//
// It has no clock, so accesses are the clock: each lasts a tick, and begins where the one before ends.
#include <array>

#include "memory_lines.h"

namespace margay::trace::lackey {
namespace {

using memory::Access;
using memory::Kind;
using memory::Line;

constexpr std::uint8_t kNoDigit = 16;
constexpr std::array<std::uint8_t, 256> kDigits = [] {
  std::array<std::uint8_t, 256> out{};
  out.fill(kNoDigit);
  for (std::uint8_t i = 0; i < 10; ++i) out[std::size_t{'0'} + i] = i;
  for (std::uint8_t i = 10; i < 16; ++i) out[std::size_t{'a'} + i - 10] = out[std::size_t{'A'} + i - 10] = i;
  return out;
}();

// "1ffefff8,8", up to the end. Inline, as what calls it: some 12 million lines a second leave no time for
// calls.
[[gnu::always_inline]] inline bool parse_place(std::string_view text, std::uint64_t& address) {
  const char* at = text.data();
  const char* end = at + text.size();
  if (at != end && end[-1] == '\r') --end;
  const char* const begin = at;
  std::uint64_t value = 0;
  for (std::uint8_t digit; at != end && (digit = kDigits[static_cast<unsigned char>(*at)]) != kNoDigit; ++at)
    value = value << 4 | digit;
  if (at == begin || at - begin > 16 || at == end || *at != ',') return false;
  const char* const size = ++at;
  while (at != end && *at >= '0' && *at <= '9') ++at;
  address = value;
  return at == end && at > size && at - size <= 9;
}

[[gnu::always_inline]] inline bool parse_access(std::string_view line, Access& access) {
  if (line.size() < 5 || line[2] != ' ') return false;
  if (line[0] == 'I' && line[1] == ' ') {
    access.kind = Kind::kFetch;
  } else if (line[0] == ' ') {
    switch (line[1]) {
      case 'L':
        access.kind = Kind::kRead;
        break;
      case 'S':
        access.kind = Kind::kWrite;
        break;
      case 'M':
        access.kind = Kind::kModify;
        break;
      default:
        return false;
    }
  } else {
    return false;
  }
  return parse_place(line.substr(3), access.address);
}

// "==1234== ", "--1234-- ", "**1234** ": valgrind's own; "SB 04016b80": of --trace-superblocks=yes.
bool is_passed_over(std::string_view line) {
  if (line.empty() || line == "\r" || line.starts_with("SB ")) return true;
  const char mark = line[0];
  if ((mark != '=' && mark != '-' && mark != '*') || line.size() < 4 || line[1] != mark) return false;
  std::size_t at = 2;
  while (at < line.size() && line[at] >= '0' && line[at] <= '9') ++at;
  return at > 2 && at + 1 < line.size() && line[at] == mark && line[at + 1] == mark;
}

class LackeyParser {
 public:
  explicit LackeyParser(memory::Accesses&) {}

  [[gnu::always_inline]] Line take(std::string_view line, Access& access) {
    if (parse_access(line, access)) [[likely]] {
      access.time_ns = time_;
      time_ += memory::Accesses::kTick.value;
      return Line::kAccess;
    }
    if (is_passed_over(line)) return Line::kNothing;
    wrong = "is " + memory::quote(line) +
            "; expected 'I  ADDRESS,SIZE', or L, S or M in the second place, as valgrind --tool=lackey "
            "--trace-mem=yes writes them (--log-file keeps the program's own output apart)";
    return Line::kWrong;
  }
  std::string wrong;

 private:
  std::int64_t time_ = 0;
};

}  // namespace

bool detect(std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos) return false;
    const std::string_view line = head.substr(0, end);
    Access access;
    if (parse_access(line, access)) return true;
    if (!is_passed_over(line)) return false;
    if (line.find("Lackey") != std::string_view::npos) return true;
    head.remove_prefix(end + 1);
  }
  return false;
}

Result<ReadCounts> read(Input& input, const ReadOptions& options, Consumer& consumer) {
  return memory::read_accesses<LackeyParser>(input, options, consumer);
}

}  // namespace margay::trace::lackey
