#include "run_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "closing.h"
#include "margay/transport/run_claim.h"

namespace margay::daemon {
namespace {

namespace fs = std::filesystem;
constexpr unsigned kMostNames = 1000;

// The directory is made here, so that two runs cannot both have it. False, and `why`: it is another run's.
bool claim_archive(const std::string& asked, RunPlace& place, std::string& why) {
  std::error_code ec;
  if (asked.empty()) {
    place.archive = fs::absolute("margay-" + place.run, ec).string();
    place.archive_made = mkdir(place.archive.c_str(), 0700) == 0;
    if (place.archive_made || errno != EEXIST) return true;  // the daemon says why
    if (why.empty()) why = place.archive + ": holds another run";
    return false;
  }
  const std::string wanted = fs::absolute(asked, ec).lexically_normal().string();
  for (unsigned n = 1; n <= kMostNames; ++n) {
    place.archive =
        n == 1 ? wanted : fs::path(wanted + "/.").parent_path().string() + "-" + std::to_string(n);
    if (!fs::exists(place.archive + "/MARGAY", ec)) break;
  }
  if (place.archive != wanted) say(wanted + ": holds another run; this run's archive is " + place.archive);
  return true;
}

}  // namespace

void RunPlace::give_up() const {
  transport::remove_run_directory(directory);
  if (archive_made) rmdir(archive.c_str());  // where it is still empty
}

// One name, one run: whoever comes second is called NAME-2. So is the archive.
std::optional<RunPlace> claim_place(const RunRequest& request) {
  transport::clear_stale_runs();  // it may be what shared memory is full of
  const std::string wanted = request.name.empty() ? make_run_name() : request.name;
  std::string why;
  for (unsigned n = 1; n <= kMostNames; ++n) {
    RunPlace place;
    place.run = wanted + (n == 1 ? "" : "-" + std::to_string(n));
    auto directory = transport::new_run_directory(place.run);
    if (!directory && directory.error().code == ErrorCode::kUnavailable) {
      if (why.empty()) why = directory.error().message;
      continue;
    }
    if (!directory) {
      say(directory.error().message + "; the job runs without Margay");
      return std::nullopt;
    }
    place.directory = *directory;
    if (!claim_archive(request.flags.archive, place, why)) {
      transport::remove_run_directory(place.directory);
      continue;
    }
    if (n > 1) say(why + "; this run is '" + place.run + "'");
    place.inode = inode_of(place.directory.path);
    return place;
  }
  say(why + ", and so are " + std::to_string(kMostNames) + " more; the job runs without Margay");
  return std::nullopt;
}

ino_t inode_of(const std::string& path) {
  struct stat st {};
  return lstat(path.c_str(), &st) == 0 ? st.st_ino : 0;
}

char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= text.size() ? '?' : text[name_end + 2];
}

}  // namespace margay::daemon
