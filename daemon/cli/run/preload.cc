#include "preload.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace margay::daemon {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFolder = "beside-libasan.so";  // in the build tree and in installations as well
constexpr const char* kEndAnEntry = " \t\n:";
constexpr const char* kTrouble = " \t\n:$";
constexpr std::string_view kOurs = "libmargay-annotate-lttng.so";

bool can_be_preloaded(const std::string& path) {
  return path.find_first_of(kTrouble) == std::string::npos;
}

}  // namespace

Result<Preload> Preload::prepare(const std::string& probe, const std::string& run_directory) {
  const fs::path file(probe);
  const std::string name = file.filename().string();
  Preload found;
  found.path_ = (file.parent_path() / kFolder / name).string();
  std::error_code ec;
  if (can_be_preloaded(found.path_) && fs::exists(found.path_, ec)) return found;

  std::string base = run_directory;
  if (!can_be_preloaded(base)) {
    char place[] = "/tmp/margay-probe-XXXXXX";
    if (mkdtemp(place) == nullptr)
      return fail(ErrorCode::kIo, std::string(place) + ": " + std::strerror(errno));
    base = place;
    found.made_.push_back(base);
  }
  const std::string folder = base + "/" + kFolder;
  found.path_ = folder + "/" + name;
  if (mkdir(folder.c_str(), 0700) == 0)
    found.made_.push_back(folder);
  else if (errno != EEXIST)
    return fail(ErrorCode::kIo, folder + ": " + std::strerror(errno));
  if (symlink(probe.c_str(), found.path_.c_str()) == 0)
    found.made_.push_back(found.path_);
  else if (errno != EEXIST || fs::read_symlink(found.path_, ec) != file)
    return fail(ErrorCode::kIo, found.path_ + ": " + std::strerror(errno));
  return found;
}

Preload::Preload(Preload&& other) noexcept
    : path_(std::move(other.path_)), made_(std::exchange(other.made_, {})) {}

Preload& Preload::operator=(Preload&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(made_, other.made_);
  return *this;
}

Preload::~Preload() {
  for (auto it = made_.rbegin(); it != made_.rend(); ++it) ::remove(it->c_str());
}

std::string preload_list(const char* before, const std::string& probe,
                         const std::vector<std::string>& after) {
  std::vector<std::string> front, back{probe};
  const std::string_view all = before == nullptr ? "" : before;
  for (std::size_t at = all.find_first_not_of(kEndAnEntry); at != std::string_view::npos;) {
    const std::size_t end = std::min(all.find_first_of(kEndAnEntry, at), all.size());
    const std::string_view entry = all.substr(at, end - at);
    (entry.ends_with(kOurs) ? back : front).emplace_back(entry);
    at = all.find_first_not_of(kEndAnEntry, end);
  }
  back.insert(back.end(), after.begin(), after.end());
  front.insert(front.end(), back.begin(), back.end());
  std::string list;
  for (const std::string& entry : front) list += (list.empty() ? "" : ":") + entry;
  return list;
}

}  // namespace margay::daemon
