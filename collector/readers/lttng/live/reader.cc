// margay-lttng-reader: reads a live session of LTTng and sends it as states of threads, as rules say.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <google/protobuf/stubs/logging.h>
#include <CLI/CLI.hpp>
#include <csignal>
#include <functional>
#include <random>

#include "margay/log/log.h"
#include "margay/lttng_rules/interpreter.h"
#include "margay/lttng_trace/trace_reader.h"
#include "margay/node/courier.h"
#include "margay/reader/streams.h"
#include "margay/transport/local_user.h"

namespace {

using namespace margay;

constexpr std::uint64_t kEventsAtOnce = 20'000;
constexpr int kPauseMs = 5;  // where nothing is there
constexpr DurationNs kAccountPeriod = milliseconds(100);
constexpr DurationNs kGoodbyePatience = seconds(5);  // without progress
// The newest events of a process that has ended come this much later, where the trace does not tell sooner.
constexpr DurationNs kLastEvents = seconds(2);

volatile std::sig_atomic_t g_terminate = 0;

int complain(const std::string& sentence) {
  log::error(sentence);
  return 1;
}

struct Settings {
  std::string run_dir, run, collector, key, url;
  std::vector<std::string> sets, files;
  std::int64_t owner = 0;
  std::size_t memory = 64 << 20;
  bool attached = false;  // the session is somebody else's: the reader ends with it
  std::string host;       // of the traced programs; "": this one
  bool remote() const { return !host.empty() && host != reader::origin_of(getpid()).host; }
};

Result<lttng_rules::RuleSet> rules_of(const Settings& s) {
  lttng_rules::RuleSet all;
  for (const std::string& file : s.files) {  // the user's first: they go before
    auto more = lttng_rules::RuleSet::load(file);
    if (!more) return tl::unexpected(more.error());
    if (Status ok = all.add(*more); !ok) return tl::unexpected(ok.error());
  }
  for (const std::string& set : s.sets) {
    auto more = lttng_rules::RuleSet::shipped(set);
    if (!more) return tl::unexpected(more.error());
    if (Status ok = all.add(*more); !ok) return tl::unexpected(ok.error());
  }
  return all;
}

// Passes events on, and knows how far the trace has come. Each session numbers its classes anew. Those of
// another host come in this host's time, by both hosts' wall clocks.
class Progress final : public lttng::EventSink {
 public:
  explicit Progress(lttng_rules::Interpreter& next) : next_(next) {}
  TimeNs newest() const { return newest_; }
  void next_session() { first_ = classes_; }
  // `wall`: tells what is to be added to the trace's times for wall clock times. `mine`: the same of this
  // host.
  void convert(std::function<DurationNs()> wall, DurationNs mine) {
    wall_ = std::move(wall);
    mine_ = mine;
  }
  void on_class(const lttng::EventClass& cls) override {
    ++classes_;
    next_.on_class(cls);
  }
  void on_event(const lttng::Event& event) override {
    if (wall_) {
      shift_ = wall_() - mine_;
      wall_ = nullptr;
    }
    lttng::Event mine = event;
    mine.at = event.at + shift_;
    mine.cls += first_;
    newest_ = mine.at;
    next_.on_event(mine);
  }
  void on_discarded(const lttng::Discarded& discarded) override {
    lttng::Discarded mine = discarded;
    mine.begin = discarded.begin + shift_;
    mine.end = discarded.end + shift_;
    next_.on_discarded(mine);
  }
  void on_progress(TimeNs until) override {
    if (wall_) return;  // not known yet what that is here
    newest_ = std::max(newest_, until + shift_);
    next_.on_progress(until + shift_);
  }

 private:
  lttng_rules::Interpreter& next_;
  TimeNs newest_{};
  std::uint32_t classes_ = 0, first_ = 0;  // of all sessions; the number of this session's first
  std::function<DurationNs()> wall_;       // until the first event has told
  DurationNs mine_{}, shift_{};
};

class Reader {
 public:
  Reader(const Settings& s, lttng_rules::RuleSet rules, node::OutboxOptions outbox,
         node::ProcessWatch::Options watch, reader::Ledger* ledger)
      : outbox_(std::move(outbox)),
        watch_(std::move(watch), clock_),
        streams_(options_of(s, ledger), outbox_, watch_, clock_,
                 s.remote() ? origin_elsewhere(s.host) : reader::origin_of),
        interpreter_(std::move(rules), streams_, symbols_),
        progress_(interpreter_),
        attached_(s.attached),
        remote_(s.remote()) {
    if (s.owner > 0) owner_.emplace(s.owner, reader::origin_of(s.owner).start_time);
  }

