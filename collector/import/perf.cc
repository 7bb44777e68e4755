// What perf script prints of samples that have an address (perf mem record; MEMORY.md):
//
//   matrix  4242/4243  [001]  5123.123456:   5  cpu/mem-loads,ldlat=30/P:   7f3a4c012340   5080142 |OP
//   LOAD|LVL ...|  55
//
// In this order perf prints, whatever -F says: the program, process and thread, the CPU, the time, the
// period, the event, the address (and its symbol), the source of the data, the weight; what follows is passed
// over.
#include <algorithm>
#include <charconv>

#include "memory_lines.h"
#include "paje_time.h"

namespace margay::trace::perf {
namespace {

using memory::Access;
using memory::Kind;
using memory::Line;
using memory::quote;
using memory::trim;

constexpr std::string_view kExpected =
    "; expected a line of perf script -F comm,pid,tid,cpu,time,event,addr,data_src,weight";

bool all_of(std::string_view word, bool (*is)(char)) {
  return !word.empty() && std::all_of(word.begin(), word.end(), is);
}
bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}
bool is_number(std::string_view word) {
  return all_of(word, is_decimal);
}

// Takes the first word, and the blanks before it.
std::string_view next_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  return word;
}
std::string_view last_word(std::string_view& rest) {
  rest = trim(rest);
  const std::size_t blank = rest.find_last_of(" \t");
  const std::size_t begin = blank == std::string_view::npos ? 0 : blank + 1;
  const std::string_view word = rest.substr(begin);
  rest = trim(rest.substr(0, begin));
  return word;
}

// "5123.123456:": where the time of a line is.
struct Found {
  std::size_t begin = std::string_view::npos, end = 0;
};
Found find_time(std::string_view line) {
  for (std::size_t colon = line.find(':'); colon != std::string_view::npos;
       colon = line.find(':', colon + 1)) {
    if (colon + 1 < line.size() && line[colon + 1] != ' ') continue;
    std::size_t at = colon;
    while (at > 0 && is_decimal(line[at - 1])) --at;
    if (at == colon || at == 0 || line[at - 1] != '.') continue;
    const std::size_t point = --at;
    while (at > 0 && is_decimal(line[at - 1])) --at;
    if (at < point && (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t')) return {at, colon};
  }
  return {};
}

class PerfParser {
 public:
  explicit PerfParser(memory::Accesses& accesses) : accesses_(accesses) {}

  Line take(std::string_view line, Access& access) {
    line = trim(line);
    if (line.empty() || line.front() == '#') return Line::kNothing;
    const Found at = find_time(line);
    if (at.begin == std::string_view::npos) return fail_with("has no time" + std::string(kExpected));
    const auto time = paje::parse_time(line.substr(at.begin, at.end - at.begin));
    if (!time) return fail_with("has a time that lies beyond 146 years" + std::string(kExpected));
    access.time_ns = *time;
    if (!what(line.substr(at.end + 1), access)) return Line::kWrong;
    return who(line.substr(0, at.begin), access) ? Line::kAccess : Line::kWrong;
  }
  std::string wrong;

 private:
  Line fail_with(std::string text) {
    wrong = std::move(text);
    return Line::kWrong;
  }

  // "5  cpu/mem-loads,ldlat=30/P:  7f3a4c012340  5080142 |OP LOAD|...|  55"
  bool what(std::string_view rest, Access& access) {
    std::string_view event = next_word(rest);
    if (is_number(event)) event = next_word(rest);  // that was the period
    if (!event.ends_with(':')) {
      wrong = "has " + quote(event) + " in the place of the event" + std::string(kExpected);
      return false;
    }
    event.remove_suffix(1);
    const std::string_view address = next_word(rest);
    if (!memory::parse_number(address, true, access.address)) {
      wrong = "has " + quote(address) + " in the place of the address" + std::string(kExpected);
      return false;
    }
    const std::size_t operation = rest.find("|OP ");
    if (!kind_of(event, operation == std::string_view::npos ? "" : rest.substr(operation + 4), access.kind)) {
      wrong = "neither its source of the data nor its event, " + quote(event) +
              ", says whether it reads or writes; expected LOAD or STORE";
      return false;
    }
    if (operation != std::string_view::npos) rest.remove_prefix(rest.rfind('|') + 1);
    latency(rest, access);
    return true;
  }

  static bool kind_of(std::string_view event, std::string_view operation, Kind& kind) {
    const bool both = operation.starts_with("LOAD,STORE");
    if (operation.starts_with("LOAD") || operation.starts_with("STORE")) {
      kind = both ? Kind::kModify : operation.starts_with("LOAD") ? Kind::kRead : Kind::kWrite;
      return true;
    }
    if (operation.starts_with("EXEC")) {
      kind = Kind::kFetch;
      return true;
    }
    const auto says = [event](std::string_view word) { return event.find(word) != std::string_view::npos; };
    const bool loads = says("load"), stores = says("store");
    kind = loads ? Kind::kRead : Kind::kWrite;
    return loads != stores;
  }

  // The first word that is a number: of the source of the data only words are left before it.
  static void latency(std::string_view rest, Access& access) {
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
      if (!is_number(word)) continue;
      double value = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (error == std::errc() && end == word.data() + word.size()) access.latency = value;
      return;
    }
  }

  // "matrix  4242/4243  [001]"
  bool who(std::string_view rest, Access& access) {
    std::string_view word = last_word(rest);
    if (word.size() > 2 && word.front() == '[' && word.back() == ']') {
      const std::string_view cpu = word.substr(1, word.size() - 2);
      const auto [end, error] = std::from_chars(cpu.data(), cpu.data() + cpu.size(), access.cpu);
      if (error != std::errc() || end != cpu.data() + cpu.size() || access.cpu < 0) access.cpu = -1;
      word = last_word(rest);
    }
    const std::size_t slash = word.find('/');
    const std::string_view process = slash == std::string_view::npos ? "" : word.substr(0, slash);
    const std::string_view thread = slash == std::string_view::npos ? word : word.substr(slash + 1);
    if (!is_number(thread) || (slash != std::string_view::npos && !is_number(process))) {
      wrong = "has " + quote(word) + " in the place of the thread" + std::string(kExpected);
      return false;
    }
    if (slash != std::string_view::npos) {
      const auto space = accesses_.space(process);
      if (!space) return fail_with(space.error().message) == Line::kAccess;
      access.space = *space;
    }
    const auto number = accesses_.thread(thread, access.space, rest);
    if (!number) return fail_with(number.error().message) == Line::kAccess;
    access.thread = *number;
    return true;
  }

  memory::Accesses& accesses_;
};

}  // namespace

// A time behind a thread, an event, an address.
bool detect(std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    std::string_view line = trim(head.substr(0, std::min(end, head.size())));
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const Found at = find_time(line);
    if (at.begin == std::string_view::npos) return false;
    std::string_view rest = line.substr(at.end + 1);
    std::string_view event = next_word(rest);
    if (is_number(event)) event = next_word(rest);
    std::uint64_t address = 0;
    return event.ends_with(':') && memory::parse_number(next_word(rest), true, address);
  }
  return false;
}

Result<ReadCounts> read(Input& input, const ReadOptions& options, Consumer& consumer) {
  return memory::read_accesses<PerfParser>(input, options, consumer);
}

}  // namespace margay::trace::perf
