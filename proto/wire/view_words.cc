#include "margay/wire/view_words.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

namespace margay::wire {

Result<View> read_view(std::string_view words) {
  View out;
  const std::size_t at = words.find('@');
  out.set_levels(std::string(words.substr(0, at)));
  if (at == std::string_view::npos) return out;
  const std::string path(words.substr(at + 1));
  const auto close = [](std::FILE* f) { static_cast<void>(std::fclose(f)); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (!file)
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, path + ": " + std::strerror(errno));
  std::string text(kLongestGroups + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return fail(ErrorCode::kIo, path + ": cannot be read");
  if (text.size() > kLongestGroups)
    return fail(ErrorCode::kLimit, path + ": longer than " + std::to_string(kLongestGroups) + " bytes");
  out.set_groups(std::move(text));
  return out;
}

}  // namespace margay::wire
