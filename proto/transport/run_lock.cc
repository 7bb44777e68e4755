#include "run_lock.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

namespace margay::transport::claim {
namespace {

namespace fs = std::filesystem;

std::mutex g_mutex;

// Of this process: what it holds.
std::map<std::string, int>& claims() {
  static std::map<std::string, int> all;
  return all;
}

std::string lock_file(const std::string& path) {
  return path + "/lock";
}
std::string owner_file(const std::string& path) {
  return path + "/owner.pid";
}

tl::unexpected<Error> io(const std::string& path) {
  return fail(ErrorCode::kIo, path + ": " + std::strerror(errno));
}

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

enum class Locked { kYes, kHeld, kNoLocks };
Locked lock(int fd) {
  struct flock l = whole_file(F_WRLCK);
  if (fcntl(fd, F_OFD_SETLK, &l) == 0) return Locked::kYes;
  return errno == EAGAIN || errno == EACCES ? Locked::kHeld : Locked::kNoLocks;
}

// Since when a process has been there, in ticks since the boot; 0 if it is not.
unsigned long long start_of(long pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int i = 3; i < 22; ++i) fields >> skipped;
  unsigned long long start = 0;
  return fields >> start ? start : 0;
}

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

struct Owner {
  long pid = 0;
  unsigned long long start = 0;
  std::string boot, since;
};
Owner owner_of(const std::string& path) {
  Owner o;
  std::ifstream file(owner_file(path));
  file >> o.pid >> o.start >> o.boot >> std::ws;
  std::getline(file, o.since);
  return o;
}

Status write_owner(const std::string& path) {
  char since[32] = "";
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S", &local);
  std::ofstream file(owner_file(path), std::ios::trunc);
  file << getpid() << '\n' << start_of(getpid()) << ' ' << boot_id() << '\n' << since << '\n';
  file.flush();
  if (!file) return io(owner_file(path));
  return {};
}

// Pid and start time, where no lock tells.
bool owner_lives(const std::string& path) {
  const Owner o = owner_of(path);
  if (o.pid <= 0 || (!o.boot.empty() && o.boot != boot_id())) return false;
  const unsigned long long start = start_of(o.pid);
  return start != 0 && (o.start == 0 || o.start == start);
}

// A process has its ring's file locked for as long as it lives, in whatever PID namespace.
bool is_locked(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return held;
}

// Rings are named after their process: p<pid>-<start time>-<PID namespace>.
bool a_ring_lives(const std::string& path) {
  std::error_code ec;
  for (fs::directory_iterator it(path + "/rings", ec), end; !ec && it != end; it.increment(ec)) {
    long pid = 0;
    unsigned long long start = 0;
    if (std::sscanf(it->path().filename().c_str(), "p%ld-%llu", &pid, &start) == 2 &&
        ((start_of(pid) == start && start != 0) || is_locked(it->path())))
      return true;
  }
  return false;
}

// The lock of what is there, held by this description from now on. -1: another has it, or there is nothing.
int lock_of_what_is_there(const std::string& path) {
  const std::string file = lock_file(path);
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return -1;
  struct stat ours {
  }, there{};
  const Locked locked = lock(fd);
  if (locked == Locked::kHeld || (locked == Locked::kNoLocks && owner_lives(path)) || fstat(fd, &ours) != 0 ||
      lstat(file.c_str(), &there) != 0 || ours.st_ino != there.st_ino) {  // somebody cleared it meanwhile
    close(fd);
    return -1;
  }
  return fd;
}

std::string aside(const std::string& path, const char* what) {
  static std::atomic<unsigned> count{0};
  const std::size_t slash = path.rfind('/');
  return path.substr(0, slash) + "/." + what + "-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

}  // namespace

Hold look(const std::string& path) {
  {
    const std::lock_guard guard(g_mutex);
    if (claims().contains(path)) return Hold::kThisOne;
  }
  const int fd = open(lock_file(path).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  // An older Margay has no lock.
  if (fd < 0) return owner_lives(path) ? Hold::kOthers : Hold::kNobody;
  struct flock l = whole_file(F_WRLCK);
  const bool asked = fcntl(fd, F_OFD_GETLK, &l) == 0;
  close(fd);
  if (!asked) return owner_lives(path) ? Hold::kOthers : Hold::kNobody;
  return l.l_type == F_UNLCK ? Hold::kNobody : Hold::kOthers;
}

std::string holder(const std::string& path) {
  const Owner o = owner_of(path);
  if (o.pid <= 0) return "another process";
  return "process " + std::to_string(o.pid) + (o.since.empty() ? "" : ", since " + o.since);
}

Status make(const std::string& path) {
  struct stat st {};
  if (lstat(path.c_str(), &st) == 0) return fail(ErrorCode::kUnavailable, path + ": is there already");
  const std::string fresh = aside(path, "new");
  std::error_code ec;
  fs::remove_all(fresh, ec);  // of a process that had our number
  const auto give_up_on = [&](int fd) {
    const int error = errno;
    if (fd >= 0) close(fd);
    fs::remove_all(fresh, ec);
    errno = error;
  };
  if (mkdir(fresh.c_str(), 0700) != 0) return io(path);
  const int fd = open(lock_file(fresh).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || mkdir((fresh + "/rings").c_str(), 0700) != 0) {
    give_up_on(fd);
    return io(path);
  }
  static_cast<void>(lock(fd));  // nobody else knows it yet
  if (auto ok = write_owner(fresh); !ok) {
    give_up_on(fd);
    return ok;
  }
  const std::lock_guard guard(g_mutex);
  if (rename(fresh.c_str(), path.c_str()) != 0) {
    give_up_on(fd);
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
      return fail(ErrorCode::kUnavailable, path + ": is there already");
    return io(path);
  }
  if (const auto [it, added] = claims().emplace(path, fd); !added) {
    close(it->second);  // of one that somebody took away
    it->second = fd;
  }
  return {};
}

Status take_over(const std::string& path) {
  const std::lock_guard guard(g_mutex);
  if (claims().contains(path)) return {};
  struct stat st {};
  if (lstat(path.c_str(), &st) != 0) return fail(ErrorCode::kNotFound, path + ": " + std::strerror(errno));
  const int fd = lock_of_what_is_there(path);
  if (fd < 0) return fail(ErrorCode::kUnavailable, path + ": is in use by " + holder(path));
  if (auto ok = write_owner(path); !ok) {
    close(fd);
    return ok;
  }
  if (mkdir((path + "/rings").c_str(), 0700) != 0 && errno != EEXIST) {
    close(fd);
    return io(path + "/rings");
  }
  claims()[path] = fd;
  return {};
}

bool clear(const std::string& path) {
  {
    const std::lock_guard guard(g_mutex);
    if (claims().contains(path)) return false;
  }
  struct stat st {};
  if (lstat(path.c_str(), &st) != 0) return true;
  if (look(path) != Hold::kNobody || a_ring_lives(path)) return false;
  const int fd = lock_of_what_is_there(path);
  if (fd < 0) return false;
  const std::string old = aside(path, "old");
  const bool moved = rename(path.c_str(), old.c_str()) == 0;
  close(fd);
  std::error_code ec;
  if (moved) fs::remove_all(old, ec);
  return moved;
}

int descriptor(const std::string& path) {
  const std::lock_guard guard(g_mutex);
  const auto it = claims().find(path);
  return it == claims().end() ? -1 : it->second;
}

void give_up(const std::string& path) {
  const std::lock_guard guard(g_mutex);
  const auto it = claims().find(path);
  if (it == claims().end()) return;
  close(it->second);
  claims().erase(it);
}

}  // namespace margay::transport::claim
