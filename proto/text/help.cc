#include "margay/text/help.h"

#include <sstream>

namespace margay::text {
namespace {

constexpr std::size_t kIndent = 28;

}  // namespace

std::string help_row(std::string_view left, const std::string& meaning) {
  std::string out;
  std::string line = "  " + std::string(left);
  if (line.size() + 2 > kIndent) {
    out += line + "\n";
    line.clear();
  }
  line.resize(kIndent, ' ');
  std::istringstream words(meaning);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && line.size() + 1 + word.size() > kHelpWidth) {
      out += line + "\n";
      line.assign(kIndent, ' ');
      first = true;
    }
    line += (first ? "" : " ") + word;
  }
  return out + line + "\n";
}

}  // namespace margay::text
