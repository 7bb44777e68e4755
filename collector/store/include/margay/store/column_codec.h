// How a slice column becomes bytes: chunks of up to 1024 leaves, exact to the nanosecond. Pure.
//
// A cell (leaf, state) that is all zero costs one bit before compression. What the slice itself tells is not
// stored: one duration per leaf follows from the slice's length, and the longest visit mostly equals the
// duration or reaches back to the begin of the open visit. These are predictions, their differences are
// stored, so that any value comes back exactly, also in a slice that is still open. FORMAT.md has the layout.
//
// Thread safety: functions are safe. Cost: one pass over the cells and zstd level 1; about 0.2 ms for 700x8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "margay/base/result.h"
#include "margay/model/slice_column.h"

namespace margay::store {

inline constexpr std::uint32_t kChunkLeaves = 1024;
// Bounds of what is written and accepted.
inline constexpr std::uint32_t kMostLeaves = 1u << 20;
inline constexpr std::uint32_t kMostColumnStates = 1024;

// Number of chunks of a column: at least one, so that a slice without leaves exists as well.
std::uint32_t chunk_count(std::uint32_t leaves);

// Replaces `out` by chunk `chunk` (leaves [1024 * chunk, 1024 * (chunk + 1)) of the column). `slice` is the
// level's slice duration: it makes the bytes fewer, never wrong; 0 where it is not known.
// Errors: kInvalidArgument (no such chunk; more leaves, states or a higher state id than the bounds).
Status encode_chunk(const model::SliceColumn& column, std::uint32_t chunk, DurationNs slice,
                    std::string& out);

// Adds chunk `chunk` to `column`: chunk 0 resets lost_events, provisional and the cells (level and index are
// the caller's, from the key), the next ones add their leaves. Returns how many leaves the whole column has.
// The bytes are not trusted: at most 1024 x 1024 cells are allocated, whatever they say.
// Errors: kCorrupt, kVersion. On an error `column` holds no promise.
Result<std::uint32_t> decode_chunk_untrusted(std::string_view bytes, std::uint32_t chunk,
                                             model::SliceColumn& column);

}  // namespace margay::store
