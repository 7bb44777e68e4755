// Records as columns: the bytes of EventBatch.columns.
//
// Each field of the record is a column; each column is either one constant, or `count` little-endian unsigned
// integers of 1, 2, 4 or 8 bytes, added to a base (frame of reference). Time is stored as differences from
// the record before, zigzag (time running backwards survives the trip and is judged by the receiver); peer
// and tag are zigzag too, for -1 is common.
//
//   columns := version:u8 (= 1)  first time:i64  column{7}        in the order time, bytes, peer, tag, comm,
//   state, kind column  := width:u8 (0,1,2,4,8)  base:u64  value{count} of `width` bytes
//
// The size is known from `count` and the seven widths, so that a decoder checks every bound before it reads a
// value. `flags` is not sent: it is 0.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "margay/base/record.h"
#include "margay/base/result.h"

namespace margay::wire {

inline constexpr std::uint32_t kWireVersion = 1;
// More records than this in one batch are refused.
inline constexpr std::uint32_t kMaxBatchRecords = 65536;

// Appends the columns of `records` to `out`. Cost: one pass per column, no allocation but `out`.
void encode_columns(std::span<const EventRecord> records, std::string& out);

// Decodes untrusted bytes into `out` (resized to `count`). Errors: kCorrupt naming the column, kLimit.
// On error `out` is empty.
Status decode_columns_untrusted(std::span<const char> bytes, std::uint32_t count,
                                std::vector<EventRecord>& out);

// Of each record what makes durations of states: element i of each is record i's. Reused from batch to batch.
struct Changes {
  std::vector<std::int64_t> time_ns;
  std::vector<std::uint16_t> state;
  std::vector<std::uint8_t> kind;
};
// The same of these three columns; the others are checked for their size alone, as they are there. Errors and
// what is refused: those of decode_columns_untrusted, on which `out` is empty. Cost: a third of it.
Status decode_changes_untrusted(std::span<const char> bytes, std::uint32_t count, Changes& out);

}  // namespace margay::wire
