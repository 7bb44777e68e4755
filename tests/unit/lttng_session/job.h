// Processes of the tests of LTTng sessions: a traced program, a reader.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../../support/temporary_folder.h"
#include "margay/lttng_session/live_session.h"
#include "margay/lttng_session/program.h"

namespace margay::lttng::test {

// Until it is so; false after `limit`.
inline bool wait_until(const std::function<bool()>& so,
                       std::chrono::milliseconds limit = std::chrono::seconds(30)) {
  for (const auto until = std::chrono::steady_clock::now() + limit;;) {
    if (so()) return true;
    if (std::chrono::steady_clock::now() >= until) return false;
    ::usleep(5000);
  }
}

// One whose sockets others may come to.
class Place : public margay::test::TemporaryFolder {
 public:
  Place() : TemporaryFolder("/tmp") { ::chmod(path.c_str(), 0711); }
};

// A child; killed with this object.
class Process {
 public:
  Process(const std::vector<std::string>& arguments,
          const std::vector<std::pair<std::string, std::string>>& environment, const std::string& output) {
    std::vector<char*> argv;
    for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(out, 1);
    ::dup2(out, 2);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ~Process() {
    ::kill(pid_, SIGKILL);
    if (!over()) ::waitpid(pid_, &status_, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool over() {
    if (!over_) over_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
    return over_;
  }
  // -1: did not end, or by a signal.
  int exit_code(std::chrono::milliseconds limit = std::chrono::seconds(30)) {
    return wait_until([this] { return over(); }, limit) && WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }

 private:
  pid_t pid_ = -1;
  bool over_ = false;
  int status_ = 0;
};

// A program under the pthread wrapper.
inline std::unique_ptr<Process> traced(const Daemons& daemons, const std::vector<std::string>& arguments,
                                       const std::string& output) {
  const auto environment = program_environment(daemons, {"pthread"});
  if (!environment) {
    ADD_FAILURE() << environment.error().message;
    return nullptr;
  }
  auto variables = environment->variables;
  variables.emplace_back("LD_PRELOAD", environment->ld_preload(""));
  return std::make_unique<Process>(arguments, variables, output);
}

inline std::string text_of(const std::string& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

inline std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) ++n;
  return n;
}

// babeltrace2 at a session, writing to a file.
class Reader {
 public:
  Reader(const LiveSession& session, const Daemons& daemons, const std::string& file)
      : file_(file), process_({"babeltrace2", "--input-format=lttng-live", session.url()}, {}, file) {
    // Attached: the relay daemon says who is connected.
    const std::string list = "net://" + daemons.relay_host + ":" + std::to_string(daemons.live_port);
    attached_ = wait_until([&] {
      Process p({"babeltrace2", "--input-format=lttng-live", list}, {}, file + ".list");
      return p.exit_code() == 0 && text_of(file + ".list").find(session.name() + " ") != std::string::npos &&
             text_of(file + ".list").find("1 client(s)") != std::string::npos;
    });
  }
  bool attached() const { return attached_; }
  std::size_t locks() const { return count_of(text_of(file_), "pthread_mutex_unlock:"); }
  std::string text() const { return text_of(file_); }
  Process& process() { return process_; }

 private:
  std::string file_;
  Process process_;
  bool attached_ = false;
};

inline LiveOptions options_for(const std::string& run) {
  LiveOptions o;
  o.run = run;
  o.events = {{"lttng_ust_pthread:*", {}, ""}};
  return o;
}

}  // namespace margay::lttng::test
