#include "run_command.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "child.h"
#include "closing.h"
#include "margay/base/text.h"
#include "margay/config/units.h"
#include "margay/terminal/live_lines.h"
#include "margay/terminal/text.h"
#include "margay/transport/local_user.h"
#include "margay/terminal/unwatched.h"
#include "margay/transport/transport.h"
#include "margay/wire/columns.h"
#include "margay/wire/margay.pb.h"
#include "preload.h"
#include "readers.h"

namespace margay::app {
namespace {

namespace fs = std::filesystem;

constexpr int kPollMs = 50;
constexpr DurationNs kReadyPatience = seconds(10);
constexpr DurationNs kFinishPatience = seconds(30);  // for the daemon's answer, restarts included
constexpr DurationNs kLastLook = seconds(1);         // for the agent to hand over what the job has left
constexpr DurationNs kSourcesPatience = seconds(5);  // of the daemon, for sources that do not end
constexpr DurationNs kRestartPause = milliseconds(200);
constexpr DurationNs kLongestPause = seconds(10);
constexpr const char* kNameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
constexpr std::size_t kLongestName = 64;

// A helper process of the run: started again when it dies, ever more slowly.
struct Helper {
  std::string what;
  ChildOptions options;
  pid_t pid = -1;
  std::uint32_t restarts = 0;
  DurationNs pause = kRestartPause;
  TimeNs restart_at{};
  TimeNs started{};
  bool done = false;  // ended in order, with nothing left to do
};

class Run {
 public:
  Run(const RunRequest& request, Options options, Installation installation)
      : request_(request), options_(std::move(options)), parts_(std::move(installation)) {}
  int operator()();

 private:
  bool prepare();
  void prepare_readers();
  void wait_for_readers();
  // The daemon first.
  std::vector<Helper*> helpers();
  void start(Helper& helper);
  void start_again_if_due(Helper& helper);
  bool wait_ready();
  int start_job();
  void supervise();
  void reap();
  void handle_signal(const signalfd_siginfo& info);
  void show_reports();
  void finish();
  void print_end();
  Ending ending() const { return {request_.summary, exit_code_, job_end_ - job_begin_}; }

