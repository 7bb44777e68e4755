// kills_run: a captured job played to a margayd that is killed at chosen moments. `--kills 0` is the same run
// without them.
//
//   kills_run --capture FILE --archive DIR --daemon margayd --faults libmargay-faults.so --place DIR
//             [--kills 24] [--seed 1] [--copies 8] [--seconds 16] [--realtime NS] [--config FILE] [--run
//             NAME]
//
// Plays the node agent with the agent's own Outbox over the real socket, restarts the daemon as `margay run`
// does, and ends the run as it does. Two runs with the same --capture, --realtime, --copies, --seconds and
// --seed hand over the same records at the same trace times, whatever is killed.
//
// stdout: a line a kill, then one JSON object. Exit code: 0; 1 when a kill did not hit what it was meant to
// hit, or the run did not come to its end; 2 for a wrong call. MARGAY_RUNTIME_DIR says where the sockets lie.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "captured_job.h"
#include "faulty_daemon.h"
#include "kill_plan.h"
#include "margay/node/outbox.h"
#include "margay/transport/rundir.h"
#include "margay/transport/transport.h"
#include "margay/wire/columns.h"
#include "margay/wire/control.pb.h"

namespace {

using namespace margay;
using test::CapturedJob;
using test::FaultyDaemon;
using test::KillKind;

constexpr DurationNs kPeriod = milliseconds(4);
constexpr DurationNs kLead =
    milliseconds(500);  // from the first answer of the daemon to the begin of the job
constexpr DurationNs kNoMatch = milliseconds(1500);  // an order that nothing matched is given up
constexpr DurationNs kAmendSoon = milliseconds(250);
constexpr DurationNs kCalm =
    milliseconds(500);  // without kills before a wave, so that everybody has caught up
constexpr DurationNs kStuck = seconds(60);
constexpr DurationNs kSlice = milliseconds(100);

struct Settings {
  std::string capture, archive, daemon, faults, place, config, run = "kills";
  std::uint32_t kills = 24;
  std::int64_t realtime = 1'800'000'000'000'000'000;
  std::int64_t last = 16;
  test::JobOptions job;
};

int complain(const std::string& sentence) {
  std::fprintf(stderr, "kills_run: %s\n", sentence.c_str());
  return 1;
}

class KillsRun {
 public:
  KillsRun(const Settings& s, CapturedJob job, FaultyDaemon daemon, transport::RunDirectory directory)
      : settings_(s),
        job_(std::move(job)),
        daemon_(std::move(daemon)),
        directory_(std::move(directory)),
        outbox_({s.run, 1, std::size_t{64} << 20}),
        plan_(s.kills, s.job.seed) {}
  int operator()();

 private:
  bool connect();
  void hear();
  void say(TimeNs now);
  void flush(TimeNs now);
  bool watch_daemon(TimeNs now);
  void kill_on(TimeNs now);
  void give_up(TimeNs now);
  bool arm_amendment(TimeNs now, bool& wait);
  bool finish();
  void print(TimeNs begun);

