// margay-gst: reads GStreamer's debug log, live, and sends it as states of threads.
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <google/protobuf/stubs/logging.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <random>

#include "margay/gst/log_reader.h"
#include "margay/gst/log_spool.h"
#include "margay/log/log.h"
#include "margay/node/courier.h"
#include "margay/node/segment_reader.h"
#include "margay/reader/streams.h"
#include "margay/transport/local_user.h"

namespace {

using namespace margay;

volatile std::sig_atomic_t g_terminate = 0;
// Bytes of a file between two looks at everything else: the collector must not wait for us.
constexpr std::size_t kMostAtOnce = 4 << 20;
// A process' first line is read within this of its writing, for the time it tells; if it comes within the
// second after its file.
constexpr DurationNs kQuick = DurationNs(200'000);
constexpr DurationNs kQuickFor = seconds(1);
constexpr DurationNs kGoodbyePatience = seconds(5);  // without progress
constexpr DurationNs kAccountPeriod = milliseconds(100);

int complain(const std::string& sentence) {
  log::error(sentence);
  return 1;
}

std::string program_of(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return node::clean_text(name.c_str(), name.size());
}

struct Settings {
  std::string log, run_dir, run, collector, key;
  std::int64_t period_us = 20'000, owner = 0;
  std::size_t memory = 64 << 20;
  std::uint64_t log_bytes = 32 << 20;
};

class Reader {
 public:
  Reader(const Settings& settings, gst::LogSpool spool, int changes, node::OutboxOptions outbox,
         node::ProcessWatch::Options watch, reader::Ledger* ledger)
      : period_(settings.period_us * 1000),
        spool_(std::move(spool)),
        spool_bytes_(settings.log_bytes),
        changes_(changes),
        outbox_(std::move(outbox)),
        watch_(std::move(watch), clock_),
        streams_(options_of(ledger), outbox_, watch_, clock_, reader::origin_of),
        log_(streams_, program_of) {
    if (settings.owner > 0) owner_.emplace(settings.owner, reader::origin_of(settings.owner).start_time);
  }

  int operator()(node::Courier& courier) {
    if (auto ok = courier.open(); !ok) return complain(ok.error().message);
    for (;;) {
      const auto gone = streams_.gone();  // known before the files are read: what is read is all of theirs
      const bool finishing = g_terminate != 0 || outbox_.finish();
      const bool empty = read_log();
      if (empty)
        for (const auto& g : gone) log_.end_process(g.process);
      if (finishing && empty) streams_.finish();
      put_account(finishing);
      streams_.flush();
      courier.send(outbox_);
      while (courier.receive(outbox_, std::chrono::milliseconds(0))) {
      }
      log::tick();
      if (over(finishing)) {
        say_account();
        return 0;
      }
      wait(empty);
    }
  }

 private:
  static reader::Streams::Options options_of(reader::Ledger* ledger) {
    reader::Streams::Options options;
    options.kind = "gstreamer";
    options.ledger = ledger;
    return options;
  }
  // True when nothing more was there.
  bool read_log() {
    const bool empty = spool_.read(taker_, kMostAtOnce);
    if (empty)
      log_.caught_up(clock_.monotonic());
    else
      spool_.bound(spool_bytes_);
    return empty;
  }
  // Everything is said and confirmed, or nobody is left to hear it.
  bool over(bool finishing) {
    if (!finishing && (!owner_ || owner_->look().presence != node::Presence::kGone)) return false;
    if (!finishing && !streams_.done()) {
      ended_ = TimeNs();
      return false;  // the program goes on without whoever started us
    }
    const TimeNs now = clock_.monotonic();
    if (ended_ == TimeNs() || outbox_.bytes() != left_) {
      ended_ = now;
      left_ = outbox_.bytes();
    }
    return streams_.done() || now - ended_ >= kGoodbyePatience;
  }
  void put_account(bool now) {
    const TimeNs at = clock_.monotonic();
    if (!now && at - account_put_ < kAccountPeriod) return;
    account_put_ = at;
    const gst::LogReader::Counts& c = log_.counts();
    wire::ReaderAccount account;
    account.set_reader("gstreamer");
    account.set_seen(c.lines);
    account.set_used(c.taken);
    account.set_ignored(c.text);
    account.set_unmatched(c.malformed);
    account.set_left_out(c.left_out);
    account.set_discarded(c.dropped);
    outbox_.put_account(account);
  }
  // Where every line went.
  void say_account() const {
    const gst::LogReader::Counts& c = log_.counts();
    const reader::Streams::Counts& s = streams_.counts();
    log::info("GStreamer: " + std::to_string(c.lines) + " lines: " + std::to_string(c.taken) +
              " became states, " + std::to_string(c.text) + " were further text, " +
              std::to_string(c.malformed) + " could not be understood, " + std::to_string(c.left_out) +
              " left out, " + std::to_string(c.dropped) + " were dropped before they were read; " +
              std::to_string(s.names_left_out) + " functions are (other states)");
    if (c.malformed + c.left_out + c.dropped + s.dropped > 0)
      log::warning("GStreamer: " + std::to_string(c.malformed + c.left_out + c.dropped) + " lines and " +
                   std::to_string(s.dropped) + " records were lost");
  }
  // Lines are not worth being woken for each time; the first of a process is, for the time it tells.
  void wait(bool empty) {
    if (!empty || g_terminate != 0) return;
    const TimeNs now = clock_.monotonic();
    if (now < quick_until_ && spool_.has_fresh()) {
      usleep(static_cast<useconds_t>(kQuick.value / 1000));
      return;
    }
    pollfd p{changes_, POLLIN, 0};
    if (poll(&p, 1, static_cast<int>(period_.value / 1'000'000)) <= 0) return;
    char ignored[4096];
    while (read(changes_, ignored, sizeof ignored) > 0) {
    }
    quick_until_ = clock_.monotonic() + kQuickFor;
  }

  SystemClock clock_;
  DurationNs period_;
  gst::LogSpool spool_;
  std::uint64_t spool_bytes_;
  int changes_;  // of the directory
  TimeNs quick_until_{};
  node::Outbox outbox_;
  node::ProcessWatch watch_;
  reader::Streams streams_;
  gst::LogReader log_;
  gst::LogSpool::Taker taker_{[this](std::string_view lines) { log_.feed(lines, clock_.monotonic()); },
                              [this](std::int64_t pid, std::uint64_t lines) { log_.lost(pid, lines); }};
  std::optional<node::ProcessProbe> owner_;
  TimeNs ended_{}, account_put_{};
  std::size_t left_ = 0;
};

int run(const Settings& s) {
  auto spool = gst::LogSpool::open(s.log);
  if (!spool) return complain(spool.error().message);
  const int changes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (changes < 0 || inotify_add_watch(changes, s.log.c_str(), IN_CREATE) < 0)
    log::warning(s.log + ": cannot be watched (" + std::strerror(errno) +
                 "): times of a process' first lines are up to 20 ms late");
  node::OutboxOptions outbox;
  outbox.run = s.run;
  outbox.memory_bytes = s.memory;
  std::random_device random;
  outbox.agent = (std::uint64_t{random()} << 32) | random();
  node::ProcessWatch::Options watch;
  watch.host = reader::origin_of(getpid()).host;
  watch.owner_pid = s.owner;
  const SystemClock clock;
  zmq::context_t context(1);
  const transport::RunDirectory place{s.run_dir};
  if (auto ok = transport::check_run_directory(place); !ok) return complain(ok.error().message);
  node::Courier courier(context, clock, s.collector.empty() ? place.ingest_endpoint() : s.collector, s.key);
  // One that takes over from us when we die goes on as the same source.
  std::unique_ptr<reader::Ledger> ledger;
  if (auto opened = reader::Ledger::open(place.path + "/gst.ledger"))
    ledger = std::move(*opened);
  else
    log::warning(opened.error().message + ": a reader that takes over will be another source");
  const auto reader = std::make_unique<Reader>(s, std::move(*spool), changes, outbox, watch, ledger.get());
  return (*reader)(courier);
}

}  // namespace

int main(int argc, char** argv) try {
  google::protobuf::SetLogHandler(nullptr);
  Settings s;
  CLI::App app{
      "margay-gst reads the debug log of GStreamer programs, live, and sends it to a run's collector: the\n"
      "function that wrote a thread's newest line is the state of that thread. `margay run --gst-debug -- "
      "COMMAND` starts\n"
      "it, and you seldom need to.\n\n"
      "It reads as fast as the program writes, whatever the collector does: what does not fit --memory is "
      "dropped and\n"
      "counted, and so are the oldest lines where more than --log-memory of them wait. It ends when the run "
      "is over, or its owner and the programs are gone.",
      "margay-gst"};
  app.add_option("--log", s.log,
                 "The directory of the log: the program is given GST_DEBUG_FILE=DIRECTORY/%p-%r")
      ->required();
  app.add_option("--log-memory", s.log_bytes, "Most of the log that waits to be read, e.g. 32MiB")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("32MiB");
  app.add_option("--run-dir", s.run_dir, "The run's directory (MARGAY_RUN_DIR of the job)")->required();
  app.add_option("--run", s.run, "The run's name")->required();
  app.add_option(
      "--collector", s.collector,
      "The daemon on another machine, e.g. tcp://head:7411 (default: the one of the run's directory)");
  app.add_option("--key", s.key,
                 "File with this node's key for it, made by `margay keys add ... --role source`");
  const std::map<std::string, std::int64_t> units{{"us", 1}, {"ms", 1000}, {"s", 1'000'000}};
  app.add_option("--period", s.period_us, "How often the log is read, e.g. 20ms")
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED))
      ->check(CLI::Range(std::int64_t{1000}, std::int64_t{10'000'000}))
      ->default_str("20ms");
  app.add_option("--memory", s.memory, "Most memory for what is not yet confirmed, e.g. 64MiB")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("64MiB");
  app.add_option("--owner-pid", s.owner, "End when this process and all that write the log are gone");
  CLI11_PARSE(app, argc, argv);
  log::Options log_options;
  log_options.program = "margay-gst";
  log::start(log_options);
  struct sigaction action {};
  action.sa_handler = [](int) { g_terminate = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGIO, SIG_IGN);  // of a lease that somebody wanted to break
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &term, nullptr);  // `margay run` starts us with it blocked
  return run(s);
} catch (const std::exception& e) {
  return complain(e.what());
}