  const RunRequest& request_;
  Options options_;
  Installation parts_;
  SystemClock clock_;
  std::string run_;
  CommonFlags flags_;
  transport::RunDirectory directory_;
  Preload preload_;
  bool watched_ = false;  // the daemon came up
  zmq::context_t context_{1};
  std::optional<transport::Socket> reports_;
  terminal::LiveLines lines_{false};
  wire::Report last_;
  Helper daemon_, node_;
  std::list<Helper> readers_;
  std::vector<ReaderPlan> plans_;  // of those
  pid_t job_ = -1;
  bool job_ended_ = false;
  int exit_code_ = 1;
  std::uint64_t alerts_ = 0;
  TimeNs job_begin_{}, job_end_{};
  int signals_ = -1;
};

// What is recorded of a command: an argument of the daemon's, and the kernel takes none of more than 128 KiB.
std::string command_text(const std::vector<std::string>& arguments) {
  constexpr std::size_t kMostBytes = 4096;
  std::string text;
  for (const auto& a : arguments) {
    if (!text.empty()) text += ' ';
    text.append(a, 0, kMostBytes + 1);
    if (text.size() > kMostBytes) return clean_utf8(text.substr(0, kMostBytes)) + "...";
  }
  return text;
}

bool Run::prepare() {
  run_ = request_.name.empty() ? make_run_name() : request_.name;
  auto directory = transport::make_run_directory(run_);
  if (!directory) {
    say(directory.error().message + "; the job runs without Margay");
    return false;
  }
  directory_ = *directory;
  std::ofstream(directory_.owner_file()) << getpid() << '\n';
  flags_ = request_.flags;
  if (flags_.archive.empty()) flags_.archive = "margay-" + run_;
  std::error_code ec;
  flags_.archive = fs::absolute(flags_.archive, ec).string();
  if (!flags_.alerts.empty()) {
    flags_.alerts = fs::absolute(flags_.alerts, ec).string();
    std::ofstream file(flags_.alerts, std::ios::trunc);  // a new run, a new list: there from the first moment
    if (!file) say(flags_.alerts + ": cannot be written: " + std::strerror(errno));
  }
  auto preload = Preload::prepare(parts_.probe, directory_.path);
  if (!preload) {
    say(preload.error().message + "; the job runs without Margay");
    transport::remove_run_directory(directory_);
    return false;
  }
  preload_ = std::move(*preload);
  const std::string command = command_text(request_.command);

  daemon_.what = "the daemon";
  daemon_.options.arguments = {parts_.daemon,           "--run", run_, "--command", command, "--owner-pid",
                               std::to_string(getpid())};
  for (auto& a : flags_.to_arguments()) daemon_.options.arguments.push_back(a);
  node_.what = "the node agent";
  node_.options.arguments = {parts_.node,
                             "--run-dir",
                             directory_.path,
                             "--run",
                             run_,
                             "--owner-pid",
                             std::to_string(getpid()),
                             "--period",
                             std::to_string(options_.node_period.value / 1000) + "us",
                             "--sample-period",
                             std::to_string(options_.node_sample.value / 1000) + "us",
                             "--memory",
                             std::to_string(options_.node_memory_bytes) + "b"};
  node_.options.block_term = true;  // it may be told to finish before it has looked once
  prepare_readers();
  for (Helper* h : helpers()) {
    h->options.own_session = true;
    h->options.null_input = true;
    h->options.output = directory_.path + "/log";
  }
  start(daemon_);
  watched_ = daemon_.pid > 0 && wait_ready();
  if (!watched_) {
    std::ifstream log(directory_.path + "/log");
    for (std::string line; std::getline(log, line);) std::fprintf(stderr, "margay: %s\n", line.c_str());
    say("the daemon did not start; the job runs without Margay");
    if (daemon_.pid > 0) end_child(daemon_.pid, DurationNs(0), seconds(2));
    daemon_.pid = -1;
    transport::remove_run_directory(directory_);
    return false;
  }
  for (Helper* h : helpers())
    if (h != &daemon_) start(*h);
  wait_for_readers();
  auto socket = transport::Socket::connect(context_, zmq::socket_type::sub, directory_.reports_endpoint());
  if (socket) {
    reports_.emplace(std::move(*socket));
    reports_->subscribe_all();
  }
  return true;
}

void Run::prepare_readers() {
  const auto add = [&](Result<ReaderPlan> plan, const char* without) {
    if (!plan) {
      say(plan.error().message + without);
      return;
    }
    Helper& helper = readers_.emplace_back();
    helper.what = plan->what;
    helper.options = plan->options;
    helper.options.block_term = true;
    plans_.push_back(std::move(*plan));
  };
  const auto place = [&](const std::string& program) {
    return ReaderPlace{program, directory_, run_, getpid(), options_.node_memory_bytes, flags_.archive};
  };
  if (!request_.gst_debug.empty())
    add(gstreamer_reader(place(parts_.gst), request_.gst_debug), "; GStreamer's log is not read");
  if (!request_.lttng.empty())
    add(lttng_reader(place(parts_.lttng), options_.lttng, request_.lttng, request_.lttng_rules),
        "; nothing is traced by LTTng");
}

// What happens before a reader is there is not seen: the job waits for it, but not for long.
void Run::wait_for_readers() {
  const TimeNs until = clock_.monotonic() + kReadyPatience;
  auto helper = readers_.begin();
  for (ReaderPlan& plan : plans_) {
    Helper& h = *helper++;
    if (plan.ready_file.empty()) continue;
    while (!read_environment(plan.ready_file, plan.job_environment)) {
      reap();
      if (h.pid < 0 || clock_.monotonic() >= until) {
        std::ifstream log(directory_.path + "/log");
        for (std::string line; std::getline(log, line);)
          if (line.find("error") != std::string::npos) std::fprintf(stderr, "margay: %s\n", line.c_str());
        say(h.what + " is not ready; the job runs without it");
        h.done = true;
        if (h.pid > 0) end_child(std::exchange(h.pid, -1), DurationNs(0), seconds(2));
        break;
      }
      usleep(5'000);
    }
    std::ifstream note(plan.note_file);
    for (std::string line; std::getline(note, line);) say(line);
  }
}

std::vector<Helper*> Run::helpers() {
  std::vector<Helper*> all{&daemon_, &node_};
  for (Helper& h : readers_) all.push_back(&h);
  return all;
}

void Run::start(Helper& helper) {
  auto pid = spawn(helper.options);
  helper.started = clock_.monotonic();
  if (!pid) {
    say(pid.error().message);
    helper.pid = -1;
    return;
  }
  helper.pid = *pid;
}

void Run::start_again_if_due(Helper& helper) {
  if (helper.pid > 0 || helper.done || clock_.monotonic() < helper.restart_at) return;
  ++helper.restarts;
  if (&helper == &daemon_) {
    auto& a = helper.options.arguments;
    if (const auto it = std::find(a.begin(), a.end(), "--restarts"); it != a.end()) a.erase(it, it + 2);
    a.insert(a.end(), {"--restarts", std::to_string(helper.restarts)});
  }
  start(helper);
  if (helper.pid < 0) helper.restart_at = clock_.monotonic() + helper.pause;
}

// The daemon answers.
bool Run::wait_ready() {
  const TimeNs until = clock_.monotonic() + kReadyPatience;
  auto control =
      transport::Socket::connect(context_, zmq::socket_type::dealer, directory_.control_endpoint());
  if (!control) return false;
  wire::ControlRequest request;
  request.set_version(wire::kWireVersion);
  request.set_kind(wire::ControlRequest::STATUS);
  bool sent = false;
  transport::Socket* const sockets[] = {&*control};
  while (clock_.monotonic() < until) {
    int status;
    if (waitpid(daemon_.pid, &status, WNOHANG) == daemon_.pid) {
      daemon_.pid = -1;
      return false;
    }
    if (!sent) sent = control->try_send(request);
    if (transport::wait_readable(sockets, std::chrono::milliseconds(20)) && control->try_receive())
      return true;
  }
  return false;
}

int Run::start_job() {
  ChildOptions job;
  job.arguments = request_.command;
  if (watched_) {
    job.environment = {{"MARGAY_RUN_DIR", transport::shared_memory_of(directory_)}};
    std::vector<std::string> readers_want;
    for (const ReaderPlan& plan : plans_)
      for (const auto& [key, value] : plan.job_environment)
        if (key == "LD_PRELOAD")
          readers_want.push_back(value);
        else
          job.environment.emplace_back(key, value);
    job.environment.emplace_back("LD_PRELOAD",
                                 preload_list(std::getenv("LD_PRELOAD"), preload_.path(), readers_want));
  }
  job_begin_ = clock_.realtime();
  auto pid = spawn(job);
  if (!pid) {
    say(pid.error().message);
    job_ended_ = true;
    job_end_ = job_begin_;
    return pid.error().code == ErrorCode::kNotFound ? 127 : 126;
  }
  job_ = *pid;
  return 0;
}

void Run::reap() {
  for (;;) {
    int status;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return;
    if (pid == job_) {
      job_ended_ = true;
      job_end_ = clock_.realtime();
      exit_code_ = exit_code_of(status);
      continue;
    }
    for (Helper* h : helpers())
      if (pid == h->pid) {
        h->pid = -1;
        const TimeNs now = clock_.monotonic();
        h->pause = now - h->started > seconds(60) ? kRestartPause : std::min(h->pause * 2, kLongestPause);
        h->restart_at = now + h->pause;
        // Those that bring events end by themselves when all they had to deliver is in the archive.
        if (h != &daemon_ && job_ended_ && WIFEXITED(status) && WEXITSTATUS(status) == 0) h->done = true;
        if (!request_.quiet && !job_ended_ && job_ > 0)
          say(h->what + " ended unexpectedly (" +
              (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                   : "exit code " + std::to_string(exit_code_of(status))) +
              "); it is started again" +
              (h == &daemon_ ? "; what it had not committed is sent to it again"
                             : "; what it had not delivered is lost, and counted"));
      }
  }
}

void Run::handle_signal(const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGCHLD) return;
  // What the terminal sends goes to the whole process group: the job has it already.
  const bool from_terminal = info.ssi_code == SI_KERNEL;
  if (job_ > 0 && !job_ended_ && !from_terminal) kill(job_, signal);
}

void Run::show_reports() {
  if (!reports_) return;
  while (auto frame = reports_->try_receive()) {
    wire::Report report;
    if (!report.ParseFromString(frame->body)) continue;
    if (!request_.quiet)
      for (const std::string& line : lines_.feed(report, clock_.monotonic()))
        std::fprintf(stderr, "%s\n", line.c_str());
    last_ = std::move(report);
  }
}

void Run::supervise() {
  while (!job_ended_) {
    pollfd p{signals_, POLLIN, 0};
    poll(&p, 1, kPollMs);
    signalfd_siginfo info;
    while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) handle_signal(info);
    reap();
    if (!watched_) continue;
    if (!job_ended_)
      for (Helper* h : helpers()) start_again_if_due(*h);
    show_reports();
  }
}

// The job has ended: take what is left, close the books, end the helpers.
void Run::finish() {
  if (!watched_) {
    alerts_ = write_summary("", ending());
    return;
  }
  wire::ControlRequest request;
  request.set_version(wire::kWireVersion);
  request.set_kind(wire::ControlRequest::FINISH);
  request.set_exit_code(exit_code_);
  request.set_timeout_ns(kSourcesPatience.value);
  const TimeNs until = clock_.monotonic() + kFinishPatience;
  std::string summary, error = "the daemon did not answer";
  std::optional<transport::Socket> control;
  bool sent = false;
  // The daemon knows of a program that came and went when the agent has found what it left, and a reader what
  // it wrote: that comes first, or the daemon would close the books on nothing. One that takes longer the
  // daemon waits for.
  const TimeNs ask = clock_.monotonic() + kLastLook;
  std::map<Helper*, pid_t> told;
  while (clock_.monotonic() < until && summary.empty()) {
    reap();
    for (Helper* h : helpers())
      if (h != &daemon_ && h->pid > 0 && std::exchange(told[h], h->pid) != h->pid) kill(h->pid, SIGTERM);
    // If it died, its successor takes over where the archive stands, and has to be told again.
    if (daemon_.pid < 0) control.reset();
    for (Helper* h : helpers()) start_again_if_due(*h);
    if (daemon_.pid > 0 && !control) {
      auto socket =
          transport::Socket::connect(context_, zmq::socket_type::dealer, directory_.control_endpoint());
      if (!socket) break;
      control.emplace(std::move(*socket));
      sent = false;
    }
    if (!control) {
      usleep(20'000);
      continue;
    }
    const auto all = helpers();
    const bool handed_over =
        std::all_of(all.begin() + 1, all.end(), [](const Helper* h) { return h->done; }) ||
        clock_.monotonic() >= ask;
    if (!sent && handed_over) sent = control->try_send(request);
    transport::Socket* const sockets[] = {&*control};
    if (transport::wait_readable(sockets, std::chrono::milliseconds(sent ? 20 : 2)))
      if (auto frame = control->try_receive()) {
        wire::ControlReply reply;
        if (reply.ParseFromString(frame->body)) {
          error = reply.error();
          summary = reply.summary_json();
          last_ = reply.report();
          if (!request_.quiet)
            for (const std::string& line : lines_.feed(last_, clock_.monotonic()))
              std::fprintf(stderr, "%s\n", line.c_str());
          break;
        }
      }
    show_reports();
  }
  if (!error.empty()) say(error);
  alerts_ = write_summary(summary, ending());
  // SIGTERM tells them what the daemon tells them, too: finish.
  for (Helper* h : helpers())
    if (h != &daemon_ && h->pid > 0) end_child(h->pid, DurationNs(0), kSourcesPatience + seconds(1));
  if (daemon_.pid > 0) end_child(daemon_.pid, DurationNs(0), seconds(10));
  if (!request_.quiet) print_end();
  // The log goes to the archive; the rest was for the time of the run.
  std::error_code ec;
  if (!request_.lttng.empty())  // where it was killed
    fs::remove_all(ReaderPlace{"", {}, "", 0, 0, flags_.archive}.traces(), ec);
  if (fs::file_size(directory_.path + "/log", ec) > 0 && !ec)
    fs::copy_file(directory_.path + "/log", flags_.archive + "/log", fs::copy_options::overwrite_existing,
                  ec);
  transport::remove_run_directory(directory_);
}

void Run::print_end() {
  const auto duration = (job_end_ - job_begin_).value;
  std::uint64_t produced = 0;
  for (const auto& s : last_.health().sources()) produced += s.produced();
  say("the job ended after " + terminal::duration_text(duration) + " with exit code " +
      std::to_string(exit_code_));
  const std::string unwatched = terminal::unwatched_text(last_.health());
  if (last_.health().sources_size() == 0) {
    say(unwatched.empty() ? nothing_seen(request_) : unwatched);
    return;
  }
  const std::uint64_t lost = last_.health().lost_events();
  std::uint64_t summed = 0;
  for (const auto& c : last_.health().counters())
    if (c.name() == "events_summed") summed = c.value();
  say(grouped(produced) + " events of " + std::to_string(last_.health().sources_size()) + " resources, " +
      (lost != 0           ? grouped(lost) + " lost"
       : unwatched.empty() ? "none lost"
                           : "none lost of those that were watched") +
      "; " + (summed == 0 ? "" : grouped(summed) + " more were summed in the process; ") +
      std::to_string(last_.phases_size()) + " phase stretches, " + std::to_string(alerts_) +
      (alerts_ == 1 ? " alert" : " alerts"));
  if (!unwatched.empty()) say(unwatched);
  say("archive: " + flags_.archive);
}

int Run::operator()() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) sigaddset(&set, s);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  prepare();
  if (const int failed = start_job(); failed != 0) {
    exit_code_ = failed;
  } else {
    supervise();
  }
  finish();
  for (const ReaderPlan& plan : plans_) close(plan.hold);
  close(signals_);
  return exit_code_;
}

}  // namespace

int run_command(const RunRequest& request) {
  // What is wrong with the request is said before the job starts.
  Options options;
  if (auto ok = apply_flags(request.flags, options); !ok) {
    say(ok.error().message);
    return 2;
  }
  if (request.name.find_first_not_of(kNameLetters) != std::string::npos ||
      request.name.size() > kLongestName) {
    say("--name " + request.name + ": expected up to 64 letters, digits, '-' and '_'");
    return 2;
  }
  auto installation = find_installation();
  if (!installation) {
    say(installation.error().message);
    return 2;
  }
  Run run(request, std::move(options), std::move(*installation));
  return run();
}

}  // namespace margay::app
