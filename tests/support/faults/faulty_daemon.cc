#include "faulty_daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace margay::test {

Result<FaultyDaemon> FaultyDaemon::make(std::vector<std::string> arguments, const std::string& library,
                                        const std::string& page_path, const std::string& archive,
                                        TimeNs realtime, std::string log) {
  FaultyDaemon d;
  d.arguments_ = std::move(arguments);
  d.library_ = library;
  d.page_path_ = page_path;
  d.log_ = std::move(log);
  const int fd = ::open(page_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, kFaultsPageBytes) != 0 || archive.size() >= kFaultsPathBytes)
    return fail(ErrorCode::kIo, page_path + ": " + std::strerror(errno));
  void* page = ::mmap(nullptr, kFaultsPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (page == MAP_FAILED) return fail(ErrorCode::kIo, page_path + ": " + std::strerror(errno));
  d.page_ = static_cast<faults_page*>(page);
  std::memcpy(d.page_->archive, archive.c_str(), archive.size() + 1);
  d.page_->realtime_anchor = realtime.value;
  return d;
}

FaultyDaemon::FaultyDaemon(FaultyDaemon&& o) noexcept
    : arguments_(std::move(o.arguments_)),
      library_(std::move(o.library_)),
      page_path_(std::move(o.page_path_)),
      log_(std::move(o.log_)),
      page_(std::exchange(o.page_, nullptr)),
      pid_(std::exchange(o.pid_, -1)),
      starts_(o.starts_) {}

FaultyDaemon::~FaultyDaemon() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (page_ != nullptr) ::munmap(page_, kFaultsPageBytes);
}

void FaultyDaemon::start() {
  std::vector<std::string> arguments = arguments_;
  if (starts_ > 0) arguments.insert(arguments.end(), {"--restarts", std::to_string(starts_)});
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  ++starts_;
  pid_ = ::fork();
  if (pid_ != 0) return;
  const int log = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::setenv("LD_PRELOAD", library_.c_str(), 1);
  ::setenv("MARGAY_TEST_FAULTS", page_path_.c_str(), 1);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

std::optional<int> FaultyDaemon::ended() {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return status;
}

bool FaultyDaemon::end(DurationNs patience) {
  if (pid_ <= 0) return false;
  ::kill(pid_, SIGTERM);
  for (std::int64_t waited = 0; waited < patience.value; waited += 5'000'000) {
    if (const auto status = ended()) return WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
    ::usleep(5'000);
  }
  return false;
}

void FaultyDaemon::arm() {
  __atomic_store_n(&page_->kill_order, page_->kill_order + 1, __ATOMIC_RELEASE);
}
void FaultyDaemon::disarm() {
  __atomic_store_n(&page_->kill_order, page_->killed_order, __ATOMIC_RELEASE);
}

}  // namespace margay::test