  int operator()(node::Courier& courier, const std::string& url) {
    if (auto ok = courier.open(); !ok) return complain(ok.error().message);
    if (!attach(url)) return 1;
    for (;;) {
      const bool more = read_trace();
      end_gone();
      finish_if_over(more);
      put_account(finished_);
      streams_.flush();
      courier.send(outbox_);
      while (courier.receive(outbox_, std::chrono::milliseconds(0))) {
      }
      tell_news();
      log::tick();
      if (finished_ && over()) return 0;
      if (owner_ && owner_->look().presence == node::Presence::kGone) g_terminate = 1;
      if (attached_ && outbox_.finish()) g_terminate = 1;  // the run is over
      take_orders(more ? 0 : kPauseMs);
    }
  }

  void say_account() const {
    const lttng_rules::Account a = interpreter_.account();
    log::info("LTTng: " + std::to_string(a.seen) + " events seen: " + std::to_string(a.used) + " used, " +
              std::to_string(a.ignored) + " ignored, " + std::to_string(a.unmatched) + " of no rule, " +
              std::to_string(a.leave_without_enter + a.leave_after_loss) + " left what was not open, " +
              std::to_string(a.too_deep) + " too deep, " + std::to_string(a.left_out + a.unattributed) +
              " left out; " + std::to_string(a.discarded) + " discarded by LTTng");
    const reader::Streams::Counts& s = streams_.counts();
    if (s.dropped + s.left_out > 0)
      log::warning("LTTng: " + std::to_string(s.dropped) + " records were lost, " +
                   std::to_string(s.left_out) + " left out for want of room for threads");
    for (const auto& u : interpreter_.unmatched())
      log::info("no rule is for " + std::to_string(u.events) + " events " + u.name);
    if (attached_) return;  // all that are shipped are there, in case
    for (const std::string& rule : interpreter_.unused_rules())
      log::warning("no event came for the rule " + rule);
  }

 private:
  static reader::Streams::Options options_of(const Settings& s, reader::Ledger* ledger) {
    reader::Streams::Options options;
    options.kind = "lttng";
    options.watched = !s.remote();
    if (options.watched) {
      options.use = reader::use_of_thread;
      options.thread_name = reader::name_of_thread;
    }
    options.ledger = ledger;
    return options;
  }
  // Times are converted to this host's, so that its boot is what they are of. Nothing is known of the
  // processes.
  static std::function<reader::Origin(std::int64_t)> origin_elsewhere(const std::string& host) {
    return [host, boot = reader::origin_of(getpid()).boot_id](std::int64_t) {
      return reader::Origin{host, boot, 0};
    };
  }
  bool attach(const std::string& url) {
    progress_.next_session();
    auto opened = lttng::TraceReader::open_live(url, progress_);
    if (!opened) {
      complain(opened.error().message);
      return false;
    }
    trace_ = std::move(*opened);
    if (remote_)
      progress_.convert([this] { return trace_->offset(); }, clock_.realtime() - clock_.monotonic());
    ended_ = told_attached_ = false;
    return true;
  }
  // True while there is more to read at once.
  bool read_trace() {
    if (!trace_ || ended_ || finished_) return false;
    if (!streams_.has_room()) return false;  // it waits on the relay daemon's disk
    const auto step = trace_->run_once(kEventsAtOnce);
    if (!step) {
      log::error(step.error().message + (attached_ ? "" : "; the session is waited for"));
      trace_.reset();
      if (attached_) g_terminate = 1;
      return false;
    }
    if (trace_->attached() && !std::exchange(told_attached_, true)) {
      constexpr char kAttached[] = "attached\n";
      static_cast<void>(!write(STDOUT_FILENO, kAttached, sizeof kAttached - 1));
    }
    ended_ = *step == lttng::Step::kEnd;
    if (ended_ && attached_) g_terminate = 1;
    return *step == lttng::Step::kMore;
  }
  void end_gone() {
    const TimeNs now = clock_.monotonic();
    for (const auto& g : streams_.gone())
      if (progress_.newest() > g.looked || now - g.looked > kLastEvents) {
        interpreter_.end_process(g.pid, g.looked);
        streams_.end_process(g.process, g.looked);  // one that was taken over, and has not spoken since
      }
  }
  void finish_if_over(bool more) {
    if (finished_ || g_terminate == 0) return;
    // The session is over, and so is the trace; or it does not end.
    const TimeNs now = clock_.monotonic();
    if (asked_ == TimeNs()) asked_ = now;
    // A session of others goes on: what is there has been read.
    const bool awaited = trace_ && !ended_ && (more || !attached_);
    if (awaited && now - asked_ < kGoodbyePatience) return;
    interpreter_.finish(progress_.newest());
    streams_.finish();
    finished_ = true;
  }
  bool over() {
    const TimeNs now = clock_.monotonic();
    if (moved_ == TimeNs() || outbox_.bytes() != left_) {
      moved_ = now;
      left_ = outbox_.bytes();
    }
    return streams_.done() || now - moved_ >= kGoodbyePatience;
  }
  void put_account(bool now) {
    const TimeNs at = clock_.monotonic();
    if (!now && at - account_put_ < kAccountPeriod) return;
    account_put_ = at;
    const lttng_rules::Account a = interpreter_.account();
    wire::ReaderAccount account;
    account.set_reader("lttng");
    account.set_seen(a.seen);
    account.set_used(a.used);
    account.set_ignored(a.ignored);
    account.set_unmatched(a.unmatched);
    account.set_unbalanced(a.leave_without_enter + a.leave_after_loss);
    account.set_too_deep(a.too_deep);
    account.set_left_out(a.left_out + a.unattributed);
    account.set_discarded(a.discarded);
    outbox_.put_account(account);
  }
  void tell_news() {
    const auto& problems = interpreter_.problems();
    for (; told_ < problems.size(); ++told_) log::warning(problems[told_]);
  }
  // A line is another session's URL: what came between the two is lost, and nobody knows how much it was.
  void take_orders(int ms) {
    pollfd p{STDIN_FILENO, POLLIN, 0};
    if (poll(&p, 1, ms) <= 0) return;
    char text[4096];
    const ssize_t n = read(STDIN_FILENO, text, sizeof text);
    if (n <= 0) {  // whoever keeps the session is gone
      g_terminate = 1;
      if (!finished_) usleep(static_cast<useconds_t>(kPauseMs) * 1000u);
      return;
    }
    order_.append(text, static_cast<std::size_t>(n));
    for (std::size_t end; (end = order_.find('\n')) != std::string::npos; order_.erase(0, end + 1)) {
      const std::string url = order_.substr(0, end);
      lttng::Discarded lost;
      lost.exact = false;
      lost.begin = progress_.newest();
      lost.end = clock_.monotonic();
      progress_.on_discarded(lost);
      static_cast<void>(attach(url));
    }
    if (order_.size() > sizeof text) order_.clear();
  }

