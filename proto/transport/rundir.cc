#include "margay/transport/rundir.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "margay/transport/local_user.h"
#include "trusted_path.h"

#include "margay/transport/run_claim.h"
#include "run_lock.h"

namespace margay::transport {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kLongestSocketPath = 107;
constexpr const char* kMemory = "/dev/shm";

uid_t g_looked_at = static_cast<uid_t>(-1);  // not told: ourselves

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}
std::string usual_name(uid_t uid) {
  return "margay-" + std::to_string(uid);
}

struct CloseDirectory {
  void operator()(DIR* d) const { closedir(d); }
};
// Calls `f` with each name in an open directory, which stays open.
template <class F>
void each_name(int directory, F f) {
  const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  const std::unique_ptr<DIR, CloseDirectory> handle(fdopendir(fd));
  if (!handle) {
    close(fd);
    return;
  }
  while (const dirent* entry = readdir(handle.get()))
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) f(entry->d_name);
}

// 0700 and ours; made where nothing is there.
Status make_private(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(ErrorCode::kIo, path + ": cannot be made: " + std::strerror(errno));
  const auto fd = open_private_directory(path, geteuid());
  if (!fd) return tl::unexpected(fd.error());
  return {};
}

bool is_name(const std::string& run) {
  return !run.empty() && run.size() <= NAME_MAX && run != "." && run != ".." &&
         std::none_of(run.begin(), run.end(),
                      [](unsigned char c) { return c == '/' || c < 0x20 || c == 0x7f; });
}

// Those of `uid` in shared memory under names that nobody could have taken before.
std::vector<std::string> other_names(uid_t uid) {
  std::vector<std::string> found;
  const Descriptor memory(open(kMemory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!memory) return found;
  const std::string begin = usual_name(uid) + ".";
  each_name(memory.get(), [&](const std::string& name) {
    const std::string path = std::string(kMemory) + "/" + name;
    if (name.starts_with(begin) && open_private_directory_at(memory.get(), name, uid, path))
      found.push_back(path);
  });
  std::sort(found.begin(), found.end());
  return found;
}

// In memory that the job and its containers see. Made where it is missing.
Result<std::string> memory_directory() {
  const uid_t uid = geteuid();
  std::string path = std::string(kMemory) + "/" + usual_name(uid);
  Status made = make_private(path);
  if (made) return path;
  struct stat st {};
  const bool squatted = lstat(path.c_str(), &st) == 0 && st.st_uid != uid;
  if (!squatted)  // ours, and wrong; or no place at all
    return fail(made.error().code, made.error().message + "; or set MARGAY_RUNTIME_DIR");
  if (auto others = other_names(uid); !others.empty()) return others.front();
  path += ".XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return fail(ErrorCode::kIo,
                path + ": cannot be made: " + std::strerror(errno) + "; set MARGAY_RUNTIME_DIR");
  return path;
}

// Where runs of `uid` may be, best first. None of it need be there, or theirs.
std::vector<std::string> places_of(uid_t uid) {
  if (const std::string base = variable("MARGAY_RUNTIME_DIR"); !base.empty())
    return {base + "/" + usual_name(uid)};
  std::vector<std::string> places;
  if (const std::string base = variable("XDG_RUNTIME_DIR"); !base.empty() && uid == geteuid())
    places.push_back(base + "/margay");
  if (std::string usual = "/run/user/" + std::to_string(uid) + "/margay";
      places.empty() || places.front() != usual)
    places.push_back(std::move(usual));
  places.push_back(std::string(kMemory) + "/" + usual_name(uid));
  for (std::string& other : other_names(uid)) places.push_back(std::move(other));
  return places;
}

// With what lies above it, so that nobody can put another in its place: what the user chose is looked at from
// / down, a session's directory is private itself, /dev/shm is the system's.
Result<Descriptor> open_place(const std::string& place, uid_t uid) {
  const std::string above = place.substr(0, place.rfind('/'));
  if (above == variable("MARGAY_RUNTIME_DIR")) {
    if (auto chosen = open_trusted(above, O_PATH | O_DIRECTORY, uid); !chosen) return chosen;
  } else if (place.ends_with("/margay")) {
    if (auto session = open_private_directory(above, uid); !session) return session;
  }
  return open_private_directory(place, uid);
}

