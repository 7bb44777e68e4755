// archive_compare: whether two archives hold the same run, cell by cell, on every level.
//
//   archive_compare [--spoil] A B
//
// Resources are the same when source and thread are, states when their names are: their numbers depend on who
// was heard first. Compared on every level, from the first slice to the last that is closed in both:
//   per slice, resource and state   duration, longest visit, visits
//   per slice and resource          the state open at its end, and since when
//   per slice                       events lost
// and once: each stream's account (and that it adds up), the run's begin, and every raw record that is
// archived. What one archive has beyond the other's last slice must be Absent. Not compared, because it
// depends on when things arrived, not on what they said: `provisional` (a slice closed without having heard
// of somebody), the evidence of the node sampler, reports, and how long somebody not yet heard of has been
// Absent.
//
// Prints a line of figures; every difference (the first 20) is a line of stderr. --spoil changes one cell of
// A by 1 ns first: then it must say so. Exit code: 0 equal, 1 not, 2 for a wrong call or archives that cannot
// be read.
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "margay/store/archive.h"

namespace {

using namespace margay;

struct Cell {
  std::int64_t duration = 0, longest = 0;
  std::uint32_t visits = 0;
  bool operator==(const Cell&) const = default;
};
using Row = std::map<std::string, Cell>;  // by state; empty ones are left out
using Who = std::pair<std::uint64_t, std::uint32_t>;
struct Column {
  std::map<Who, Row> rows;
  std::map<Who, std::pair<std::string, std::int64_t>> open;
  std::uint64_t lost = 0;
  std::string region;
  bool provisional = false;
};
using Columns = std::map<std::pair<int, std::int64_t>, Column>;

struct Held {
  store::Resume resume;
  Columns columns;
  std::int64_t through = 0;
  std::map<Who, std::map<std::uint64_t, std::string>> raw;  // by first ordinal
  std::map<Who, std::uint64_t> raw_records;
};

int complain(const std::string& sentence) {
  std::fprintf(stderr, "archive_compare: %s\n", sentence.c_str());
  return 2;
}

Result<Held> read(const char* path) {
  const auto archive = store::Archive::open(path, store::Mode::kReadOnly);
  if (!archive) return tl::unexpected(archive.error());
  auto resume = (*archive)->load();
  if (!resume) return tl::unexpected(resume.error());
  Held h;
  h.resume = std::move(*resume);
  const auto who = [&](std::uint32_t leaf) {
    return Who{h.resume.leaves[leaf].source.value, h.resume.leaves[leaf].stream};
  };
  for (const auto& c : h.resume.closed)
    if (c.level == LevelIndex(0)) h.through = c.through.value;
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  for (std::uint8_t level = 0; level < h.resume.run.levels.size(); ++level) {
    const auto ok = (*archive)->scan_columns(
        LevelIndex(level), SliceIndex(-kFar), SliceIndex(kFar), [&](model::SliceColumn&& c) {
          if (level == 0 && c.index.value > h.through) return true;  // still open: nobody's last word
          Column& out = h.columns[{level, c.index.value}];
          out.lost = c.lost_events;
          out.region = c.region;
          out.provisional = c.provisional;
          for (std::uint32_t l = 0; l < c.leaves(); ++l) {
            Row& row = out.rows[who(l)];
            for (std::uint16_t x = 0; x < c.states(); ++x) {
              const LeafIndex leaf(l);
              const Cell cell{c.duration_ns(leaf)[x], c.longest_ns(leaf)[x], c.visits(leaf)[x]};
              if (!(cell == Cell{})) row[h.resume.states[StateId(x)].name] = cell;
            }
            const auto& open = c.open(LeafIndex(l));
            out.open[who(l)] = {h.resume.states[open.state].name, open.since.value};
          }
          return true;
        });
    if (!ok) return tl::unexpected(ok.error());
  }
  const auto ok = (*archive)->read_raw({}, TimeNs(-kFar), TimeNs(INT64_MAX), [&](store::RawBlock&& b) {
    h.raw[who(b.leaf.value)][b.first] = std::move(b.columns);
    h.raw_records[who(b.leaf.value)] += b.count;
    return true;
  });
  if (!ok) return tl::unexpected(ok.error());
  return h;
}

class Comparison {
 public:
  Comparison(Held& a, Held& b) : a_(a), b_(b) {}
  int operator()();

 private:
  void differ(const std::string& text) {
    if (++different_ <= 20) std::fprintf(stderr, "%s\n", text.c_str());
  }
  void compare_column(int level, std::int64_t slice, const Column& a, const Column& b);
  void compare_row(const std::string& where, const Row& a, const Row& b);
  void compare_accounts();

