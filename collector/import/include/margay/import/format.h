// The formats of traces that can be imported: a table, so that the next one is one row (formats.def) and one
// file with a function that reads an Input and calls a Consumer.
//
// Thread safety: functions are safe; one trace is read on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/trace/input.h"
#include "margay/trace/trace.h"

namespace margay::trace {

// What was read so far. A format counts what it has.
struct ReadCounts {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;  // of texts
  std::uint64_t records = 0;
  std::uint64_t containers = 0;
  std::uint64_t states = 0;     // visits that began
  std::uint64_t variables = 0;  // values
  std::uint64_t marks = 0;
  std::uint64_t links = 0;       // whole ones
  std::uint64_t half_links = 0;  // of which only the begin or only the end is there, so far
  std::uint64_t rejected = 0;    // with keep_going: what could not be taken, late ones aside
  std::uint64_t late = 0;        // with keep_going: what came later than the lateness
  std::optional<TimeNs> begin;   // of the first record
  TimeNs end{};                  // of the last one
};

struct ReadOptions {
  // How much earlier than the newest time before it a record may be: it is put in its place, with the
  // memory that holding back this much takes. 0: none.
  DurationNs lateness{};
  // What is wrong is counted and left out, and reading goes on; else it is an error.
  bool keep_going = false;
  // With keep_going, told of the first kMostTold.
  static constexpr std::uint64_t kMostTold = 20;
  std::function<void(const std::string& sentence)> problem;
  // Called every few MiB. An error ends the reading with it.
  std::function<Status(const ReadCounts&)> step;
  // The finest slice of what is made of the trace; > 0. Who shares memory is told by these.
  DurationNs slice = milliseconds(100);
  // Nobody keeps the records, and nothing but time is measured: what happens within a slice may come as sums
  // (MARGAY_SUM). The cells are the same.
  bool sums = false;
  // Of address traces (MEMORY.md).
  static constexpr std::uint64_t kSmallestPage = 8, kLargestPage = std::uint64_t{1} << 40;
  std::uint64_t page = 4096;  // bytes; a power of two, kSmallestPage to kLargestPage
  std::string structures;     // a file that says what lies where; "": none
};

struct Format {
  std::string_view name;  // as users say it
  std::string_view what;  // for help texts
  // Whether a trace that begins with these bytes (Input::head) looks like one.
  bool (*detect)(std::string_view head);
  // Reads all of it. Errors: kInvalidArgument, kCorrupt, kLimit (with file and place); kIo, kUnavailable;
  // those of the consumer.
  Result<ReadCounts> (*read)(Input& input, const ReadOptions& options, Consumer& consumer);
};

std::span<const Format> formats();
// By name, or by how the input begins where `name` is "auto". Errors: kInvalidArgument (no such format;
// none looks like it), kIo.
Result<const Format*> choose_format(std::string_view name, Input& input);

}  // namespace margay::trace
