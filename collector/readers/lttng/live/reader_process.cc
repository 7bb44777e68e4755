#include "reader_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "margay/log/log.h"

namespace margay::lttng {
namespace {
constexpr DurationNs kPatience = seconds(12);  // for its goodbyes
}

bool ReaderProcess::start(const std::string& url) {
  close_pipes();
  std::array<int, 2> in{}, out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0) return false;
  if (pipe2(out.data(), O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return false;
  }
  std::vector<std::string> arguments = arguments_;
  arguments.insert(arguments.end(), {"--url", url});
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    for (const int s : {SIGTERM, SIGINT, SIGPIPE}) std::signal(s, SIG_DFL);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  orders_ = in[1];
  news_ = out[0];
  return pid_ > 0;
}

void ReaderProcess::order(const std::string& url) {
  const std::string line = url + "\n";
  static_cast<void>(!write(orders_, line.data(), line.size()));
}

bool ReaderProcess::attached(int ms) {
  pollfd p{news_, POLLIN, 0};
  char text[64];
  return poll(&p, 1, ms) > 0 && read(news_, text, sizeof text) > 0;
}

bool ReaderProcess::running() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  pid_ = -1;
  ended_well_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return false;
}

void ReaderProcess::ask_to_finish() {
  if (orders_ >= 0) close(std::exchange(orders_, -1));
}

void ReaderProcess::finish(const Clock& clock) {
  ask_to_finish();
  for (const TimeNs until = clock.monotonic() + kPatience; running() && clock.monotonic() < until;)
    usleep(5'000);
  if (running()) {
    log::error("the reader of the LTTng trace does not end; it is ended");
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
}

void ReaderProcess::close_pipes() {
  for (int* fd : {&orders_, &news_})
    if (*fd >= 0) close(std::exchange(*fd, -1));
}

}  // namespace margay::lttng