Result<RunDirectory> find_run(const std::string& run, uid_t uid) {
  const auto places = places_of(uid);
  std::string looked;
  for (const std::string& place : places) {
    looked += (looked.empty() ? "" : ", ") + place;
    const auto base = open_place(place, uid);
    if (!base) {
      if (base.error().code == ErrorCode::kNotFound || places.size() > 1) continue;
      return tl::unexpected(base.error());
    }
    const RunDirectory dir{place + "/" + run};
    const auto found = open_private_directory_at(base->get(), run, uid, dir.path);
    if (found) return dir;
    if (found.error().code != ErrorCode::kNotFound) return tl::unexpected(found.error());
  }
  return fail(ErrorCode::kNotFound, "no run '" + run + "' is live (looked in " + looked + ")");
}

// Of what is in the user's directories of runs, what is a private directory of theirs: visit(place, name).
template <class Visit>
void each_directory(uid_t uid, Visit&& visit) {
  for (const std::string& place : places_of(uid)) {
    const auto base = open_place(place, uid);
    if (!base) continue;
    each_name(base->get(), [&](const std::string& name) {
      if (open_private_directory_at(base->get(), name, uid, place + "/" + name)) visit(place, name);
    });
  }
}

bool fits(const std::string& place, const std::string& run) {
  return place.size() + 1 + run.size() + sizeof("/control.ipc") <= kLongestSocketPath;
}