  Held &a_, &b_;
  std::size_t different_ = 0, cells_ = 0, columns_ = 0, provisional_ = 0, regions_ = 0;
};

std::string text(const Cell& c) {
  return std::to_string(c.duration) + " ns, longest " + std::to_string(c.longest) + " ns, " +
         std::to_string(c.visits) + " visits";
}

void Comparison::compare_row(const std::string& where, const Row& a, const Row& b) {
  static const Row kNothing;
  for (const auto& [state, cell] : a) {
    ++cells_;
    const auto it = b.find(state);
    Cell x = cell, y = it == b.end() ? Cell{} : it->second;
    if (state == "Absent") x.longest = y.longest = 0;
    if (!(x == y)) differ(where + " " + state + ": " + text(x) + "; " + text(y));
  }
  for (const auto& [state, cell] : b)
    if (!a.contains(state)) differ(where + " " + state + ": nothing; " + text(cell));
}

void Comparison::compare_column(int level, std::int64_t slice, const Column& a, const Column& b) {
  ++columns_;
  const std::string where = "level " + std::to_string(level) + " slice " + std::to_string(slice);
  if (a.lost != b.lost)
    differ(where + ": " + std::to_string(a.lost) + "; " + std::to_string(b.lost) + " events lost");
  if (a.provisional != b.provisional) ++provisional_;
  if (a.region != b.region) ++regions_;
  // Somebody who is not in a column yet has not begun: Absent for all of it.
  const auto only_absent = [](const Row& r) { return r.empty() || (r.size() == 1 && r.contains("Absent")); };
  for (const auto& [who, row] : a.rows) {
    const std::string whose = where + " of " + std::to_string(who.first) + "/" + std::to_string(who.second);
    const auto it = b.rows.find(who);
    if (it == b.rows.end()) {
      if (!only_absent(row)) differ(whose + ": there; not there");
      continue;
    }
    compare_row(whose, row, it->second);
    const auto &x = a.open.at(who), &y = b.open.at(who);
    if (x.first != y.first || (x.first != "Absent" && x.second != y.second))
      differ(whose + " open: " + x.first + " since " + std::to_string(x.second) + "; " + y.first + " since " +
             std::to_string(y.second));
  }
  for (const auto& [who, row] : b.rows)
    if (!a.rows.contains(who) && !only_absent(row))
      differ(where + ": " + std::to_string(who.first) + " is not there");
}

void Comparison::compare_accounts() {
  const auto key = [](const store::StreamRecord& s) { return Who{s.source.value, s.stream}; };
  std::map<Who, store::StreamRecord> left, right;
  for (const auto& s : a_.resume.streams) left.emplace(key(s), s);
  for (const auto& s : b_.resume.streams) right.emplace(key(s), s);
  for (const auto& [who, s] : left) {
    const std::string where = "account of " + std::to_string(who.first) + "/" + std::to_string(who.second);
    const auto it = right.find(who);
    if (it == right.end() || !(it->second == s)) differ(where + " differs");
    if (s.produced != s.modelled + s.late_dropped + s.probe_dropped + s.wire_lost + s.rejected ||
        s.produced != s.modelled)
      differ(where + " does not add up to what was modelled");
    // Every record is archived once, and blocks neither overlap nor leave holes.
    if (a_.raw_records[who] != s.modelled || b_.raw_records[who] != s.modelled)
      differ(where + ": " + std::to_string(s.modelled) + " records modelled, " +
             std::to_string(a_.raw_records[who]) + "; " + std::to_string(b_.raw_records[who]) + " archived");
  }
  if (left.size() != right.size()) differ("one has more streams");
  // The daemon's clock is set by its first reading, of which a line of its log may be the cause, before the
  // run begins.
  const DurationNs slice = a_.resume.run.levels[0];
  if (slice_of(a_.resume.run.begin, slice) != slice_of(b_.resume.run.begin, slice))
    differ("the runs began in different slices");
}

int Comparison::operator()() {
  compare_accounts();
  const std::int64_t through = std::min(a_.through, b_.through);
  const auto& levels = a_.resume.run.levels;
  const TimeNs end = slice_end(SliceIndex(through), levels[0]);
  const auto beyond = [&](const std::pair<int, std::int64_t>& k) {
    return slice_end(SliceIndex(k.second), levels[static_cast<std::size_t>(k.first)]) > end;
  };
  for (const auto& [k, column] : a_.columns) {
    const auto it = b_.columns.find(k);
    if (it != b_.columns.end() && !beyond(k))
      compare_column(k.first, k.second, column, it->second);
    else if (!beyond(k))
      differ("level " + std::to_string(k.first) + " slice " + std::to_string(k.second) +
             ": there; not there");
  }
  for (const auto& [k, column] : b_.columns)
    if (!beyond(k) && !a_.columns.contains(k))
      differ("level " + std::to_string(k.first) + " slice " + std::to_string(k.second) +
             ": not there; there");
  for (const Held* h : {&a_, &b_})
    for (const auto& [k, column] : h->columns)
      if (k.first == 0 && k.second > through)
        for (const auto& [who, row] : column.rows)
          if (!row.empty() && !(row.size() == 1 && row.contains("Absent")))
            differ("slice " + std::to_string(k.second) + " is closed in one only, and not empty");
  std::uint64_t records = 0;
  for (const auto& s : a_.resume.streams) records += s.modelled;
  std::printf(
      "levels %zu columns %zu cells %zu records %llu streams %zu provisional_differs %zu regions_differ %zu "
      "differs %zu\n",
      levels.size(), columns_, cells_, static_cast<unsigned long long>(records), a_.resume.streams.size(),
      provisional_, regions_, different_);
  return different_ == 0 && cells_ > 0 ? 0 : 1;
}

bool spoil(Held& h) {
  for (auto it = h.columns.begin(); it != h.columns.end(); ++it)
    if (it->first.second < h.through)
      for (auto& [who, row] : it->second.rows)
        for (auto& [state, cell] : row)
          if (state != "Absent" && cell.duration > 0) {
            ++cell.duration;
            return true;
          }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const bool spoiled = argc == 4 && std::string(argv[1]) == "--spoil";
  if (argc != 3 && !spoiled) return complain("archive_compare [--spoil] A B");
  auto a = read(argv[argc - 2]);
  if (!a) return complain(a.error().message);
  auto b = read(argv[argc - 1]);
  if (!b) return complain(b.error().message);
  if (spoiled && !spoil(*a)) return complain("no cell can be changed");
  return Comparison(*a, *b)();
}
