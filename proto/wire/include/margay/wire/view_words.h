// A view as people write it on a command line: LEVELS, or LEVELS@FILE where a level is "group", whose groups
// the file has (margay/model/view.h says what both are). Whether they make sense is for the daemon to say.
//
// Errors: kNotFound and kIo for the file, kLimit where it is longer than kLongestGroups. Thread safety:
// functions. Cost: reads the file.
#pragma once

#include <cstddef>
#include <string_view>

#include "margay/base/result.h"
#include "margay/wire/filter.pb.h"

namespace margay::wire {

inline constexpr std::size_t kLongestGroups = 64 << 10;  // bytes

Result<View> read_view(std::string_view words);

}  // namespace margay::wire
