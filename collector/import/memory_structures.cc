#include "memory_structures.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <tuple>

#include "lines.h"
#include "margay/base/text.h"

namespace margay::trace::memory {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// At most `most` words; the last has all that is left.
std::vector<std::string_view> words_of(std::string_view line, std::size_t most) {
  std::vector<std::string_view> out;
  for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
    const std::size_t end =
        out.size() + 1 == most ? line.size() : std::min(line.find_first_of(" \t"), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return out;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t end = std::min(line.find(','), line.size());
    out.push_back(trimmed(line.substr(0, end)));
    if (end == line.size()) return out;
    line.remove_prefix(end + 1);
  }
}

std::string quoted(std::string_view text) {
  return "'" + clean_utf8(text, 80) + (text.size() > 80 ? "...'" : "'");
}

tl::unexpected<Error> bad(std::string what) {
  return fail(ErrorCode::kInvalidArgument, std::move(what));
}

// The lines of a file, one after the other.
class StructureLines {
 public:
  Status take(std::string_view line) {
    line = trimmed(line);
    if (line.empty() || line.front() == '#') return {};
    if (line.find(',') != std::string_view::npos) {
      const auto cells = cells_of(line);
      if (std::find(cells.begin(), cells.end(), "begin") != cells.end()) return header(cells);
      if (columns_ != 0) return row(cells);
    }
    const auto words = words_of(line, 6);
    if (words.size() >= 5 && words[1].size() == 4 && words[0].find('-') != std::string_view::npos)
      return map(words);
    return symbol(line);
  }
  std::vector<Structure> take_all() { return std::move(all_); }

 private:
  enum Column : std::size_t { kBegin, kEnd, kSize, kName, kElement, kColumns };

  Status header(const std::vector<std::string_view>& cells) {
    constexpr std::string_view kNames[kColumns] = {"begin", "end", "size", "name", "element"};
    at_.fill(kNot);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto known = std::find(std::begin(kNames), std::end(kNames), cells[i]);
      if (known == std::end(kNames))
        return bad("the column " + quoted(cells[i]) +
                   " is not known; expected begin, end or size, name, element");
      at_[static_cast<std::size_t>(known - std::begin(kNames))] = i;
    }
    if (at_[kName] == kNot || (at_[kEnd] == kNot) == (at_[kSize] == kNot))
      return bad("expected the columns begin, name, and one of end and size");
    columns_ = cells.size();
    return {};
  }

  Status row(const std::vector<std::string_view>& cells) {
    if (cells.size() != columns_)
      return bad("has " + std::to_string(cells.size()) + " fields; expected " + std::to_string(columns_));
    Structure s;
    std::uint64_t until = 0;
    const auto number = [&](Column c, std::uint64_t& value) {
      return parse_number(cells[at_[c]], false, value);
    };
    const Column far = at_[kEnd] != kNot ? kEnd : kSize;
    if (!number(kBegin, s.begin) || !number(far, until))
      return bad("expected numbers like 0x1f00 or 7936 for begin and " +
                 std::string(far == kEnd ? "end" : "size"));
    s.end = far == kEnd ? until : s.begin + until;
    if (at_[kElement] != kNot && !cells[at_[kElement]].empty() && !number(kElement, s.element))
      return bad("expected a number of bytes for element");
    return add(std::move(s), cells[at_[kName]]);
  }

