// The source tree as the layering rules see it: paths and texts. No rule is in here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace margay::layering {

// Text by path relative to the root, with '/'; sorted, so that findings come in the same order everywhere.
using Tree = std::map<std::string, std::string>;

// All sources (.h .cc .c .def .py .proto) and CMakeLists.txt below the given folders. A folder that is not
// there adds nothing.
Tree load_tree(const std::string& root, const std::vector<std::string>& folders);

// The text with comments and the contents of string literals blanked, line by line as it was.
std::string code_only(std::string_view text);

struct Include {
  std::string name;  // as written, without delimiters
  bool angled = false;
  int line = 0;  // from 1
};
std::vector<Include> includes_of(std::string_view text);

// A CMake command's words, comments left out: {"target_link_libraries", "margay", "PRIVATE", ...}.
struct Command {
  std::vector<std::string> words;
  int line = 0;
};
std::vector<Command> commands_of(std::string_view cmake);

std::string folder_of(std::string_view path);
bool is_below(std::string_view path, std::string_view folder);  // folder itself counts

}  // namespace margay::layering
