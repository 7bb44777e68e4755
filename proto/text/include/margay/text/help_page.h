// The page of help of a program whose arguments CLI11 reads: `margay` and each of its commands, the viewer,
// the node agent, the readers.
//
// Thread safety: none. Cost: none worth the name.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace margay::text {

// `app`'s description (what it does, examples), how it is called, and a line or more for each of its
// commands, arguments and flags, as margayd's own page has them (margay/text/help.h). Commands that are added
// to it later have such a page, too. An option's type_name is what stands for its value; its option_text, if
// it has one, stands for all that follows its name.
void use_help_page(CLI::App& app);

}  // namespace margay::text