  SystemClock clock_;
  node::Outbox outbox_;
  node::ProcessWatch watch_;
  reader::Streams streams_;
  lttng_rules::ElfSymbols symbols_;
  lttng_rules::Interpreter interpreter_;
  Progress progress_;
  std::unique_ptr<lttng::TraceReader> trace_;
  std::optional<node::ProcessProbe> owner_;
  const bool attached_, remote_;
  bool ended_ = false, told_attached_ = false, finished_ = false;
  TimeNs asked_{}, moved_{}, account_put_{};
  std::size_t left_ = 0, told_ = 0;
  std::string order_;
};

int run(const Settings& s) {
  auto rules = rules_of(s);
  if (!rules) return complain(rules.error().message);
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
  // One that takes over from us when we die goes on as the same source. Sessions of others are read anew.
  std::unique_ptr<reader::Ledger> ledger;
  if (!s.attached) {
    if (auto opened = reader::Ledger::open(place.path + "/lttng.ledger"))
      ledger = std::move(*opened);
    else
      log::warning(opened.error().message + ": a reader that takes over will be another source");
  }
  Reader reader(s, std::move(*rules), outbox, watch, ledger.get());
  const int code = reader(courier, s.url);
  reader.say_account();
  return code;
}

}  // namespace

int main(int argc, char** argv) try {
  google::protobuf::SetLogHandler(nullptr);
  Settings s;
  CLI::App app{
      "margay-lttng-reader reads a live session of LTTng from its relay daemon, makes states of its events "
      "as rules "
      "say, and\nsends them to a run's collector. margay-lttng starts it (and again, if it dies); you seldom "
      "need to.\n\n"
      "It reads further sessions' URLs from its standard input, a line each, and ends when the session is "
      "over and the "
      "input\nis closed, or when it is told to (SIGTERM). What it cannot send yet waits on the relay "
      "daemon's disk.",
      "margay-lttng-reader"};
  app.add_option("--url", s.url, "net://HOST:PORT/host/HOSTNAME/SESSION")->required();
  app.add_option("--rules", s.sets, "shipped rule sets: base, pthread, libc, functions, margay ...")
      ->delimiter(',');
  app.add_option("--rules-file", s.files, "files of rules; they go before shipped ones");
  app.add_option("--run-dir", s.run_dir, "The run's directory (MARGAY_RUN_DIR of the job)")->required();
  app.add_option("--run", s.run, "The run's name")->required();
  app.add_option(
      "--collector", s.collector,
      "The daemon on another machine, e.g. tcp://head:7411 (default: the one of the run's directory)");
  app.add_option("--key", s.key,
                 "File with this node's key for it, made by `margay keys add ... --role source`");
  app.add_option("--memory", s.memory, "Most memory for what is not yet confirmed, e.g. 64MiB")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("64MiB");
  app.add_flag("--attached", s.attached, "the session is somebody else's: end when it does");
  app.add_option("--host", s.host, "where its programs run, if that is not here");
  app.add_option("--owner-pid", s.owner, "End when this process is gone");
  CLI11_PARSE(app, argc, argv);
  log::Options log_options;
  log_options.program = "margay-lttng-reader";
  log::start(log_options);
  struct sigaction action {};
  action.sa_handler = [](int) { g_terminate = 1; };
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  return run(s);
} catch (const std::exception& e) {
  return complain(e.what());
}
