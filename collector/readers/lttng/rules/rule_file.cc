#include <cerrno>
#include <cstring>
#include <fstream>

#include "margay/base/text.h"
#include "margay/lttng_rules/rule_set.h"

namespace margay::lttng_rules {

Result<RuleSet> RuleSet::load(const std::string& path) {
  const std::string shown = clean_utf8(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    const int error = errno;
    return fail(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, shown + ": " + std::strerror(error));
  }
  std::string text(kLargestText + 1, '\0');  // one more than is taken
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return fail(ErrorCode::kIo, shown + ": cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parse(text, path);
}

}  // namespace margay::lttng_rules
