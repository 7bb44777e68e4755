// A capture as a trace: what `margay run --capture FILE` kept, every message of the node agents as it came
// in.
//
//   file     := message*                       one after the other, no head
//   message  := arrival:i64  from:u32  size:u32  routing id{from}  body{size}        little-endian
//
// `arrival` is the collector's CLOCK_MONOTONIC, `body` a wire::ToCollector (proto/WIRE.md). The reader does
// what Ingest does with them: hellos declare names, the first batch of a stream its leaf; records that came
// twice are taken once, by their ordinals; batches behind a hole are left out until it is filled, or for
// `give_up` (they were sent again), and then the hole becomes a MARGAY_GAP; a goodbye, and the end of
// MPI_Finalize, a MARGAY_END. What no sender should send (undecodable messages, another run's, records that
// make no sense) is counted and left out, as it was live.
//
// CLOCKS. Trace time is host time and the offset of the host's clock: the one given for `boot_id`, else what
// the first hello of that boot tells of its wall clock (ClockPair). The run had read its own wall clock some
// moments before: times of a capture and of the archive beside it differ by how the two readings do, mostly
// microseconds. Clocks of several machines agree as well as their wall clocks do.
//
// COVERED. Before the first record it is told that all is covered to 1 s before it. Every 256 batches it is
// told what all streams that have not ended are covered to, less 1 s for what is not heard of yet; a stream
// that is silent or far behind holds it for `give_up`. So a record may come that is earlier than what was
// told, after a hole that was filled late: its consumer decides. The last is told at the end. Thread safety:
// functions are safe; several may read one file, each the leaves of its part. Cost: one pass; columns are
// decoded where they lie. Memory: one message (16 MiB at most), names and sources.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/trace/input.h"
#include "margay/trace/trace.h"

namespace margay::trace {

struct CaptureOptions {
  // Records of the leaves l with l % parts == part; all names and leaves are told whatever the part.
  std::uint32_t part = 0;
  std::uint32_t parts = 1;
  std::function<bool(LeafIndex)> wanted;  // leaves that have records; nothing: all
  std::string boot_id;                    // with `clock_offset`: that host's clock
  DurationNs clock_offset{};
  DurationNs give_up = seconds(10);
  // Called now and then with the bytes read. An error ends the reading with it.
  std::function<Status(std::uint64_t)> step;
};

struct CaptureCounts {
  std::uint64_t bytes = 0;     // of whole messages
  std::uint64_t messages = 0;  // whole ones
  std::uint64_t records = 0;   // passed on; of a scan: that were sent
  std::uint64_t repeats = 0;   // records that came before
  std::uint64_t holes = 0;     // given up
  std::uint64_t lost = 0;      // records in them
  std::uint64_t rejected = 0;  // records that make no sense
  std::uint64_t bad_batches = 0;
  std::uint64_t undecodable = 0;  // messages
  std::uint64_t foreign = 0;      // messages of another run or wire version
  std::uint64_t nameless = 0;     // batches and goodbyes of sources that had not said hello
  std::uint64_t cut_off = 0;      // bytes of a message at the end that is not whole
  std::uint64_t leaves = 0;
  std::optional<TimeNs> begin;  // of the first record
  TimeNs end{};                 // to which the last leaf was covered
};

// Bounds of what is accepted.
inline constexpr std::uint32_t kMostCaptureSources = 1u << 20;
inline constexpr std::uint32_t kMostCaptureLeaves = 1u << 20;

// Whether these bytes may be the begin of a capture (16 bytes and some of the first body are enough).
bool looks_like_capture(std::string_view head);

// Errors: kNotFound, kIo; kCorrupt with the byte offset (a message longer than any that Margay takes: this is
// no capture, or a damaged one); kLimit (leaves, names); those of the consumer and of `step`.
Result<CaptureCounts> read_capture(const std::string& path, const CaptureOptions& options,
                                   Consumer& consumer);
// Once from where `input` stands to its end; it may be a pipe.
Result<CaptureCounts> read_capture(Input& input, const CaptureOptions& options, Consumer& consumer);
// The same from memory, for tests and fuzzing.
Result<CaptureCounts> read_capture_bytes(std::string_view bytes, const std::string& name,
                                         const CaptureOptions& options, Consumer& consumer);
// Names and leaves as read_capture tells them, and no records: columns are not decoded, but for their first
// time. Cost: reading the file.
Result<CaptureCounts> scan_capture(const std::string& path, const CaptureOptions& options,
                                   Consumer& consumer);

}  // namespace margay::trace
