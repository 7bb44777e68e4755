// Processor time of work that is done in a process of its own, for benchmarks that compare with other
// programs.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace margay::bench {

inline double seconds_of(const rusage& use) {
  const auto s = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return s(use.ru_utime) + s(use.ru_stime);
}

// Of a process that runs `work` or becomes a program; negative: it failed.
inline double measured(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) std::_Exit(work());
  int status = 0;
  rusage use{};
  if (child < 0 || wait4(child, &status, 0, &use) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return -1;
  return seconds_of(use);
}

// The program, without its output. Returns where it cannot be started.
inline int become(std::vector<std::string> words) {
  const int null = open("/dev/null", O_WRONLY);
  dup2(null, STDOUT_FILENO);
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return 127;
}

}  // namespace margay::bench
