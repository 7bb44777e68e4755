#include "margay/transport/rundir.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "margay/transport/run_claim.h"
#include "run_lock.h"

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

// Of what lies in the user's directory: a run, or what a process that was killed was about to make or take
// away. Other names with a dot are somebody's own.
bool is_run(const std::string& name) {
  long pid = 0;
  if (std::sscanf(name.c_str(), ".new-%ld-", &pid) == 1 || std::sscanf(name.c_str(), ".old-%ld-", &pid) == 1)
    return pid > 0 && kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
  return name[0] != '.';
}

}  // namespace

Result<std::string> user_directory() {
  const std::string path = user_directory_path();
  if (auto ok = make_private(path); !ok) return tl::unexpected(ok.error());
  return path;
}

namespace {

Result<RunDirectory> place_of(const std::string& run) {
  if (!is_name(run)) return fail(ErrorCode::kInvalidArgument, "'" + run + "' is not the name of a run");
  auto base = user_directory();
  if (!base) return tl::unexpected(base.error());
  RunDirectory dir{*base + "/" + run};
  if (dir.path.size() + sizeof("/control.ipc") > kLongestSocketPath)
    return fail(ErrorCode::kInvalidArgument,
                dir.path + ": too long for a socket; set MARGAY_RUNTIME_DIR to something shorter");
  return dir;
}

}  // namespace

Result<RunDirectory> make_run_directory(const std::string& run) {
  auto dir = place_of(run);
  if (!dir) return dir;
  for (int tries = 0;; ++tries) {
    auto made = claim::make(dir->path);
    if (!made && made.error().code == ErrorCode::kUnavailable) {
      if (auto ok = make_private(dir->path); !ok) return tl::unexpected(ok.error());
      made = claim::take_over(dir->path);
      // It was taken away between the two.
      if (!made && made.error().code == ErrorCode::kNotFound && tries < 3) continue;
    }
    if (!made) return tl::unexpected(made.error());
    if (auto ok = make_private(dir->rings()); !ok) return tl::unexpected(ok.error());
    return dir;
  }
}

Result<RunDirectory> new_run_directory(const std::string& run) {
  auto dir = place_of(run);
  if (!dir) return dir;
  auto made = claim::make(dir->path);
  if (!made && made.error().code == ErrorCode::kUnavailable) {
    const std::string who = claim::holder(dir->path);
    if (claim::clear(dir->path)) made = claim::make(dir->path);
    if (!made && made.error().code == ErrorCode::kUnavailable)
      return fail(ErrorCode::kUnavailable, "the name '" + run + "' is taken (" + who + ")");
  }
  if (!made) return tl::unexpected(made.error());
  return dir;
}

int claim_of(const RunDirectory& dir) {
  return claim::descriptor(dir.path);
}

bool is_live(const RunDirectory& dir) {
  return claim::look(dir.path) != claim::Hold::kNobody;
}

std::size_t clear_stale_runs() {
  std::size_t cleared = 0;
  std::error_code ec;
  std::vector<std::string> found;
  for (fs::directory_iterator it(user_directory_path(), ec), end; !ec && it != end; it.increment(ec))
    if (it->is_directory(ec) && is_run(it->path().filename())) found.push_back(it->path());
  for (const std::string& path : found)
    if (claim::look(path) == claim::Hold::kNobody && claim::clear(path)) ++cleared;
  return cleared;
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
  std::vector<std::pair<fs::file_time_type, std::string>> live;
  std::error_code ec;
  for (fs::directory_iterator it(user_directory_path(), ec), end; !ec && it != end; it.increment(ec)) {
    const RunDirectory dir{it->path()};
    std::string name = it->path().filename();
    std::error_code none;
    if (name[0] != '.' && it->is_directory(none) && is_live(dir))
      live.emplace_back(fs::last_write_time(dir.owner_file(), none), std::move(name));
  }
  std::sort(live.rbegin(), live.rend());
  std::vector<std::string> runs;
  for (auto& [since, name] : live) runs.push_back(std::move(name));
  return runs;
}

void remove_run_directory(const RunDirectory& dir) {
  std::error_code ec;
  fs::remove_all(dir.path, ec);
  claim::give_up(dir.path);  // after that: nobody is to take over half of it
}

}  // namespace margay::transport
