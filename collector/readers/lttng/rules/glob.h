// Patterns of events: those of names (margay/base/glob.h), with groups.
//
// Thread safety: pure functions. Cost: linear in the product of the lengths, at worst; no recursion.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace margay::lttng_rules {

// A pattern of events may have groups as well, "syscall_entry_(read|write)": one of the alternatives, which
// are literal. The captures are what each `*` stands for, as short as it can be (the first before the
// second), and the alternative of each group, in the order of the pattern. Nothing where it does not match.
std::optional<std::vector<std::string>> event_match(std::string_view pattern, std::string_view text);

// Stars and groups. Nothing: the pattern's groups cannot be (not closed, nested, more than 8, with a star, or
// empty), or it is of more than 256 combinations.
std::optional<std::size_t> event_captures(std::string_view pattern);

// The pattern as what has only `*` understands it: a pattern for each combination of alternatives.
// REQUIRES: event_captures(pattern).
std::vector<std::string> event_expanded(std::string_view pattern);

}  // namespace margay::lttng_rules
