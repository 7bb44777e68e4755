// Accesses to memory as CSV, for tools that know threads (MEMORY.md):
//
//   time,thread,address,kind[,size][,cpu][,latency][,process]
//
// The first line names the columns, in any order; the first four have to be there. Fields stand without
// quotes; lines that begin with # and empty ones are passed over.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "memory_lines.h"
#include "paje_time.h"

namespace margay::trace::accesses {
namespace {

using memory::Access;
using memory::Kind;
using memory::Line;
using memory::quote;

enum Column : std::size_t { kTime, kThread, kAddress, kKind, kSize, kCpu, kLatency, kProcess, kColumns };
constexpr std::string_view kColumnNames[kColumns] = {"time", "thread", "address", "kind",
                                                     "size", "cpu",    "latency", "process"};
constexpr std::size_t kNeeded = 4;

bool parse_kind(std::string_view text, Kind& kind) {
  constexpr std::pair<std::string_view, Kind> kWords[] = {
      {"R", Kind::kRead},        {"W", Kind::kWrite},     {"M", Kind::kModify},  {"I", Kind::kFetch},
      {"L", Kind::kRead},        {"S", Kind::kWrite},     {"read", Kind::kRead}, {"write", Kind::kWrite},
      {"modify", Kind::kModify}, {"fetch", Kind::kFetch}, {"load", Kind::kRead}, {"store", Kind::kWrite}};
  const auto word =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const auto& w) { return w.first == text; });
  if (word != std::end(kWords)) kind = word->second;
  return word != std::end(kWords);
}

// Splits at commas, blanks around fields left out; returns how many there are, beyond `most` of which nothing
// is kept.
template <std::size_t most>
std::size_t split_cells(std::string_view line, std::array<std::string_view, most>& cells) {
  std::size_t n = 0;
  for (;; ++n) {
    const std::size_t end = std::min(line.find(','), line.size());
    if (n < most) cells[n] = memory::trim(line.substr(0, end));
    if (end == line.size()) return n + 1;
    line.remove_prefix(end + 1);
  }
}

template <class Number>
bool parse_whole(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

class AccessParser {
 public:
  explicit AccessParser(memory::Accesses& accesses) : accesses_(accesses) {}

  Line take(std::string_view line, Access& access) {
    if (line.empty() || line.front() == '#' || line == "\r") return Line::kNothing;
    if (columns_ == 0) return header(line);
    const std::size_t found = split_cells(line, cells_);
    if (found != columns_)
      return fail_with("has " + std::to_string(found) + " fields; expected " + std::to_string(columns_));
    return needed(access) && optional(access) && whose(access) ? Line::kAccess : Line::kWrong;
  }
  std::string wrong;

 private:
  static constexpr std::size_t kNowhere = kColumns;

  Line header(std::string_view line) {
    const std::size_t found = split_cells(line, cells_);
    at_.fill(kNowhere);
    for (std::size_t i = 0; i < std::min<std::size_t>(found, kColumns); ++i) {
      const auto known = std::find(std::begin(kColumnNames), std::end(kColumnNames), cells_[i]);
      const auto column = static_cast<std::size_t>(known - std::begin(kColumnNames));
      if (column == kColumns || at_[column] != kNowhere) return bad_header(cells_[i]);
      at_[column] = i;
    }
    if (found > kColumns) return bad_header("the last ones");
    for (std::size_t c = 0; c < kNeeded; ++c)
      if (at_[c] == kNowhere) return bad_header(kColumnNames[c]);
    columns_ = found;
    return Line::kNothing;
  }
  Line bad_header(std::string_view column) {
    return fail_with("of the columns, " + quote(column) +
                     " is not known, there twice, or missing; expected time,thread,address,kind and, where "
                     "they are known, size,cpu,latency,process");
  }
  Line fail_with(std::string what) {
    wrong = std::move(what);
    return Line::kWrong;
  }

  bool has(Column c) const { return at_[c] != kNowhere && !cells_[at_[c]].empty(); }
  std::string_view cell(Column c) const { return cells_[at_[c]]; }
  bool refuse(Column c, const char* expected) {
    wrong = "the " + std::string(kColumnNames[c]) + " is " + quote(cell(c)) + "; expected " + expected;
    return false;
  }

  bool needed(Access& access) {
    const auto time = paje::parse_time(cell(kTime));
    if (!time) return refuse(kTime, "seconds, like 12.5 or 1.25e-3, within 146 years of 0");
    access.time_ns = *time;
    if (!memory::parse_number(cell(kAddress), false, access.address))
      return refuse(kAddress, "a number of 64 bits, like 0x7f001000 or 4096");
    if (!parse_kind(cell(kKind), access.kind))
      return refuse(kKind, "R, W, M or I (or read, write, modify, fetch; load, store; L, S)");
    return !cell(kThread).empty() || refuse(kThread, "a number or a name");
  }

  bool optional(Access& access) {
    std::uint64_t size = 0;
    if (has(kSize) && !parse_whole(cell(kSize), size)) return refuse(kSize, "a number of bytes");
    if (has(kCpu) && (!parse_whole(cell(kCpu), access.cpu) || access.cpu < 0))
      return refuse(kCpu, "the number of a CPU");
    if (has(kLatency) && (!parse_whole(cell(kLatency), access.latency) || !std::isfinite(access.latency) ||
                          access.latency < 0))
      return refuse(kLatency, "a number, 0 or greater");
    return true;
  }

  // Numbers of threads and processes are asked for once the line is known to be good.
  bool whose(Access& access) {
    if (at_[kProcess] != kNowhere) {
      const auto space = accesses_.space(has(kProcess) ? cell(kProcess) : "?");
      if (!space) return fail_with(space.error().message) == Line::kAccess;
      access.space = *space;
    }
    if (cell(kThread) == last_thread_ && access.space == last_space_) {
      access.thread = last_number_;
      return true;
    }
    const auto thread = accesses_.thread(cell(kThread), access.space, {});
    if (!thread) return fail_with(thread.error().message) == Line::kAccess;
    access.thread = last_number_ = *thread;
    last_thread_ = cell(kThread);
    last_space_ = access.space;
    return true;
  }

  memory::Accesses& accesses_;
  std::array<std::size_t, kColumns> at_{};
  std::array<std::string_view, kColumns> cells_;
  std::size_t columns_ = 0;
  std::string last_thread_;  // of the line before
  std::uint32_t last_space_ = memory::kOnlySpace, last_number_ = memory::kNobody;
};

}  // namespace

bool detect(std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    const std::string_view line = memory::trim(head.substr(0, end));
    head.remove_prefix(std::min(end + 1, head.size()));
    if (line.empty() || line.front() == '#') continue;
    std::array<std::string_view, kColumns> cells;
    const std::size_t found = std::min<std::size_t>(split_cells(line, cells), kColumns);
    const auto there = [&](std::string_view name) {
      return std::find(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(found), name) !=
             cells.begin() + static_cast<std::ptrdiff_t>(found);
    };
    return std::all_of(kColumnNames, kColumnNames + kNeeded, there);
  }
  return false;
}

Result<ReadCounts> read(Input& input, const ReadOptions& options, Consumer& consumer) {
  return memory::read_accesses<AccessParser>(input, options, consumer);
}

}  // namespace margay::trace::accesses
