// How many slices of a level become one value: what they have in common is told once. Pure.
//
// A slice of its own pays a key, a header and the tables of its compression for a few dozen cells. Joined,
// each number is coded by what the same cell was before and by how much it tends to change (range_coder.h),
// after the greatest common divisor of its kind is taken out, so that rounded cells cost what they tell and
// no more. Exact: any column comes back as it was. FORMAT.md has the layout.
//
// Thread safety: functions are safe. Cost: 0.5 to 1 us a non-empty cell each way; not for what must be quick.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/model/slice_column.h"

namespace margay::store {

// Bounds of what is joined and accepted. Larger columns have cells enough to pay for a value of their own.
inline constexpr std::size_t kMostJoinedSlices = 512;  // slices
inline constexpr std::uint32_t kMostJoinedLeaves = 1024;
inline constexpr std::size_t kMostJoinedCells = std::size_t{1} << 20;  // leaves x states, over all slices

// Replaces `out` by the columns, which are of one level and ascend. `slice` is the level's slice duration: it
// makes the bytes fewer, never wrong. Errors: kInvalidArgument (not ascending, or beyond the bounds);
// kLimit (a cell that no slicer makes, such as a negative duration: such a slice stays by itself).
Status encode_joined(const std::vector<model::SliceColumn>& columns, DurationNs slice, std::string& out);

// Replaces `columns`. `level` and `last`, the last of the slices, are from the key. The bytes are not
// trusted: at most kMostJoinedCells cells are allocated. Errors: kCorrupt, kVersion; `columns` then holds no
// promise.
Status decode_joined_untrusted(std::string_view bytes, LevelIndex level, SliceIndex last,
                               std::vector<model::SliceColumn>& columns);

}  // namespace margay::store
