// margay-lttng: keeps LTTng's daemons and a live session for a run, and the reader that reads it.
//
//   margay run --lttng --- margay-lttng ---+--- lttng-sessiond, lttng-relayd   of its own
//                                          +--- margay-lttng-reader            started again if it dies
//
// Once a reader is attached, RUN_DIR/lttng.environment says what the job needs in its environment.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "margay/base/time.h"
#include "margay/log/log.h"
#include "margay/lttng_rules/rule_set.h"
#include "margay/lttng_session/daemons.h"
#include "margay/lttng_session/live_session.h"
#include "margay/lttng_session/program.h"

namespace {

using namespace margay;
namespace fs = std::filesystem;

volatile std::sig_atomic_t g_terminate = 0;
constexpr int kRoundMs = 200;
constexpr DurationNs kRestartPause = milliseconds(200), kLongestPause = seconds(10);
constexpr DurationNs kReaderPatience = seconds(12);  // for its goodbyes
constexpr DurationNs kWatchPeriod = seconds(1);

int complain(const std::string& sentence) {
  log::error(sentence);
  return 1;
}

struct Settings {
  std::string run_dir, run;
  std::vector<std::string> helpers, events, files;
  std::int64_t owner = 0;
  std::size_t memory = 64 << 20;
  lttng::LiveOptions live;
};

// The shipped sets that go with what is preloaded.
std::vector<std::string> sets_of(const Settings& s) {
  std::vector<std::string> sets{"margay"};
  for (const std::string& helper : s.helpers)
    if (helper == "pthread" || helper == "libc" || helper == "functions") sets.push_back(helper);
  sets.emplace_back("base");
  return sets;
}

Result<std::vector<lttng::EventPattern>> events_of(const Settings& s) {
  std::vector<std::string> names = s.events;
  lttng_rules::RuleSet all;
  for (const std::string& file : s.files) {
    auto more = lttng_rules::RuleSet::load(file);
    if (!more) return tl::unexpected(more.error());
    if (Status ok = all.add(*more); !ok) return tl::unexpected(ok.error());
  }
  for (const std::string& set : sets_of(s)) {
    auto more = lttng_rules::RuleSet::shipped(set);
    if (!more) return tl::unexpected(more.error());
    if (Status ok = all.add(*more); !ok) return tl::unexpected(ok.error());
  }
  for (const std::string& pattern : all.event_patterns(lttng_rules::Domain::kUst)) names.push_back(pattern);
  std::vector<lttng::EventPattern> events;
  for (const std::string& name : names) events.push_back({name, {}, ""});
  return events;
}

class ReaderProcess {
 public:
  explicit ReaderProcess(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}
  ~ReaderProcess() { close_pipes(); }
  // With this URL. False: no process could be made.
  bool start(const std::string& url) {
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
  // Another session: what it does from now on.
  void order(const std::string& url) {
    const std::string line = url + "\n";
    static_cast<void>(!write(orders_, line.data(), line.size()));
  }
  // Whether it has said that it is attached, waited for at most so long.
  bool attached(int ms) {
    pollfd p{news_, POLLIN, 0};
    char text[64];
    return poll(&p, 1, ms) > 0 && read(news_, text, sizeof text) > 0;
  }
  bool running() {
    if (pid_ <= 0) return false;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
    pid_ = -1;
    return false;
  }
  // It takes what is left and ends, or is ended.
  void finish(const Clock& clock) {
    close(orders_);
    orders_ = -1;
    for (const TimeNs until = clock.monotonic() + kReaderPatience; running() && clock.monotonic() < until;)
      usleep(5'000);
    if (running()) {
      log::error("the reader of the LTTng trace does not end; it is ended");
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

 private:
  void close_pipes() {
    for (int* fd : {&orders_, &news_})
      if (*fd >= 0) close(std::exchange(*fd, -1));
  }
  std::vector<std::string> arguments_;
  pid_t pid_ = -1;
  int orders_ = -1, news_ = -1;
};

// KEY=VALUE lines; there all at once.
Status tell_environment(const Settings& s, const lttng::Daemons& daemons) {
  auto environment = lttng::program_environment(daemons, s.helpers);
  if (!environment) return tl::unexpected(environment.error());
  const std::string path = s.run_dir + "/lttng.environment";
  std::ofstream out(path + ".new", std::ios::trunc);
  for (const auto& [key, value] : environment->variables) out << key << '=' << value << '\n';
  for (const std::string& file : environment->preload) out << "LD_PRELOAD=" << file << '\n';
  out.close();
  std::error_code ec;
  if (out) fs::rename(path + ".new", path, ec);
  if (!out || ec) return fail(ErrorCode::kIo, path + ": cannot be written");
  return {};
}

bool alive(std::int64_t pid) {
  return pid <= 0 || kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
}

void say_losses(const lttng::LiveSession& session) {
  const auto losses = session.statistics();
  if (!losses) return;
  for (const auto& loss : *losses)
    if (loss.discarded_events + loss.lost_packets > 0)
      log::warning("LTTng discarded " + std::to_string(loss.discarded_events) + " events of channel " +
                   loss.channel + " (its buffers were full), and " + std::to_string(loss.lost_packets) +
                   " packets");
}

int run(Settings s, const std::string& reader_program) {
  const SystemClock clock;
  auto events = events_of(s);
  if (!events) return complain(events.error().message);
  const std::string directory = s.run_dir + "/lttng";
  std::error_code ec;
  fs::remove_all(directory, ec);  // of one before us that died
  lttng::OwnDaemonsOptions own;
  own.directory = directory;
  auto daemons = lttng::OwnDaemons::start(own);
  if (!daemons) return complain(daemons.error().message);
  s.live.run = s.run;
  s.live.events = std::move(*events);
  auto session = lttng::LiveSession::create((*daemons)->daemons(), s.live);
  if (!session) return complain(session.error().message);
  if (auto ok = session->start(); !ok) return complain(ok.error().message);

  std::vector<std::string> arguments{
      reader_program, "--run-dir", s.run_dir, "--run", s.run, "--memory", std::to_string(s.memory) + "b"};
  if (s.owner > 0) arguments.insert(arguments.end(), {"--owner-pid", std::to_string(s.owner)});
  for (const std::string& set : sets_of(s)) arguments.insert(arguments.end(), {"--rules", set});
  for (const std::string& file : s.files) arguments.insert(arguments.end(), {"--rules-file", file});
  ReaderProcess reader(arguments);
  if (!reader.start(session->url())) return complain(std::string("no reader: ") + std::strerror(errno));

  bool told = false;
  DurationNs pause = kRestartPause;
  TimeNs restart_at{}, watch_at{};
  while (g_terminate == 0 && alive(s.owner)) {
    if (reader.attached(kRoundMs) && !std::exchange(told, true))
      if (auto ok = tell_environment(s, (*daemons)->daemons()); !ok) return complain(ok.error().message);
    const TimeNs now = clock.monotonic();
    if (!reader.running()) {
      if (restart_at == TimeNs()) {
        log::error(
            "the reader of the LTTng trace ended unexpectedly; it is started again; what it had not "
            "delivered is lost");
        restart_at = now + pause;
        pause = std::min(pause * 2, kLongestPause);
      }
      if (now < restart_at) {
        usleep(20'000);
        continue;
      }
      restart_at = TimeNs();
      if (!reader.start(session->url())) log::error(std::string("no reader: ") + std::strerror(errno));
    }
    if (now < watch_at) continue;
    watch_at = now + kWatchPeriod;
    auto well = session->alive();
    if (well) well = (*daemons)->alive();
    if (well) continue;
    log::error(well.error().message +
               "; it is started again, and the session made anew: what happens until then "
               "is lost");
    if (auto ok = (*daemons)->mend(); !ok) {
      log::error(ok.error().message);
      continue;
    }
    if (auto ok = session->again((*daemons)->daemons()); !ok) {
      log::error(ok.error().message);
      continue;
    }
    reader.order(session->url());
    log::info("the LTTng session goes on as " + session->name());
  }
  static_cast<void>(session->stop());
  say_losses(*session);
  static_cast<void>(session->destroy());
  reader.finish(clock);
  (*daemons)->stop();
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  Settings s;
  CLI::App app{
      "margay-lttng starts LTTng's session and relay daemon for a run, on sockets and ports of their own, "
      "makes a live\n"
      "session, and starts the reader that sends it to the run's collector. `margay run --lttng -- COMMAND` "
      "starts it;\n"
      "you seldom need to. When a daemon dies it is started again, and the session made anew.",
      "margay-lttng"};
  app.add_option("--run-dir", s.run_dir, "The run's directory (MARGAY_RUN_DIR of the job)")->required();
  app.add_option("--run", s.run, "The run's name")->required();
  app.add_option("--preload", s.helpers,
                 "instrument programs that are not: pthread, libc, functions, dl, fork, fd")
      ->delimiter(',');
  app.add_option("--event", s.events, "trace these as well, e.g. 'my_app:*'");
  app.add_option("--rules-file", s.files, "what events mean (RULES.md); these events are traced");
  app.add_option("--memory", s.memory, "Most memory of the reader for what is not yet confirmed, e.g. 64MiB")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("64MiB");
  app.add_option("--sub-buffer", s.live.sub_buffer_bytes, "bytes of one of the buffers that a CPU has")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("256KiB");
  app.add_option("--sub-buffers", s.live.sub_buffers, "how many of them")->default_str("8");
  app.add_option("--owner-pid", s.owner, "End when this process is gone");
  CLI11_PARSE(app, argc, argv);
  log::Options log_options;
  log_options.program = "margay-lttng";
  log::start(log_options);
  struct sigaction action {};
  action.sa_handler = [](int) { g_terminate = 1; };
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &term, nullptr);  // `margay run` starts us with it blocked
  std::error_code ec;
  const fs::path self = fs::read_symlink("/proc/self/exe", ec);
  return run(std::move(s), (self.parent_path() / "margay-lttng-reader").string());
} catch (const std::exception& e) {
  return complain(e.what());
}