// What a run of this name that has gone (with a session's XDG_RUNTIME_DIR) may have left is not this one's.
Status make_rings(const RunDirectory& dir, const std::string& run) {
  const std::string place = dir.path.substr(0, dir.path.rfind('/'));
  const bool elsewhere = place.ends_with("/margay") && variable("MARGAY_RUNTIME_DIR").empty();
  struct stat st {};
  if (lstat(dir.rings().c_str(), &st) == 0) {
    // A new directory's is made with it, and empty.
    if (!S_ISLNK(st.st_mode) && (!elsewhere || rmdir(dir.rings().c_str()) != 0))
      return make_private(dir.rings());
    if (S_ISLNK(st.st_mode)) {
      for (const std::string& path : {shared_memory_of(dir), shared_memory_of(dir) + "/rings"})
        if (auto ok = make_private(path); !ok) return ok;
      return {};
    }
  }
  const auto memory = elsewhere ? memory_directory() : Result<std::string>(place);
  if (!memory || *memory == place) return make_private(dir.rings());
  std::error_code ec;
  const std::string own = *memory + "/." + run;
  const Descriptor agent(open((own + "/rings/.agent").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (agent && flock(agent.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorCode::kUnavailable, own + ": an agent is at work there; give the run another name");
  fs::remove_all(own, ec);
  for (const std::string& path : {own, own + "/rings"})
    if (auto ok = make_private(path); !ok) return ok;
  if (symlink((own + "/rings").c_str(), dir.rings().c_str()) != 0)
    return fail(ErrorCode::kIo, dir.rings() + ": cannot be made: " + std::strerror(errno));
  return {};
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

std::string shared_memory_of(const RunDirectory& dir) {
  std::error_code ec;
  const fs::path target = fs::read_symlink(dir.rings(), ec);
  return ec || !target.is_absolute() ? dir.path : target.parent_path().string();
}

uid_t trusted_user() {
  return g_looked_at == static_cast<uid_t>(-1) ? geteuid() : g_looked_at;
}

Status look_at_runs_of(const std::string& user) {
  unsigned long number = 0;
  const char* end = user.data() + user.size();
  const auto r = std::from_chars(user.data(), end, number);
  passwd entry{};
  passwd* found = nullptr;
  char text[4096];
  if (getpwnam_r(user.c_str(), &entry, text, sizeof text, &found) == 0 && found != nullptr)
    g_looked_at = found->pw_uid;
  else if (r.ec == std::errc() && r.ptr == end && number < static_cast<uid_t>(-1))
    g_looked_at = static_cast<uid_t>(number);
  else
    return fail(ErrorCode::kNotFound, "'" + user + "' is no user of this machine");
  return {};
}

Result<std::string> user_directory() {
  if (const std::string base = variable("MARGAY_RUNTIME_DIR"); !base.empty()) {
    std::string path = base + "/" + usual_name(geteuid());
    if (auto chosen = open_trusted(base, O_PATH | O_DIRECTORY, geteuid()); !chosen)
      return fail(chosen.error(), "MARGAY_RUNTIME_DIR");
    if (auto ok = make_private(path); !ok)
      return fail(ok.error().code, ok.error().message + "; or set MARGAY_RUNTIME_DIR to another place");
    return path;
  }
  if (const std::string base = variable("XDG_RUNTIME_DIR");
      !base.empty() && open_private_directory(base, geteuid())) {
    std::string path = base + "/margay";
    if (make_private(path)) return path;
  }
  return memory_directory();
}

namespace {

Result<RunDirectory> place_of(const std::string& run) {
  if (!is_name(run)) return fail(ErrorCode::kInvalidArgument, "'" + run + "' is not the name of a run");
  // The owner's has been made when the daemon makes it again.
  auto there = find_run(run, geteuid());
  if (there || there.error().code != ErrorCode::kNotFound) return there;
  auto base = user_directory();
  if (!base) return tl::unexpected(base.error());
  // A session's directory may have a name as long as it likes.
  if (!fits(*base, run) && variable("MARGAY_RUNTIME_DIR").empty()) base = memory_directory();
  if (!base) return tl::unexpected(base.error());
  RunDirectory dir{*base + "/" + run};
  if (!fits(*base, run))
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
    if (auto ok = make_rings(*dir, run); !ok) return tl::unexpected(ok.error());
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
  if (auto ok = make_rings(*dir, run); !ok) return tl::unexpected(ok.error());
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
  std::vector<std::string> found;
  each_directory(geteuid(), [&](const std::string& place, const std::string& name) {
    if (is_run(name)) found.push_back(place + "/" + name);
  });
  for (const std::string& path : found) {
    const fs::path memory = shared_memory_of(RunDirectory{path});
    if (claim::look(path) != claim::Hold::kNobody || !claim::clear(path)) continue;
    ++cleared;
    std::error_code ec;
    if (memory != path && memory.filename() == "." + fs::path(path).filename().string())
      fs::remove_all(memory, ec);
  }
  return cleared;
}

Result<RunDirectory> open_run_directory(const std::string& run) {
  if (!is_name(run)) return fail(ErrorCode::kInvalidArgument, "'" + run + "' is not the name of a run");
  return find_run(run, trusted_user());
}

Status check_run_directory(const RunDirectory& dir) {
  struct stat st {};
  if (stat(dir.path.c_str(), &st) != 0)
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                dir.path + ": " + std::strerror(errno));
  if (st.st_uid != trusted_user())
    return fail(ErrorCode::kInvalidArgument, dir.path + ": belongs to user " + user_text(st.st_uid) +
                                                 ", not " + user_text(trusted_user()));
  if ((st.st_mode & 022) != 0)
    return fail(ErrorCode::kInvalidArgument,
                dir.path + ": others can write it; type: chmod go-w " + dir.path);
  return {};
}

std::vector<std::string> list_runs() {
  std::vector<std::pair<fs::file_time_type, std::string>> live;
  each_directory(trusted_user(), [&](const std::string& place, const std::string& name) {
    const RunDirectory dir{place + "/" + name};
    std::error_code none;
    if (name[0] != '.' && is_name(name) && is_live(dir))
      live.emplace_back(fs::last_write_time(dir.owner_file(), none), name);
  });
  std::sort(live.rbegin(), live.rend());
  std::vector<std::string> runs;
  for (auto& [since, name] : live)
    if (std::find(runs.begin(), runs.end(), name) == runs.end()) runs.push_back(std::move(name));
  return runs;
}

void remove_run_directory(const RunDirectory& dir) {
  std::error_code ec;
  // The link lies in a directory of ours; the name is looked at all the same, for what is removed is all of
  // it.
  const fs::path memory = shared_memory_of(dir);
  if (memory != dir.path && memory.filename() == "." + fs::path(dir.path).filename().string())
    fs::remove_all(memory, ec);
  fs::remove_all(dir.path, ec);
  claim::give_up(dir.path);  // after that: nobody is to take over half of it
}

}  // namespace margay::transport