  const Settings& settings_;
  SystemClock clock_;
  CapturedJob job_;
  FaultyDaemon daemon_;
  transport::RunDirectory directory_;
  zmq::context_t context_{1};
  std::optional<transport::Socket> agent_, reports_;
  node::Outbox outbox_;
  test::KillPlan plan_;
  TimeNs begin_{};                         // of the job, host time; 0 before
  std::uint64_t instance_ = 0, dead_ = 0;  // of the daemon heard last; of the one that died last
  bool settled_ = false;                   // this daemon has confirmed something
  std::int64_t calls_ = 40, reads_ = 0;    // of the last recovery that came to its end
  bool pending_ = false;                   // a kill is ordered, or its victim is not yet buried
  TimeNs armed_at_{}, given_up_at_{};
  std::size_t wave_ = 0;
  std::int64_t closed_ = 0;  // slices before and with this one are, as the last report says
  std::uint64_t given_up_ = 0, wrong_ = 0;
  std::string summary_, error_;
};

bool KillsRun::connect() {
  auto agent = transport::Socket::connect(context_, zmq::socket_type::dealer, directory_.ingest_endpoint());
  auto reports = transport::Socket::connect(context_, zmq::socket_type::sub, directory_.reports_endpoint());
  if (!agent || !reports) return false;
  agent_.emplace(std::move(*agent));
  reports_.emplace(std::move(*reports));
  reports_->subscribe_all();
  return true;
}

void KillsRun::hear() {
  while (auto frame = agent_->try_receive()) {
    wire::ToAgent reply;
    if (!reply.ParseFromString(frame->body)) continue;
    if (reply.instance() != instance_) {
      instance_ = reply.instance();
      settled_ = false;
    }
    // What a dead daemon had said may still be on its way.
    if (reply.acks_size() > 0 && reply.instance() != dead_) {
      if (!settled_ && !daemon_.armed()) {
        calls_ = daemon_.page().calls;
        reads_ = daemon_.page().reads_analyse;
      }
      settled_ = true;
      if (pending_ && plan_.armed() == KillKind::kRecovery) give_up(clock_.monotonic());  // it is over
    }
    outbox_.on_reply_untrusted(reply, clock_.monotonic());
  }
  while (auto frame = reports_->try_receive()) {
    wire::Report report;
    if (report.ParseFromString(frame->body)) closed_ = report.slice_index();
  }
}

// What is due goes into the outbox, as long as it has room; the rest waits, as in the rings.
void KillsRun::say(TimeNs now) {
  while (outbox_.has_room() && job_.due((now - begin_).value)) {
    test::Words words = job_.take(begin_);
    if (auto* hello = std::get_if<wire::Hello>(&words))
      outbox_.put_hello(*hello);
    else if (auto* goodbye = std::get_if<wire::Goodbye>(&words))
      outbox_.put_goodbye(*goodbye);
    else if (auto& batch = std::get<wire::EventBatch>(words); batch.count() > 0)
      outbox_.put_batch(std::move(batch));
    else
      outbox_.put_heartbeat(batch);
  }
}

void KillsRun::flush(TimeNs now) {
  outbox_.flush(now, [&](const wire::ToCollector& m) { return agent_->try_send(m); });
  if (!outbox_.take_reconnect()) return;
  auto again = transport::Socket::connect(context_, zmq::socket_type::dealer, directory_.ingest_endpoint());
  if (again) agent_.emplace(std::move(*again));
}

// Judges a kill, and starts the next daemon. False when the daemon died of itself.
bool KillsRun::watch_daemon(TimeNs now) {
  const auto status = daemon_.ended();
  if (!status) return true;
  if (!WIFSIGNALED(*status) || WTERMSIG(*status) != SIGKILL) {
    error_ = "the daemon ended with status " + std::to_string(*status);
    return false;
  }
  std::string line;
  const std::string wrong = plan_.judge(daemon_.page(), settled_, line);
  std::printf("%6.2f s  %s%s%s\n", static_cast<double>((now - begin_).value) / 1e9, line.c_str(),
              wrong.empty() ? "" : "  NOT COUNTED: ", wrong.c_str());
  std::fflush(stdout);
  // A recovery may be over a moment before this side hears of it: that kill counts for nothing.
  if (!wrong.empty() && !(plan_.armed() == KillKind::kRecovery && settled_)) ++wrong_;
  if (daemon_.armed()) {
    error_ = "the daemon was killed by somebody else";
    return false;
  }
  settled_ = pending_ = false;
  dead_ = instance_;
  if (plan_.wants_recovery()) {
    pending_ = true;
    plan_.arm_recovery(daemon_, calls_, reads_);
    armed_at_ = now;
  }
  daemon_.start();
  return true;
}

// True when a wave's end is near and the slices it touches are closed: then it is armed. `wait` when it will
// be soon.
bool KillsRun::arm_amendment(TimeNs now, bool& wait) {
  const auto& waves = job_.waves();
  while (wave_ < waves.size() && begin_.value + waves[wave_].end <= now.value) ++wave_;
  if (wave_ == waves.size() || plan_.left(KillKind::kAmendment) == 0) return false;
  const TimeNs begin = begin_ + DurationNs(waves[wave_].begin), end = begin_ + DurationNs(waves[wave_].end);
  // Every second wave is left alone up to its end, so that its slices are closed by then.
  wait = wave_ % 2 == 0 && now > begin - kCalm;
  if (end - now > kAmendSoon) return false;
  const SliceIndex slice =
      slice_of(begin + milliseconds(150) + DurationNs(daemon_.page().realtime_offset), kSlice);
  if (closed_ < slice.value) return false;
  plan_.arm_amendment(daemon_, slice, end);
  return true;
}

// Nothing matched the order.
void KillsRun::give_up(TimeNs now) {
  if (!daemon_.armed()) return;  // it just did
  daemon_.disarm();
  ++given_up_;
  given_up_at_ = now;
  pending_ = false;
  std::printf("%6.2f s  %s: not met\n", static_cast<double>((now - begin_).value) / 1e9,
              test::kKillNames[static_cast<std::size_t>(plan_.armed())]);
}

void KillsRun::kill_on(TimeNs now) {
  if (pending_) {
    if (!daemon_.armed() || now - armed_at_ < kNoMatch) return;  // dying, or not yet
    give_up(now);
    return;
  }
  // An order that was given up may have been matched at that very moment.
  if (now - given_up_at_ < milliseconds(50)) return;
  if (!settled_ || plan_.left() == plan_.left(KillKind::kRecovery)) return;
  bool wait = false;
  if (arm_amendment(now, wait)) {
    armed_at_ = now;
    pending_ = true;
    return;
  }
  if (wait || plan_.left(KillKind::kCommit) + plan_.left(KillKind::kAck) == 0) return;
  plan_.arm_next(daemon_);
  armed_at_ = now;
  pending_ = true;
}

// As `margay run` ends a run.
bool KillsRun::finish() {
  daemon_.disarm();
  // What is left of the commits meets the last ones.
  if (settled_ && plan_.left(KillKind::kCommit) + plan_.left(KillKind::kAck) > 0) plan_.arm_next(daemon_);
  armed_at_ = clock_.monotonic();
  wire::ControlRequest request;
  request.set_version(wire::kWireVersion);
  request.set_kind(wire::ControlRequest::FINISH);
  request.set_timeout_ns(seconds(10).value);
  const TimeNs until = clock_.monotonic() + kStuck;
  std::optional<transport::Socket> control;
  std::uint32_t told = 0;
  bool sent = false;
  while (clock_.monotonic() < until) {
    if (!watch_daemon(clock_.monotonic())) return false;
    hear();
    flush(clock_.monotonic());
    if (!control || told != daemon_.restarts()) {
      // If it died, its successor has to be told again.
      auto socket =
          transport::Socket::connect(context_, zmq::socket_type::dealer, directory_.control_endpoint());
      if (!socket) return false;
      control.emplace(std::move(*socket));
      told = daemon_.restarts();
      sent = false;
    }
    if (!sent) sent = control->try_send(request);
    transport::Socket* const one = &*control;
    if (!transport::wait_readable({&one, 1}, std::chrono::milliseconds(5))) continue;
    const auto frame = control->try_receive();
    wire::ControlReply reply;
    if (!frame || !reply.ParseFromString(frame->body)) continue;
    error_ = reply.error();
    summary_ = reply.summary_json();
    return error_.empty() && daemon_.end(seconds(20));
  }
  error_ = "the daemon did not answer at the end";
  return false;
}

void KillsRun::print(TimeNs begun) {
  nlohmann::ordered_json j;
  j["records"] = job_.records();
  j["processes"] = job_.processes();
  j["job_seconds"] = static_cast<double>(job_.duration_ns()) / 1e9;
  j["seconds"] = static_cast<double>((clock_.monotonic() - begun).value) / 1e9;
  for (std::size_t k = 0; k < 4; ++k) j["kills"][test::kKillNames[k]] = plan_.done(static_cast<KillKind>(k));
  j["restarts"] = daemon_.restarts();
  j["not_met"] = given_up_;
  j["left"] = plan_.left();
  j["resends"] = outbox_.resends();
  j["waves"] = job_.waves().size();
  j["error"] = error_;
  j["summary"] =
      summary_.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json::parse(summary_, nullptr, false);
  std::puts(j.dump().c_str());
}

int KillsRun::operator()() {
  const TimeNs begun = clock_.monotonic();
  if (!connect()) return complain("no sockets");
  daemon_.start();
  TimeNs progress = begun;
  std::size_t before = 0;
  bool good = true;
  for (;;) {
    const TimeNs now = clock_.monotonic();
    if (!(good = watch_daemon(now))) break;
    if (begin_ == TimeNs()) {
      if (daemon_.page().realtime_offset != 0)
        // The same trace time in every run: so long after the time that the daemon takes for its begin.
        begin_ = TimeNs(settings_.realtime - daemon_.page().realtime_offset) + kLead;
    } else {
      say(now);
      flush(now);
      hear();
      kill_on(now);
      if (job_.over() && !outbox_.outstanding()) break;
    }
    if (outbox_.bytes() != before || (!job_.over() && !job_.due((now - begin_).value))) progress = now;
    before = outbox_.bytes();
    if (now - progress > kStuck) {
      error_ = "nothing is confirmed any more";
      good = false;
      break;
    }
    const std::int64_t left = (now + kPeriod - clock_.monotonic()).value;
    if (left > 0) usleep(static_cast<useconds_t>(left / 1000));
  }
  if (good) good = finish();
  print(begun);
  transport::remove_run_directory(directory_);
  if (!error_.empty()) complain(error_);
  return good && wrong_ == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  Settings s;
  std::int64_t period_ms = 1200;
  CLI::App app{
      "kills_run: plays a captured job to a margayd that is killed at chosen moments (see the source)."};
  app.add_option("--capture", s.capture)->required();
  app.add_option("--archive", s.archive)->required();
  app.add_option("--daemon", s.daemon)->required();
  app.add_option("--faults", s.faults)->required();
  app.add_option("--place", s.place, "directory for the page and the daemon's log")->required();
  app.add_option("--config", s.config);
  app.add_option("--run", s.run);
  app.add_option("--kills", s.kills);
  app.add_option("--seed", s.job.seed);
  app.add_option("--copies", s.job.copies);
  app.add_option("--seconds", s.last);
  app.add_option("--realtime", s.realtime);
  app.add_option("--late-period", period_ms, "ms; 0: no process is ever late");
  CLI11_PARSE(app, argc, argv);
  s.job.at_least = seconds(s.last);
  s.job.late_period = milliseconds(period_ms);
  auto job = CapturedJob::load(s.capture, s.job);
  if (!job) return complain(job.error().message);
  auto directory = transport::make_run_directory(s.run);
  if (!directory) return complain(directory.error().message);
  std::error_code ec;
  const std::string archive = std::filesystem::absolute(s.archive, ec).string();
  std::vector<std::string> arguments = {s.daemon,
                                        "--run",
                                        s.run,
                                        "--archive",
                                        archive,
                                        "--slice",
                                        "100ms",
                                        "--command",
                                        "a captured job",
                                        "--owner-pid",
                                        std::to_string(getpid())};
  if (!s.config.empty()) arguments.insert(arguments.end(), {"--config", s.config});
  auto daemon = FaultyDaemon::make(arguments, s.faults, s.place + "/page", archive, TimeNs(s.realtime),
                                   s.place + "/daemon.log");
  if (!daemon) return complain(daemon.error().message);
  signal(SIGPIPE, SIG_IGN);
  KillsRun run(s, std::move(*job), std::move(*daemon), *directory);
  return run();
} catch (const std::exception& e) {
  return complain(e.what());
}
