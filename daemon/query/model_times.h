// Times of rows, as slices: which step they lie apart. Private to the folder. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model_scan.h"

namespace margay::daemon::internal {

// Seconds with a decimal point, or as floating-point numbers are written, in nanoseconds; digits beyond these
// are rounded. False: it is none, or beyond kMostModelSeconds.
bool read_seconds(std::string_view text, std::int64_t& ns);

struct TimeAtLine {
  std::int64_t ns = 0;
  std::uint64_t line = 0;
};

struct Steps {
  std::int64_t from = 0, to = 0;  // ns: of the first slice's begin, the last one's end
  std::uint64_t slices = 1;
  // Of a time that they were made of.
  std::int64_t slice_of(std::int64_t ns) const;
};

// As model_file.h has it. REQUIRES: there is a time. Errors: kInvalidArgument, at the line of the first time
// that is not regular; kLimit.
Result<Steps> regular_steps(std::vector<TimeAtLine> times, const Source& source);

}  // namespace margay::daemon::internal