  // 55e0c0000000-55e0c0021000 rw-p 00000000 00:00 0   [heap]
  Status map(const std::vector<std::string_view>& words) {
    Structure s;
    const std::size_t dash = words[0].find('-');
    if (!parse_number(words[0].substr(0, dash), true, s.begin) ||
        !parse_number(words[0].substr(dash + 1), true, s.end))
      return bad("begins with " + quoted(words[0]) + "; expected two addresses, as in /proc/PID/maps");
    if (words.size() < 6) return {};  // has no name
    std::string_view name = words[5];
    if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos)
      name.remove_prefix(slash + 1);
    if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
    return add(std::move(s), name);
  }

  // 0000000000404040 0000000000004e20 B A
  Status symbol(std::string_view line) {
    const auto words = words_of(line, 4);
    Structure s;
    std::uint64_t size = 0;
    const bool of_nm = words.size() >= 2 && (parse_number(words[0], true, s.begin) || words[0].size() == 1);
    if (!of_nm)
      return bad("is " + quoted(line) +
                 "; expected a line of nm -S, of /proc/PID/maps, or of a CSV file whose first line is "
                 "begin,end,name or begin,size,name");
    // What has no size, or no address, is no stretch.
    if (words.size() < 4 || words[2].size() != 1 || !parse_number(words[1], true, size) || size == 0)
      return {};
    s.end = s.begin + size;
    return add(std::move(s), words[3]);
  }

  Status add(Structure s, std::string_view name) {
    if (s.end <= s.begin) return bad(quoted(name) + " ends before it begins, or has no bytes");
    if (name.empty()) return bad("expected a name");
    if (all_.size() >= Structures::kMost) return fail(ErrorCode::kLimit, "more than 65,536 structures");
    s.name = clean_utf8(name, Structures::kLongestName);
    all_.push_back(std::move(s));
    return {};
  }

  static constexpr std::size_t kNot = ~std::size_t{0};
  std::array<std::size_t, kColumns> at_{};
  std::size_t columns_ = 0;
  std::vector<Structure> all_;
};

}  // namespace

bool parse_number(std::string_view text, bool hexadecimal, std::uint64_t& value) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    hexadecimal = true;
  }
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Result<Structures> Structures::read(Input& input) {
  StructureLines lines;
  std::uint64_t number = 0;
  const auto placed = [&](const Error& e) -> Status {
    return fail(e.code, input.name() + ":" + std::to_string(number) + ": " + e.message);
  };
  const auto take = [&](std::string_view line) -> Status {
    ++number;
    const Status ok = lines.take(line);
    return ok ? ok : placed(ok.error());
  };
  const auto take_long = [&]() -> Status {
    ++number;
    return placed({ErrorCode::kLimit, "is longer than 64 KiB"});
  };
  if (const Status ok = each_line(input, kLongestLine, take, take_long, [] { return Status(); }); !ok)
    return tl::unexpected(ok.error());
  return Structures(lines.take_all());
}

Structures::Structures(std::vector<Structure> all) : all_(std::move(all)) {
  flatten();
}

// A sweep over all begins and ends; `open` has who is there, whom an address is of last.
void Structures::flatten() {
  using Rank = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;  // begin, ~size, order
  std::vector<std::pair<std::uint64_t, std::pair<bool, Rank>>> edges;
  for (std::uint32_t i = 0; i < all_.size(); ++i) {
    const Rank rank{all_[i].begin, ~(all_[i].end - all_[i].begin), i};
    edges.push_back({all_[i].begin, {true, rank}});
    edges.push_back({all_[i].end, {false, rank}});
  }
  std::sort(edges.begin(), edges.end());
  std::set<Rank> open;
  std::uint64_t at = 0;
  for (const auto& [address, edge] : edges) {
    if (!open.empty() && address > at) {
      const std::uint32_t owner = std::get<2>(*open.rbegin());
      if (!segments_.empty() && segments_.back().end == at && segments_.back().structure == owner)
        segments_.back().end = address;
      else
        segments_.push_back({at, address, owner});
    }
    at = address;
    if (edge.first)
      open.insert(edge.second);
    else
      open.erase(edge.second);
  }
}

std::span<const Structures::Segment> Structures::within(std::uint64_t begin, std::uint64_t last) const {
  const auto from = std::upper_bound(segments_.begin(), segments_.end(), begin,
                                     [](std::uint64_t a, const Segment& s) { return a < s.end; });
  auto to = from;
  while (to != segments_.end() && to->begin <= last) ++to;
  return {from, to};
}

}  // namespace margay::trace::memory
