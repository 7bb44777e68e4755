// zstd with bounds: a frame carries a checksum, and is expanded only into exactly the size its reader
// expects.
//
// Thread safety: functions are safe; each thread keeps one context. Cost: about 1 GB/s each way at level 1.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "margay/base/result.h"

namespace margay::store {

// Appends one frame to `out`. Errors: kInternal (no memory).
Status compress(std::string_view bytes, std::string& out);
// The same for bytes in parts, which come back as one. What differs between parts in how often bytes occur is
// coded part by part: planes of a column together cost more than each by itself. Some 5 bytes a part.
Status compress(std::span<const std::string_view> parts, std::string& out);
// Appends a frame of bytes that are known not to shrink: it is little more than a copy with a checksum.
Status seal(std::string_view bytes, std::string& out);
// Replaces `out` by the `size` bytes of so many frames, one behind the other. Errors: kCorrupt (also when the
// frames hold another size, and when there are more or fewer).
Status expand_untrusted(std::string_view frames, std::size_t size, std::string& out, unsigned count = 1);

}  // namespace margay::store
