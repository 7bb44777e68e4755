// How a page of help lists what a command takes: margayd's, margay's and the viewer's pages look the same.
//
// Thread safety: a function of its arguments. Cost: linear in the text.
#pragma once

#include <string>
#include <string_view>

namespace margay::text {

// The widest line, in columns. Pages have at most 50 lines (tests/checks/help).
inline constexpr std::size_t kHelpWidth = 100;

// "--slice DURATION" and what it means, ending in a newline: beside it, in lines of at most kHelpWidth
// columns; below it where `left` is long. Blanks and newlines in `meaning` are places where a line may end.
std::string help_row(std::string_view left, const std::string& meaning);

}  // namespace margay::text
