// What the readers of address traces share: lines in, accesses out; what is wrong with a line, and where.
//
// Thread safety: none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lines.h"
#include "margay/import/format.h"
#include "memory_accesses.h"
#include "memory_structures.h"

namespace margay::trace::memory {

inline constexpr std::size_t kLongestTraceLine = 65'536;

enum class Line { kNothing, kAccess, kWrong };

// A word of a trace in a message: short, in quotes, fit to print.
std::string quote(std::string_view text);
inline std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// The place of what is wrong with a trace, and what then: an error, or counted and told.
class LineProblems {
 public:
  LineProblems(std::string name, const ReadOptions& options, ReadCounts& counts)
      : name_(std::move(name)), options_(options), counts_(counts) {}
  // Of the line that is being read.
  tl::unexpected<Error> at(const Error& error) const;
  Status wrong(const Error& error);
  Status late(std::int64_t by_ns);

 private:
  Status count(std::uint64_t& what, const Error& error);

  const std::string name_;
  const ReadOptions& options_;
  ReadCounts& counts_;
};

// Errors: kInvalidArgument (`options`), and as Structures::read.
Result<Structures> open_structures(const ReadOptions& options);

// Reads the lines of an input with a Parser: `take` has the accesses, `wrong` what is wrong with a line, and
// `late` by how many ns it is too early for its place. An error of any of them ends it.
template <class Parser, class Take, class Wrong, class Late, class Step>
Status each_access(Input& input, Parser parser, std::uint64_t& lines, Take take, Wrong wrong, Late late,
                   Step step) {
  std::optional<std::int64_t> now;
  const auto take_line = [&](std::string_view line) -> Status {
    ++lines;
    Access access;
    const Line is = parser.take(line, access);
    if (is == Line::kNothing) return {};
    if (is == Line::kWrong) return wrong(Error{ErrorCode::kInvalidArgument, parser.wrong});
    if (now && access.time_ns < *now) return late(*now - access.time_ns);
    now = access.time_ns;
    return take(access);
  };
  const auto take_long = [&]() -> Status {
    ++lines;
    return wrong(Error{ErrorCode::kLimit, "is longer than 64 KiB; is this an address trace?"});
  };
  return each_line(input, kLongestTraceLine, take_line, take_long, step);
}

// Reads a trace, twice where that is possible, with a Parser: it is made with an Accesses& (for the numbers
// of threads) and has
//   Line take(std::string_view line, Access& access);   its times are what the trace says
//   std::string wrong;                                  what is wrong, where it says so
template <class Parser>
Result<ReadCounts> read_accesses(Input& input, const ReadOptions& options, Consumer& consumer) {
  ReadCounts counts;
  auto structures = open_structures(options);
  if (!structures) return tl::unexpected(structures.error());
  Accesses accesses(options, *structures, counts, consumer);
  LineProblems problems(input.name(), options, counts);
  const auto placed = [&](Status ok) -> Status {
    if (!ok) return problems.at(ok.error());
    return ok;
  };
  bool twice = false;
  std::uint64_t before = 0;  // of the bytes that are read twice
  const auto step = [&]() -> Status {
    counts.bytes = twice ? (before + input.bytes_read()) / 2 : input.bytes_read();
    return options.step ? options.step(counts) : Status();
  };
  if (input.rewind()) {
    twice = true;
    // Who is wrong is told when it is read again; here it only ends the survey.
    bool cut = false;
    const auto skip = [&](const auto&) -> Status {
      cut = !options.keep_going;
      return cut ? Status(fail(ErrorCode::kInvalidArgument, "")) : Status();
    };
    const Status ok = each_access(
        input, Parser(accesses), counts.lines, [&](const Access& a) { return placed(accesses.survey(a)); },
        skip, skip, step);
    if (!ok && !cut) return tl::unexpected(ok.error());
    if (Status told = accesses.end_survey(); !told) return tl::unexpected(told.error());
    before = input.bytes_read();
    if (!input.rewind()) return fail(ErrorCode::kIo, input.name() + ": cannot be read again");
    counts.lines = 0;
  }
  const Status ok = each_access(
      input, Parser(accesses), counts.lines, [&](const Access& a) { return placed(accesses.take(a)); },
      [&](const Error& e) { return problems.wrong(e); }, [&](std::int64_t ns) { return problems.late(ns); },
      step);
  if (!ok) return tl::unexpected(ok.error());
  counts.bytes = input.bytes_read();
  if (Status told = accesses.finish(); !told) return tl::unexpected(told.error());
  return counts;
}

}  // namespace margay::trace::memory
