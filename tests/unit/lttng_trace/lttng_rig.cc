#include "lttng_rig.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace margay::lttng::test {
namespace {

constexpr uid_t kNobody = 65534;

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  const bool good = fd >= 0 && bind(fd, plain, size) == 0 && getsockname(fd, plain, &size) == 0;
  if (fd >= 0) close(fd);
  return good ? ntohs(address.sin_port) : 0;
}

std::string local(int port) {
  return "tcp://127.0.0.1:" + std::to_string(port);
}

std::string found(const std::string& program) {
  for (const char* folder : {"/usr/bin/", "/usr/local/bin/"})
    if (access((folder + program).c_str(), X_OK) == 0) return folder + program;
  return "";
}

}  // namespace

bool LttngRig::is_here() {
  return !found("lttng").empty() && !found("lttng-sessiond").empty() && !found("lttng-relayd").empty();
}

pid_t LttngRig::start_program(std::vector<std::string> command) {
  if (!command[0].starts_with("/usr/")) {
    const std::string copy = place_.path + "/program-" + std::to_string(++programs_);
    std::error_code ec;
    std::filesystem::copy_file(command[0], copy, ec);
    command[0] = copy;
  }
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string log = place_.path + "/log";
  const std::string home = place_.path;
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  dup2(out, 1);
  dup2(out, 2);
  if (getuid() == 0) {
    if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
        setresuid(kNobody, kNobody, kNobody) != 0)
      _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // gone with the user id
  }
  setenv("HOME", home.c_str(), 1);
  setenv("LTTNG_HOME", home.c_str(), 1);
  setenv("LTTNG_UST_REGISTER_TIMEOUT", "10000", 1);
  if (chdir(home.c_str()) != 0) _exit(126);
  execv(argv[0], argv.data());
  _exit(127);
}

int LttngRig::wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool LttngRig::lttng(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {found("lttng"), "-n"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return wait_for(start_program(command)) == 0;
}

bool LttngRig::start(bool with_relay_daemon) {
  if (getuid() == 0 && chown(place_.path.c_str(), kNobody, kNobody) != 0) return false;
  if (with_relay_daemon) {
    control_ = free_port();
    data_ = free_port();
    live_ = free_port();
    relayd_ = start_program({found("lttng-relayd"), "-C", local(control_), "-D", local(data_), "-L",
                             local(live_), "-o", place_.path + "/relayed"});
  }
  sessiond_ = start_program({found("lttng-sessiond"), "--no-kernel"});
  for (int i = 0; i < 100; ++i) {
    if (lttng({"list"})) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ADD_FAILURE() << "no session daemon: see " << place_.path << "/log";
  return false;
}

LttngRig::~LttngRig() {
  for (const pid_t pid : {sessiond_, relayd_}) {
    if (pid <= 0) continue;
    kill(pid, SIGTERM);
    bool gone = false;
    for (int i = 0; i < 100 && !gone; ++i) {
      gone = waitpid(pid, nullptr, WNOHANG) != 0;
      if (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (gone) continue;
    kill(pid, SIGKILL);
    wait_for(pid);
  }
}

std::string LttngRig::relay_url() const {
  return "net://127.0.0.1:" + std::to_string(control_) + ":" + std::to_string(data_);
}

std::string LttngRig::live_url(const std::string& session) const {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return "net://127.0.0.1:" + std::to_string(live_) + "/host/" + name + "/" + session;
}

}  // namespace margay::lttng::test
