#include "run_command.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "closing.h"
#include "command.h"
#include "end_wait.h"
#include "helpers.h"
#include "job_signals.h"
#include "margay/base/text.h"
#include "margay/process/child.h"
#include "margay/process/installation.h"
#include "margay/settings/units.h"
#include "margay/terminal/live_lines.h"
#include "margay/text/text.h"
#include "margay/transport/local_user.h"
#include "margay/transport/run_claim.h"
#include "margay/transport/transport.h"
#include "margay/wire/columns.h"
#include "margay/wire/control.pb.h"
#include "preload.h"
#include "readers.h"
#include "run_account.h"
#include "run_place.h"

namespace margay::daemon {
namespace {

namespace fs = std::filesystem;

constexpr int kPollMs = 50;
constexpr DurationNs kReadyPatience = seconds(10);
constexpr DurationNs kFinishPatience = seconds(30);  // for the daemon's answer, restarts included
constexpr DurationNs kLastLook = seconds(1);         // for the agent to hand over what the job has left
constexpr DurationNs kReaderPatience = seconds(15);  // for a reader to begin with what the job has left
constexpr DurationNs kSourcesPatience = seconds(5);  // of the daemon, for sources that do not end
constexpr DurationNs kNudge = milliseconds(500);
constexpr DurationNs kEndPatience = seconds(1);  // with a daemon that has closed the books, to end
constexpr DurationNs kPlaceCheck = seconds(1);
constexpr const char* kNameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
constexpr std::size_t kLongestName = 64;

class Run {
 public:
  Run(const RunRequest& request, Options options, process::Installation installation, JobSignals& signals)
      : request_(request), options_(std::move(options)), parts_(std::move(installation)), signals_(signals) {}
  int operator()();

 private:
  bool prepare();
  void check_place();
  void prepare_readers();
  void wait_for_readers();
  bool nothing_read();
  bool wait_ready();
  int start_job();
  void supervise();
  void reap();
  void show_reports();
  void finish();
  RunAccount close_books();
  void end_helpers(bool books_closed);
  void print_end(const RunAccount& account);
  Ending ending() const { return {request_.summary, exit_code_, job_end_ - job_begin_}; }

