#include "process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "margay/base/text.h"

namespace margay::lttng {
namespace {

bool may_run(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// Ours without what would make the daemons others than they are to be, or instrument themselves.
std::vector<std::string> environment_for(const std::string& home) {
  std::vector<std::string> out;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view entry = *e;
    if (!entry.starts_with("LD_PRELOAD=") && !entry.starts_with("LTTNG_HOME=") &&
        !entry.starts_with("LTTNG_RELAYD_"))
      out.emplace_back(entry);
  }
  if (!home.empty()) out.push_back("LTTNG_HOME=" + home);
  return out;
}

enum class Stage : int { kMounts, kExec };
struct Report {
  Stage stage = Stage::kExec;
  int error = 0;
};

// In the child, between fork and exec: system calls only.
[[noreturn]] void become(const char* program, char* const* argv, char* const* env, const char* log,
                         const char* place, pid_t parent, int report) {
  const auto fail_at = [&](Stage stage) {
    const Report r{stage, errno};
    [[maybe_unused]] const ssize_t n = ::write(report, &r, sizeof r);
    ::_exit(127);
  };
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  if (*place != '\0' &&
      (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 ||
       ::mount(place, kSystemPlace, nullptr, MS_BIND, nullptr) != 0))
    fail_at(Stage::kMounts);
  const int null = ::open("/dev/null", O_RDONLY);
  if (null >= 0) ::dup2(null, 0);
  const int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  if (out >= 0) {
    ::dup2(out, 1);
    ::dup2(out, 2);
  }
  if (::chdir("/") != 0) fail_at(Stage::kExec);
  ::syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
  for (int s = 1; s < NSIG; ++s) ::signal(s, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(program, argv, env);
  fail_at(Stage::kExec);
  ::_exit(127);
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
  const auto absolute = [](const std::string& p) {
    std::error_code ec;
    return std::filesystem::absolute(p, ec).string();
  };
  if (name.find('/') != std::string::npos) {
    if (may_run(name)) return absolute(name);
    return fail(ErrorCode::kNotFound, name + ": is no program that may be run");
  }
  const char* path = std::getenv("PATH");
  const std::string all = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t at = 0; at <= all.size();) {
    const std::size_t end = std::min(all.find(':', at), all.size());
    const std::string candidate = (end == at ? "." : all.substr(at, end - at)) + "/" + name;
    if (may_run(candidate)) return absolute(candidate);
    at = end + 1;
  }
  return fail(ErrorCode::kNotFound,
              name + ": not found in PATH; LTTng's daemons are in the package lttng-tools");
}

Result<Launched> launch(const Launch& what) {
  std::vector<std::string> words = {what.program};
  words.insert(words.end(), what.arguments.begin(), what.arguments.end());
  std::vector<std::string> variables = environment_for(what.home);
  std::vector<char*> argv, env;
  for (std::string& w : words) argv.push_back(w.data());
  for (std::string& v : variables) env.push_back(v.data());
  argv.push_back(nullptr);
  env.push_back(nullptr);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    return fail(ErrorCode::kIo, std::string("pipe: ") + std::strerror(errno));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0)
    become(what.program.c_str(), argv.data(), env.data(), what.log.c_str(), what.place.c_str(), parent,
           report[1]);
  const int error = errno;
  ::close(report[1]);
  if (pid < 0) {
    ::close(report[0]);
    return fail(ErrorCode::kIo, what.program + ": cannot be started: " + std::strerror(error));
  }
  Report said;
  ssize_t n;
  do n = ::read(report[0], &said, sizeof said);
  while (n < 0 && errno == EINTR);
  ::close(report[0]);
  if (n != static_cast<ssize_t>(sizeof said)) return Launched{pid, false};
  ::waitpid(pid, nullptr, 0);
  if (said.stage == Stage::kMounts && (said.error == EPERM || said.error == EACCES || said.error == ENOSYS))
    return Launched{-1, true};
  return fail(ErrorCode::kIo,
              (said.stage == Stage::kMounts ? std::string(kSystemPlace) + " for " : std::string()) +
                  what.program + ": " + std::strerror(said.error));
}

bool running(pid_t pid) {
  if (pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH)) return false;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line))
    return ::kill(pid, 0) == 0 || errno == EPERM;  // not ours to see, or just gone
  const std::size_t name_end = line.rfind(')');
  const char state = name_end + 2 < line.size() ? line[name_end + 2] : 'R';
  return state != 'Z' && state != 'X';
}

std::vector<pid_t> children_named(pid_t pid, const std::string& name) {
  std::vector<pid_t> out;
  std::error_code ec;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (std::filesystem::directory_iterator i(tasks, ec), end; !ec && i != end; i.increment(ec)) {
    std::ifstream file(i->path() / "children");
    for (pid_t child; file >> child;) {
      std::ifstream comm("/proc/" + std::to_string(child) + "/comm");
      std::string said;
      if (std::getline(comm, said) && said == name.substr(0, 15) && running(child)) out.push_back(child);
    }
  }
  return out;
}

std::vector<pid_t> consumers_in(const std::string& mounts, const std::string& place) {
  std::vector<pid_t> out;
  std::error_code ec;
  for (std::filesystem::directory_iterator i("/proc", ec), end; !ec && i != end; i.increment(ec)) {
    const std::string id = i->path().filename();
    if (id.find_first_not_of("0123456789") != std::string::npos) continue;
    std::string comm, line;
    if (!std::getline(std::ifstream(i->path() / "comm"), comm) || comm != "lttng-consumerd") continue;
    std::getline(std::ifstream(i->path() / "cmdline"), line);
    const auto pid = static_cast<pid_t>(std::atol(id.c_str()));
    if (line.find(place + "/ustconsumerd") != std::string::npos && mounts_of(pid) == mounts && running(pid))
      out.push_back(pid);
  }
  return out;
}

std::string mounts_of(pid_t pid) {
  std::error_code ec;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/mnt", ec).string();
}

bool tells_children() {
  return ::access("/proc/thread-self/children", R_OK) == 0;
}

bool ended(const std::vector<pid_t>& pids, DurationNs limit) {
  const SystemClock clock;
  for (const TimeNs until = clock.monotonic() + limit;;) {
    bool all = true;
    for (const pid_t pid : pids) {
      ::waitpid(pid, nullptr, WNOHANG);
      all = all && !running(pid);
    }
    if (all) return true;
    if (clock.monotonic() >= until) return false;
    ::usleep(2000);
  }
}

void end_process(pid_t pid, DurationNs grace) {
  if (pid <= 0 || ended({pid}, DurationNs{})) return;
  ::kill(pid, SIGTERM);
  if (ended({pid}, grace)) return;
  ::kill(pid, SIGKILL);
  ::kill(pid, SIGCONT);
  (void)ended({pid}, seconds(2));  // it may hang in the kernel
}

std::string last_line(const std::string& file) {
  constexpr std::streamoff kMost = 4096;
  std::ifstream in(file, std::ios::binary);
  if (!in) return "";
  in.seekg(0, std::ios::end);
  const std::streamoff size = in.tellg();
  in.seekg(std::max<std::streamoff>(0, size - kMost));
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  return clean_utf8(last, 300);
}

}  // namespace margay::lttng
