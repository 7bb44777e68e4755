// How the measured plane of a slice column becomes bytes: chunks of the same leaves as the column's own
// (column_codec.h), beside them. Pure. FORMAT.md has the layout.
//
// A column without a plane has no such chunks. Thread safety: functions are safe. Cost: one pass over the
// cells and zstd level 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "margay/base/result.h"
#include "margay/model/slice_column.h"
#include "margay/store/records.h"

namespace margay::store {

// Chunk c of a plane is kept under this number and c: behind every chunk of cells that there can be, where a
// reader that does not know planes passes over it.
inline constexpr std::uint16_t kPlaneChunk = 0x8000;
inline constexpr bool is_plane(std::uint16_t chunk) {
  return (chunk & kPlaneChunk) != 0;
}

// Replaces `out` by chunk `chunk` of the plane. REQUIRES: a plane, and that the chunk exists.
Status encode_plane(const model::SliceColumn& column, std::uint32_t chunk, std::string& out);

// Adds chunk `chunk` of the plane to `column`, whose cells are all there; chunk 0 begins the plane. Not
// trusted: at most 1024 x 1024 cells are read. Errors: kCorrupt, kVersion.
Status decode_plane_untrusted(std::string_view bytes, std::uint32_t chunk, model::SliceColumn& column);

// Where a leaf stands. Errors of decoding: kCorrupt, kVersion.
std::string encode(const MeasureState& v);
Status decode_untrusted(std::string_view bytes, MeasureState& v);

}  // namespace margay::store