  const RunRequest& request_;
  Options options_;
  process::Installation parts_;
  SystemClock clock_;
  CommonFlags flags_;
  transport::RunDirectory directory_;
  Preload preload_;
  RunPlace place_;
  bool place_lost_ = false;
  TimeNs next_place_check_{};
  bool watched_ = false;  // the daemon came up
  zmq::context_t context_{1};
  std::optional<transport::Socket> reports_;
  terminal::LiveLines lines_{false};
  wire::Report last_;
  Helpers helpers_{clock_};
  Helper &daemon_ = helpers_.daemon, &node_ = helpers_.node;
  std::vector<ReaderPlan> plans_;  // of the readers
  pid_t job_ = -1;
  bool job_ended_ = false;
  int exit_code_ = 1;
  TimeNs job_begin_{}, job_end_{};
  bool left_ = false;
  // The first daemon's: it is reached although the directory is gone.
  std::optional<transport::Socket> control_;
  JobSignals& signals_;
  EndWait wait_{clock_, signals_};
};

bool Run::prepare() {
  const auto place = claim_place(request_);
  if (!place) return false;
  place_ = *place;
  directory_ = place_.directory;
  flags_ = request_.flags;
  flags_.archive = place_.archive;
  std::error_code ec;
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

  daemon_.options.arguments = {parts_.daemon,          "--run",       place_.run,
                               "--command=" + command, "--owner-pid", std::to_string(getpid())};
  for (auto& a : flags_.to_arguments()) daemon_.options.arguments.push_back(a);
  node_.options.arguments = {parts_.node,
                             "--run-dir",
                             directory_.path,
                             "--run",
                             place_.run,
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
  for (Helper* h : helpers_.all()) {
    h->options.own_session = true;
    h->options.inherited = {
        transport::claim_of(directory_)};  // as long as one of them lives, it is the run's
    h->options.null_input = true;
    h->options.output = directory_.path + "/log";
  }
  helpers_.start(daemon_);
  watched_ = daemon_.pid > 0 && wait_ready();
  if (!watched_) {
    std::ifstream log(directory_.path + "/log");
    for (std::string line; std::getline(log, line);) std::fprintf(stderr, "margay: %s\n", line.c_str());
    say("the daemon did not start; the job runs without Margay");
    if (daemon_.pid > 0) process::end_child(daemon_.pid, DurationNs(0), seconds(2));
    daemon_.pid = -1;
    place_.give_up();
    return false;
  }
  for (Helper* h : helpers_.all())
    if (h != &daemon_) helpers_.start(*h);
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
    Helper& helper = helpers_.readers.emplace_back();
    helper.what = plan->what;
    helper.options = plan->options;
    helper.options.block_term = true;
    plans_.push_back(std::move(*plan));
  };
  const auto place = [&](const std::string& program) {
    return ReaderPlace{program, directory_, place_.run, getpid(), options_.node_memory_bytes, flags_.archive};
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
  auto helper = helpers_.readers.begin();
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
        if (h.pid > 0) process::end_child(std::exchange(h.pid, -1), DurationNs(0), seconds(2));
        break;
      }
      usleep(5'000);
    }
    std::ifstream note(plan.note_file);
    for (std::string line; std::getline(note, line);) say(line);
  }
}

bool Run::wait_ready() {
  const TimeNs until = clock_.monotonic() + kReadyPatience;
  auto control =
      transport::Socket::connect(context_, zmq::socket_type::dealer, directory_.control_endpoint());
  if (!control) return false;
  control_.emplace(std::move(*control));
  wire::ControlRequest request;
  request.set_version(wire::kWireVersion);
  request.set_kind(wire::ControlRequest::STATUS);
  bool sent = false;
  transport::Socket* const sockets[] = {&*control_};
  while (clock_.monotonic() < until) {
    signals_.hold();
    int status;
    if (waitpid(daemon_.pid, &status, WNOHANG) == daemon_.pid) {
      daemon_.pid = -1;
      return false;
    }
    if (!sent) sent = control_->try_send(request);
    if (transport::wait_readable(sockets, std::chrono::milliseconds(20)) && control_->try_receive())
      return true;
  }
  return false;
}

int Run::start_job() {
  process::ChildOptions job;
  job.arguments = request_.command;
  job.signals = signals_.given();
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
  signals_.hold();
  job_begin_ = clock_.realtime();
  auto pid = process::spawn(job);
  if (!pid) {
    say(pid.error().message);
    job_ended_ = true;
    job_end_ = job_begin_;
    return pid.error().code == ErrorCode::kNotFound ? 127 : 126;
  }
  job_ = *pid;
  signals_.release(job_);
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
      wait_.begin();
      exit_code_ = process::exit_code_of(status);
      continue;
    }
    Helper* const helper = helpers_.running_as(pid);
    if (helper == nullptr) continue;
    if (helper == &daemon_) control_.reset();
    const std::string what = helpers_.ended(*helper, status, job_ended_);
    if (!what.empty() && !request_.quiet && !job_ended_ && job_ > 0) say(what);
  }
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

// logind takes away what a user has in shared memory and below /run/user when the last session ends
// (RemoveIPC). The daemon has its sockets there, and processes yet to come look for it: it is made anew, and
// the daemon started again, which loses nothing. What is mapped already stays so.
void Run::check_place() {
  const TimeNs now = clock_.monotonic();
  if (place_lost_ || now < next_place_check_) return;
  next_place_check_ = now + kPlaceCheck;
  if (daemon_.pid < 0) return;
  if (inode_of(directory_.path) == place_.inode &&
      (now - daemon_.started < kReadyPatience ||  // it is about to make its sockets
       inode_of(directory_.path + "/control.ipc") != 0))
    return;
  const std::string gone =
      directory_.path + ": was taken away (logind does that at a logout; loginctl enable-linger keeps it)";
  transport::remove_run_directory(directory_);
  auto made = transport::new_run_directory(place_.run);
  if (!made) {
    place_lost_ = true;
    say(gone + ", and cannot be made again (" + made.error().message +
        "): what is watched already goes on; `margay status` does not find this run, and processes that the "
        "job "
        "starts from now on are not watched");
    return;
  }
  place_.inode = inode_of(directory_.path);
  say(gone + "; it is made again, and the daemon started anew");
  for (Helper* h : helpers_.all()) h->options.inherited = {transport::claim_of(directory_)};
  for (const ReaderPlan& plan : plans_)  // for programs yet to come
    if (plan.spool) static_cast<void>(gst::LogSpool::open(plan.spool->directory()));
  daemon_.told_to_end = true;
  kill(daemon_.pid, SIGKILL);
}

