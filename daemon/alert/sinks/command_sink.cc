#include "command_sink.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "margay/sinks/settings.h"
#include "text.h"

namespace margay::sinks {
namespace {

constexpr std::size_t kLongestValue = 4096;
constexpr std::size_t kMostSaid = 300;
constexpr std::size_t kMostCausesListed = 64;
constexpr int kReadsARound = 64;  // 1 MiB, the most that a pipe may be made to hold

bool may_run(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

bool is_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return may_run(name);
  const char* path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t at = 0; at <= rest.size();) {
    const std::size_t end = std::min(rest.find(':', at), rest.size());
    std::string candidate = end == at ? "." : rest.substr(at, end - at);
    candidate += '/';
    candidate += name;
    if (may_run(candidate)) return true;
    at = end + 1;
  }
  return false;
}

// The whole of `text`, to be read from its begin; -1 and errno.
int file_of(const std::string& text) {
  const int fd = memfd_create("margay-alert", MFD_CLOEXEC);
  if (fd < 0) return -1;
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : ENOSPC;
      ::close(fd);
      errno = error;
      return -1;
    }
    at += static_cast<std::size_t>(n);
  }
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> alert_environment(const Notice& n) {
  const alert::Alert& a = n.alert;
  std::vector<std::pair<std::string, std::string>> out = {
      {"ID", a.id},
      {"STATUS", alert::to_string(a.status)},
      {"UPDATES", std::to_string(a.updates)},
      {"KIND", alert::to_string(a.kind)},
      {"SEVERITY", to_string(urgency(a.kind))},
      {"RUN", a.run},
      {"NODE", n.node},
      {"PHASE", a.phase},
      {"LIKELY_CAUSE", listed(a.likely_cause, kMostCausesListed)},
      {"COST_S", number_text(a.cost_s)},
      {"FALSE_ALARMS_PER_DAY", number_text(a.false_alarms_per_day)},
      {"MESSAGE", a.message},
      {"BEGIN", rfc3339(n.began)},
      {"END", n.end ? rfc3339(*n.end) : ""},
      {"LINK", n.link},
  };
  for (auto& [name, value] : out) {
    name.insert(0, "MARGAY_ALERT_");
    value = fit(std::move(value), kLongestValue);
  }
  return out;
}

Result<std::unique_ptr<CommandSink>> CommandSink::make(std::vector<std::string> arguments) {
  if (arguments.empty() || !is_program(arguments[0]))
    return fail(ErrorCode::kInvalidArgument,
                "'" + (arguments.empty() ? std::string() : arguments[0]) + "' is no program that may be run");
  return std::unique_ptr<CommandSink>(new CommandSink(std::move(arguments)));
}

CommandSink::~CommandSink() {
  if (pid_ > 0) {
    signal_group(SIGKILL);
    // It may hang in the kernel; whoever takes over our children waits for it then.
    for (int i = 0; i < 200 && ::waitpid(pid_, nullptr, WNOHANG) == 0; ++i) ::usleep(5000);
  }
  if (errors_ >= 0) ::close(errors_);
}

void CommandSink::begin(const Notice& notice, TimeNs) {
  said_.clear();
  failed_to_start_.clear();
  cut_ = killed_ = left_out_ = false;
  const int input = file_of(alert::to_json(notice.alert) + "\n");
  int pipe[2] = {-1, -1};
  int error = input < 0 ? errno : 0;
  // Only our end does not block: a program expects its stderr to wait, and takes EAGAIN for a failure.
  if (error == 0 && (::pipe2(pipe, O_CLOEXEC) != 0 || ::fcntl(pipe[0], F_SETFL, O_NONBLOCK) != 0))
    error = errno;
  if (error == 0) error = spawn(notice, input, pipe[1]);
  if (input >= 0) ::close(input);
  if (pipe[1] >= 0) ::close(pipe[1]);
  errors_ = pipe[0];
  if (error != 0) failed_to_start_ = std::string("cannot be started: ") + std::strerror(error);
}

int CommandSink::spawn(const Notice& notice, int input, int errors) {
  std::vector<std::string> words;
  for (char** e = environ; *e != nullptr; ++e)
    if (std::strncmp(*e, "MARGAY_ALERT_", 13) != 0) words.emplace_back(*e);
  for (auto& [name, value] : alert_environment(notice)) words.push_back(name.append("=").append(value));
  std::vector<char*> environment, argv;
  for (std::string& w : words) environment.push_back(w.data());
  environment.push_back(nullptr);
  for (std::string& a : arguments_) argv.push_back(a.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&files, input, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, errors, 2);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawnp(&pid_, argv[0], &files, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) pid_ = -1;
  return error;
}

// To its end, or a bounded amount: one that never stops talking holds nobody up.
void CommandSink::read_errors() {
  char buffer[16 << 10];
  for (int i = 0; i < kReadsARound; ++i) {
    const ssize_t n = ::read(errors_, buffer, sizeof buffer);
    if (n <= 0) return;
    said_.append(buffer, static_cast<std::size_t>(n));
    if (said_.size() <= kMostSaid) continue;
    said_.erase(0, said_.size() - kMostSaid);
    left_out_ = true;
  }
}

std::optional<Outcome> CommandSink::progress(TimeNs now) {
  Outcome failed{Outcome::Kind::kRetry, failed_to_start_, {}};
  if (pid_ > 0) {
    read_errors();
    int status = 0;
    const pid_t r = ::waitpid(pid_, &status, WNOHANG);
    if (r == 0) {
      if (cut_ && !killed_ && now - cut_at_ >= kGrace) {
        killed_ = true;
        signal_group(SIGKILL);
      }
      return std::nullopt;
    }
    if (cut_ && !killed_) signal_group(SIGKILL);  // what else is in its group
    pid_ = -1;
    read_errors();
    if (cut_)
      failed.why = "took too long and was killed";
    else if (r < 0)
      failed.why = "cannot be waited for";
    else if (WIFSIGNALED(status))
      failed.why = "was ended by signal " + std::to_string(WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
      failed.why = "exit code " + std::to_string(WEXITSTATUS(status));
    if (!failed.why.empty() && !said_.empty())
      failed.why += (left_out_ ? ": ..." : ": ") + fit(said_, kMostSaid);
  }
  if (errors_ >= 0) ::close(errors_);
  errors_ = -1;
  if (failed.why.empty()) return Outcome{};
  return failed;
}

void CommandSink::cut(TimeNs now) {
  if (pid_ <= 0) return;
  cut_ = true;
  cut_at_ = now;
  signal_group(SIGTERM);
}

void CommandSink::signal_group(int signal) const {
  ::kill(-pid_, signal);
}

bool wants_command(const Settings& s) {
  return !s.command.empty();
}
Result<std::unique_ptr<Sink>> make_command(const Settings& s, const Clock&) {
  auto sink = CommandSink::make(s.command);
  if (!sink) return tl::unexpected(sink.error());
  return std::move(*sink);
}

}  // namespace margay::sinks
