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
// Replaces `out` by the `size` bytes of the frame. Errors: kCorrupt (also when the frame holds another size).
Status expand_untrusted(std::string_view frame, std::size_t size, std::string& out);

}  // namespace margay::store