void Run::supervise() {
  while (!job_ended_) {
    pollfd p{signals_.descriptor(), POLLIN, 0};
    poll(&p, 1, kPollMs);
    signals_.pass_on(job_);
    reap();
    if (!watched_) continue;
    if (!job_ended_) {
      helpers_.start_again_if_due();
      check_place();
    }
    for (const ReaderPlan& plan : plans_)
      if (plan.spool) plan.spool->bound(plan.most_bytes);
    show_reports();
  }
}

// A reader has not begun with what the job has written for it.
bool Run::nothing_read() {
  return std::any_of(plans_.begin(), plans_.end(),
                     [](const ReaderPlan& p) { return p.spool && p.spool->unread(); });
}

// Asks the daemon for the end; nothing of it where it does not answer.
RunAccount Run::close_books() {
  wire::ControlRequest request;
  request.set_version(wire::kWireVersion);
  request.set_kind(wire::ControlRequest::FINISH);
  request.set_exit_code(exit_code_);
  request.set_timeout_ns(kSourcesPatience.value);
  const TimeNs until = clock_.monotonic() + kFinishPatience;
  bool sent = false;
  // The daemon knows of a program that came and went when the agent has found what it left, and a reader what
  // it wrote: that comes first, or the daemon would close the books on nothing. One that takes longer the
  // daemon waits for, but not for a reader that has not even begun, of which it knows nothing yet.
  TimeNs ask = clock_.monotonic() + kLastLook;
  const TimeNs latest = clock_.monotonic() + kReaderPatience;
  std::map<Helper*, pid_t> told;
  TimeNs next_nudge{};
  bool stopped = false;
  while (clock_.monotonic() < until && !wait_.may_leave()) {
    reap();
    const bool nudge = clock_.monotonic() >= next_nudge;
    if (nudge) {
      next_nudge = clock_.monotonic() + kNudge;
      const char state = daemon_.pid > 0 ? state_of(daemon_.pid) : '?';
      stopped = state == 'T' || state == 't';  // and goes on for a moment now, at least
    }
    for (Helper* h : helpers_.all()) {
      if (h->pid < 0) continue;
      if (std::exchange(told[h], h->pid) != h->pid && h != &daemon_) kill(h->pid, SIGTERM);
      if (nudge) kill(h->pid, SIGCONT);  // one that somebody has stopped would neither hand over nor write
    }
    // If it died, its successor takes over where the archive stands, and has to be told again.
    if (daemon_.pid < 0) sent = false;
    helpers_.start_again_if_due();
    if (daemon_.pid > 0 && !control_) {
      auto socket =
          transport::Socket::connect(context_, zmq::socket_type::dealer, directory_.control_endpoint());
      if (!socket) break;
      control_.emplace(std::move(*socket));
      sent = false;
    }
    if (daemon_.pid < 0)
      wait_.say("the daemon, which ended before it had written the rest and is started again");
    else
      wait_.say("the daemon (process " + std::to_string(daemon_.pid) + (stopped ? ", which is stopped" : "") +
                ") to write the rest into the archive, for up to " +
                std::to_string(kFinishPatience.value / seconds(1).value) + " s");
    if (!control_) {
      usleep(20'000);
      continue;
    }
    if (clock_.monotonic() < latest && nothing_read()) ask = clock_.monotonic() + kLastLook;
    const auto all = helpers_.all();
    const bool handed_over =
        std::all_of(all.begin() + 1, all.end(), [](const Helper* h) { return h->done; }) ||
        clock_.monotonic() >= ask;
    if (!sent && handed_over) sent = control_->try_send(request);
    transport::Socket* const sockets[] = {&*control_};
    if (transport::wait_readable(sockets, std::chrono::milliseconds(sent ? 20 : 2)))
      if (auto frame = control_->try_receive()) {
        wire::ControlReply reply;
        if (sent && reply.ParseFromString(frame->body)) {
          if (!reply.error().empty()) say(reply.error());
          last_ = reply.report();
          if (!request_.quiet)
            for (const std::string& line : lines_.feed(last_, clock_.monotonic()))
              std::fprintf(stderr, "%s\n", line.c_str());
          return account_of(reply);
        }
      }
    show_reports();
  }
  return {};
}

void Run::end_helpers(bool books_closed) {
  const auto all = helpers_.all();
  for (auto h = all.rbegin(); h != all.rend(); ++h) {
    if ((*h)->pid < 0) continue;
    const bool daemon = *h == &daemon_;
    const DurationNs grace = !daemon        ? kSourcesPatience + seconds(1)
                             : books_closed ? kEndPatience
                                            : kSourcesPatience;
    kill((*h)->pid, SIGTERM);
    kill((*h)->pid, SIGCONT);
    const TimeNs until = clock_.monotonic() + grace;
    while ((*h)->pid > 0 && clock_.monotonic() < until && !wait_.may_leave()) {
      wait_.say((*h)->what + " (process " + std::to_string((*h)->pid) + ") to end");
      usleep(2'000);
      reap();
    }
    if ((*h)->pid > 0 && !process::end_child((*h)->pid, DurationNs(0), DurationNs(0)))
      say((*h)->what + " (process " + std::to_string((*h)->pid) + ") does not end: it waits for a disk");
  }
}

// The job has ended: take what is left, close the books, end the helpers.
void Run::finish() {
  wait_.begin();
  if (!watched_) {
    write_summary({}, false, ending());
    return;
  }
  static_cast<void>(signals_.wish_to_end());  // what ended the job
  RunAccount account = close_books();
  const bool unread = nothing_read();  // the daemon takes nothing more
  const bool answered = account.from == RunAccount::From::kDaemon;
  left_ = !answered && wait_.may_leave();
  if (!left_) end_helpers(answered);
  if (!answered) {
    say(left_
            ? "the daemon is left to end by itself; the archive is read as it is now"
            : "the daemon did not answer within " + std::to_string(kFinishPatience.value / seconds(1).value) +
                  " s; the archive is read as it is");
    if (auto read = account_of_archive(flags_.archive))
      account = std::move(*read);
    else
      say(read.error().message);
  }
  if (unread) {  // how much that is nobody knows
    ++account.unended;
    say("GStreamer's log was not read: its reader has not begun with it");
  }
  write_summary(account, true, ending());
  if (!request_.quiet) print_end(account);
  if (left_) return;  // the daemon takes the directory away
  // The log goes to the archive; the rest was for the time of the run.
  std::error_code ec;
  if (!request_.lttng.empty())  // where it was killed
    fs::remove_all(ReaderPlace{"", {}, "", 0, 0, flags_.archive}.traces(), ec);
  if (fs::file_size(directory_.path + "/log", ec) > 0 && !ec)
    fs::copy_file(directory_.path + "/log", flags_.archive + "/log", fs::copy_options::overwrite_existing,
                  ec);
  transport::remove_run_directory(directory_);
}

void Run::print_end(const RunAccount& account) {
  const auto duration = (job_end_ - job_begin_).value;
  say("the job ended after " + text::duration_text(duration) + " with exit code " +
      std::to_string(exit_code_));
  if (account.from == RunAccount::From::kNobody) {
    say("what was seen of it is unknown: the daemon did not answer, and the archive cannot be read");
    return;
  }
  if (account.resources == 0 && account.complete()) {
    say(account.unwatched.empty() ? nothing_seen(request_) : account.unwatched);
    return;
  }
  say(sentence_of(account));
  if (!account.unwatched.empty()) say(account.unwatched);
  say("archive: " + flags_.archive);
}

int Run::operator()() {
  prepare();
  if (const int failed = start_job(); failed != 0) {
    exit_code_ = failed;
  } else {
    supervise();
  }
  finish();
  return exit_code_;
}

}  // namespace

int run_command(const RunRequest& request) {
  // What is wrong with the request is said before the job starts.
  if (request.command.empty()) {
    say("no job was given; e.g. margay run -- mpirun -np 4 ./your-program");
    return 2;
  }
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
  auto installation = process::find_installation();
  if (!installation) {
    say(installation.error().message);
    return 2;
  }
  JobSignals signals;
  Run run(request, std::move(options), std::move(*installation), signals);
  return run();
}

Declare declare_run() {
  return declare(add_run_command, run_command);
}

}  // namespace margay::daemon
