#include "margay/transport/rundir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace margay::transport {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kLongestSocketPath = 107;

std::string user_directory_path() {
  const char* base = std::getenv("MARGAY_RUNTIME_DIR");
  return std::string(base != nullptr && *base != '\0' ? base : "/dev/shm") + "/margay-" +
         std::to_string(geteuid());
}

Status make_private(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(ErrorCode::kIo, path + ": cannot be made: " + std::strerror(errno));
  struct stat st {};
  if (lstat(path.c_str(), &st) != 0) return fail(ErrorCode::kIo, path + ": " + std::strerror(errno));
  if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
    return fail(ErrorCode::kIo,
                path + ": is not a directory that only you can enter; remove it or set MARGAY_RUNTIME_DIR");
  return {};
}

bool is_name(const std::string& run) {
  return !run.empty() && run.find('/') == std::string::npos && run != "." && run != "..";
}

}  // namespace

Result<std::string> user_directory() {
  const std::string path = user_directory_path();
  if (auto ok = make_private(path); !ok) return tl::unexpected(ok.error());
  return path;
}

Result<RunDirectory> make_run_directory(const std::string& run) {
  if (!is_name(run)) return fail(ErrorCode::kInvalidArgument, "'" + run + "' is not the name of a run");
  auto base = user_directory();
  if (!base) return tl::unexpected(base.error());
  RunDirectory dir{*base + "/" + run};
  if (dir.path.size() + sizeof("/control.ipc") > kLongestSocketPath)
    return fail(ErrorCode::kInvalidArgument,
                dir.path + ": too long for a socket; set MARGAY_RUNTIME_DIR to something shorter");
  if (auto ok = make_private(dir.path); !ok) return tl::unexpected(ok.error());
  if (auto ok = make_private(dir.rings()); !ok) return tl::unexpected(ok.error());
  return dir;
}

Result<RunDirectory> open_run_directory(const std::string& run) {
  if (!is_name(run)) return fail(ErrorCode::kInvalidArgument, "'" + run + "' is not the name of a run");
  RunDirectory dir{user_directory_path() + "/" + run};
  std::error_code ec;
  if (!fs::is_directory(dir.path, ec))
    return fail(ErrorCode::kNotFound,
                "no run '" + run + "' is live (looked in " + user_directory_path() + ")");
  return dir;
}

std::vector<std::string> list_runs() {
  std::vector<std::string> runs;
  std::error_code ec;
  for (fs::directory_iterator it(user_directory_path(), ec), end; !ec && it != end; it.increment(ec))
    if (it->is_directory(ec) && it->path().filename().string()[0] != '.')
      runs.push_back(it->path().filename().string());
  std::sort(runs.rbegin(), runs.rend());
  return runs;
}

void remove_run_directory(const RunDirectory& dir) {
  std::error_code ec;
  fs::remove_all(dir.path, ec);
}

}  // namespace margay::transport
