// margay-lttng: keeps LTTng's daemons and a live session for a run, and the reader that reads it.
//
//   margay run --lttng --- margay-lttng ---+--- lttng-sessiond, lttng-relayd   of its own
//                                          +--- margay-lttng-reader            started again if it dies
//
// Once a reader is attached, RUN_DIR/lttng.environment says what the job needs in its environment.
//
//   margayd --- margay-lttng --attach ---+--- margay-lttng-reader          for each session of others
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "attached_sessions.h"
#include "margay/base/time.h"
#include "margay/log/log.h"
#include "margay/lttng_rules/rule_set.h"
#include "margay/lttng_session/daemons.h"
#include "margay/lttng_session/live_session.h"
#include "margay/lttng_session/private_network.h"
#include "margay/lttng_session/program.h"
#include "margay/process/end_signals.h"
#include "margay/text/help_page.h"
#include "margay/transport/local_user.h"
#include "reader_process.h"

namespace {

using namespace margay;
namespace fs = std::filesystem;

constexpr int kRoundMs = 200;
constexpr DurationNs kRestartPause = milliseconds(200), kLongestPause = seconds(10);
constexpr DurationNs kWatchPeriod = seconds(1);

int complain(const std::string& sentence) {
  log::error(sentence);
  return 1;
}

struct Settings {
  std::string run_dir, run;
  std::string traces;  // where the relay daemon keeps them; "": with its sockets
  std::vector<std::string> helpers, events, files;
  std::vector<std::string> attach;  // sessions of others; none: a session of our own
  std::int64_t owner = 0;
  std::size_t memory = 64 << 20;
  lttng::LiveOptions live;
  std::int64_t live_timer_us = live.live_timer.value / 1000;
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

// For `margay run` to repeat; before tell_environment().
void leave_note(const Settings& s, const std::string& sentence) {
  log::warning(sentence);
  std::ofstream(s.run_dir + "/lttng.note", std::ios::trunc) << sentence << '\n';
}

// Half of what is free, where that is less than what it may take: the disk is others' as well.
std::uint64_t disk_for(const Settings& s, const std::string& traces) {
  struct statvfs info {};
  if (s.live.most_disk == 0 || ::statvfs(traces.c_str(), &info) != 0) return s.live.most_disk;
  const std::uint64_t room = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize / 2;
  if (room >= s.live.most_disk) return s.live.most_disk;
  log::warning(traces + ": what waits for the reader may take " + std::to_string(room >> 20) +
               " MiB, half of what is free there, and not lttng.disk");
  return std::max<std::uint64_t>(room, 1);  // 0 is no bound
}

// Traces of sessions that were given up are nobody's to read, and would come on top of lttng.disk. The one
// before the present one stays: its reader may be at its end.
void remove_old_traces(const std::string& traces, const std::string& present, const std::string& before) {
  std::error_code ec;
  std::vector<fs::path> old;  // HOST/SESSION-TIME
  for (fs::directory_iterator host(traces, ec), end; !ec && host != end; host.increment(ec)) {
    std::error_code none;
    for (fs::directory_iterator i(host->path(), none); !none && i != end; i.increment(none)) {
      const std::string name = i->path().filename();
      if (!name.starts_with(present + "-") && !name.starts_with(before + "-")) old.push_back(i->path());
    }
  }
  for (const fs::path& path : old) fs::remove_all(path, ec);
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

std::vector<std::string> reader_arguments(const Settings& s, const std::string& program,
                                          const std::vector<std::string>& sets) {
  std::vector<std::string> arguments{
      program, "--run-dir", s.run_dir, "--run", s.run, "--memory", std::to_string(s.memory) + "b"};
  if (s.owner > 0) arguments.insert(arguments.end(), {"--owner-pid", std::to_string(s.owner)});
  for (const std::string& set : sets) arguments.insert(arguments.end(), {"--rules", set});
  for (const std::string& file : s.files) arguments.insert(arguments.end(), {"--rules-file", file});
  return arguments;
}

int run_attached(const Settings& s, const std::string& reader_program) {
  const SystemClock clock;
  std::vector<lttng::SessionPattern> patterns;
  for (const std::string& text : s.attach) {
    auto pattern = lttng::parse_session_pattern(text);
    if (!pattern) return complain(pattern.error().message);
    patterns.push_back(std::move(*pattern));
  }
  lttng::AttachedSessions sessions(
      std::move(patterns), reader_arguments(s, reader_program, lttng_rules::RuleSet::shipped_names()), clock);
  while (!process::asked_to_end() && alive(s.owner)) {
    sessions.tick();
    log::tick();
    usleep(kRoundMs * 1000);
  }
  sessions.stop();
  return 0;
}

// A session of our own on daemons of our own, and the reader that reads it: each is started again when it
// dies.
class OwnSession {
 public:
  OwnSession(const Settings& settings, lttng::OwnDaemons& daemons, lttng::LiveSession& session,
             const std::vector<std::string>& reader_arguments)
      : settings_(settings), daemons_(daemons), session_(session), reader_(reader_arguments) {}

  Status start() {
    if (Status ok = session_.start(); !ok) return ok;
    if (!reader_.start(session_.url()))
      return fail(ErrorCode::kIo, std::string("no reader: ") + std::strerror(errno));
    return {};
  }

  // Waits a little for the reader to attach; the first time it has, the job is told its environment.
  Status tick() {
    if (reader_.attached(kRoundMs) && !std::exchange(told_, true))
      if (Status ok = tell_environment(settings_, daemons_.daemons()); !ok) return ok;
    const TimeNs now = clock_.monotonic();
    if (!reader_.running() && !restart_reader(now)) {
      usleep(20'000);
      return {};
    }
    if (now >= watch_at_) {
      watch_at_ = now + kWatchPeriod;
      mend_session();
    }
    return {};
  }

  void stop() {
    static_cast<void>(session_.stop());
    say_losses(session_);
    static_cast<void>(session_.destroy());
    reader_.finish(clock_);
  }

 private:
  // False: not yet; the more often it dies, the longer it is waited.
  bool restart_reader(TimeNs now) {
    if (restart_at_ == TimeNs()) {
      log::error(
          "the reader of the LTTng trace ended unexpectedly; it is started again; what it had not "
          "delivered is lost");
      restart_at_ = now + pause_;
      pause_ = std::min(pause_ * 2, kLongestPause);
    }
    if (now < restart_at_) return false;
    restart_at_ = TimeNs();
    if (!reader_.start(session_.url())) log::error(std::string("no reader: ") + std::strerror(errno));
    return true;
  }

  void mend_session() {
    auto well = session_.alive();
    if (well) well = daemons_.alive();
    if (well) return;
    log::error(well.error().message +
               "; it is started again, and the session made anew: what happens until then "
               "is lost");
    const std::string before = session_.name();
    if (auto ok = daemons_.mend(); !ok) return log::error(ok.error().message);
    if (auto ok = session_.again(daemons_.daemons()); !ok) return log::error(ok.error().message);
    reader_.order(session_.url());
    if (!settings_.traces.empty()) remove_old_traces(settings_.traces, session_.name(), before);
    log::info("the LTTng session goes on as " + session_.name());
  }

  const SystemClock clock_;
  const Settings& settings_;
  lttng::OwnDaemons& daemons_;
  lttng::LiveSession& session_;
  lttng::ReaderProcess reader_;
  bool told_ = false;
  DurationNs pause_ = kRestartPause;
  TimeNs restart_at_{}, watch_at_{};
};

// The directory for traces, made anew, and what they may take there.
Status make_traces_directory(Settings& s) {
  if (s.traces.empty()) return {};
  std::error_code ec;
  fs::remove_all(s.traces, ec);
  if (::mkdir(s.traces.c_str(), 0700) != 0)
    return fail(ErrorCode::kIo, s.traces + ": cannot be made: " + std::strerror(errno));
  s.live.most_disk = disk_for(s, s.traces);
  return {};
}

int run(Settings s, const std::string& reader_program) {
  auto events = events_of(s);
  if (!events) return complain(events.error().message);
  lttng::OwnDaemonsOptions own;
  own.directory = transport::shared_memory_of({s.run_dir}) + "/lttng";
  own.traces = s.traces;
  std::error_code ec;
  fs::remove_all(own.directory, ec);  // of one before us that died
  if (auto ok = make_traces_directory(s); !ok) return complain(ok.error().message);
  if (auto ok = lttng::enter_private_network(); !ok)
    leave_note(
        s,
        "LTTng's relay daemon listens on 127.0.0.1, where every user of this machine can read the trace and "
        "send one (" +
            ok.error().message + "): do not use --lttng beside users who are not trusted");
  auto daemons = lttng::OwnDaemons::start(own);
  if (!daemons) return complain(daemons.error().message);
  s.live.run = s.run;
  s.live.events = std::move(*events);
  auto session = lttng::LiveSession::create((*daemons)->daemons(), s.live);
  if (!session) return complain(session.error().message);
  const std::vector<std::string> arguments = reader_arguments(s, reader_program, sets_of(s));
  OwnSession kept(s, **daemons, *session, arguments);
  if (auto ok = kept.start(); !ok) return complain(ok.error().message);
  while (!process::asked_to_end() && alive(s.owner))
    if (auto ok = kept.tick(); !ok) return complain(ok.error().message);
  kept.stop();
  (*daemons)->stop();
  if (!s.traces.empty()) fs::remove_all(s.traces, ec);
  return 0;
}

void add_options(CLI::App& app, Settings& s) {
  app.add_option("--run-dir", s.run_dir, "directory of the run (MARGAY_RUN_DIR of the job)")
      ->type_name("DIR")
      ->required();
  app.add_option("--run", s.run, "name of the run")->type_name("NAME")->required();
  app.add_option("--preload", s.helpers,
                 "helpers for programs without trace points: pthread, libc, functions, dl, fork, fd")
      ->type_name("NAME,...")
      ->delimiter(',');
  app.add_option("--event", s.events, "trace these events as well, e.g. 'my_app:*'")->type_name("EVENT");
  app.add_option("--rules-file", s.files, "what events mean (RULES.md); these events are traced")
      ->type_name("FILE");
  app.add_option("--memory", s.memory, "most memory of the reader for records that are not confirmed yet")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("64MiB");
  app.add_option("--sub-buffer", s.live.sub_buffer_bytes, "size of one buffer of a CPU")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("256KiB");
  app.add_option("--sub-buffers", s.live.sub_buffers, "number of buffers of each CPU")
      ->type_name("NUMBER")
      ->default_str("8");
  app.add_option("--buffer-memory", s.live.most_memory, "most memory for the buffers of all CPUs")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("512MiB");
  app.add_option("--disk", s.live.most_disk,
                 "most disk space for events that wait on the relay daemon's disk")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("2GiB");
  app.add_option("--traces", s.traces,
                 "directory for these events, made and removed (default: in memory, with LTTng's sockets)")
      ->type_name("DIR");
  const std::map<std::string, std::int64_t> units{{"us", 1}, {"ms", 1000}, {"s", 1'000'000}};
  app.add_option("--live-timer", s.live_timer_us, "how often the buffers are flushed")
      ->type_name("DURATION")
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED))
      ->check(CLI::Range(std::int64_t{10'000}, std::int64_t{10'000'000}))
      ->default_str("100ms");
  app.add_option("--attach", s.attach,
                 "make no session; read sessions of this relay daemon: "
                 "net://HOST[:PORT][/host/HOSTNAME/SESSION]")
      ->type_name("URL");
  app.add_option("--owner-pid", s.owner, "end when this process is gone")->type_name("PID");
}

}  // namespace

int main(int argc, char** argv) try {
  Settings s;
  CLI::App app{
      R"(Start an LTTng session daemon and relay daemon for a run, on sockets and in a network of their own,
make a live session, and start the reader that sends it to the daemon. `margay run --lttng` starts
it:

  margay run --lttng=pthread -- ./app
  margay-lttng --run-dir "$MARGAY_RUN_DIR" --run night --attach net://head

A daemon that dies is started again with a new session. With --attach it reads sessions that others
made, on this or other hosts; margayd starts it for the key lttng.sessions.)",
      "margay-lttng"};
  text::use_help_page(app);
  add_options(app, s);
  CLI11_PARSE(app, argc, argv);
  log::start({.program = "margay-lttng"});
  process::take_end_signals(false);
  s.live.live_timer = DurationNs(s.live_timer_us * 1000);
  std::error_code ec;
  const fs::path self = fs::read_symlink("/proc/self/exe", ec);
  const std::string reader = (self.parent_path() / "margay-lttng-reader").string();
  return s.attach.empty() ? run(std::move(s), reader) : run_attached(s, reader);
} catch (const std::exception& e) {
  return complain(e.what());
}
