// Judges of terminal output that share nothing with the code under test: widths are the C library's.
#pragma once

#include <string>
#include <vector>

#include "margay/terminal/render.h"

namespace margay::support {

// $MARGAY_TEST_SEED or `usual`; printed.
unsigned seed(unsigned usual);
// Exactly view.height lines, none wider than view.width, no byte that a terminal obeys but SGR colours (none
// at all without colour).
void expect_frame(const std::vector<std::string>& lines, const terminal::View& view);
// Valid UTF-8, no control character but the line feed.
void expect_plain(const std::string& text);

}  // namespace margay::support
