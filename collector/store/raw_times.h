// The times of raw events: differences of consecutive times as logarithmic classes and the bits below them.
// Pure.
//
// A difference is a duration: of a call where the record leaves one, of computing where it enters one. Its
// order of magnitude is what can be foretold, from the kind and the state of its record; the bits below are
// noise. So each difference becomes a class of one byte, which a compressor codes, and its low bits as they
// are. Classes are grouped by kind and state of their records (their low bytes, which are decoded first, so
// that nothing need tell who belongs where), in the order of the records within a group.
//
// With threshold t and word w = (difference - base) >> shift: below 2^t the class is w and there are no low
// bits; from 2^t on, with e the highest bit of w, the class is 2^t + 2 (e - t) + (the bit below e), and the
// e - 1 bits below that follow. `shift` are the zero bits that all words end with: one where time never runs
// back (differences are zigzag), more where times lie on a grid.
//
// Thread safety: functions; each thread keeps some memory, of the size of its largest block. Cost: a few
// operations a record each way. Errors: false.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "raw_columns.h"

namespace margay::store {

// How the words of a block are told.
struct TimeCode {
  std::uint8_t threshold =
      0;                   // 1 to kMostThreshold; 0: as byte planes, for words that are too long for classes
  std::uint8_t shift = 0;  // 0 to 63
};
inline constexpr std::uint8_t kMostThreshold = 7;

// What groups the records: made from the lowest byte planes of their kind and state (null: all zero).
void time_groups(const char* kinds, const char* states, std::uint32_t count, std::vector<std::uint8_t>& out);

// Appends the classes, in groups, and then the low bits (in the order of the records, from the lowest bit of
// the first byte on) of the `count` words of `time`. `groups` is one byte a record. Appends to `ends` the
// places in `out` at which the statistics of the bytes change: ascending, the last is out's size. Returns the
// code; with threshold 0 nothing was appended.
TimeCode put_times(const RawColumns::Column& time, const std::vector<std::uint8_t>& groups, std::string& out,
                   std::vector<std::size_t>& ends);
// Writes the words, each of `width` bytes (1, 2, 4 or 8), to `to`. All of `body` must be used.
bool get_times_untrusted(std::string_view body, TimeCode code, std::uint8_t width,
                         const std::vector<std::uint8_t>& groups, char* to);

}  // namespace margay::store
