// margay-lttng-reader: reads a live session of LTTng and sends it as states of threads, as rules say.
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>

#include "margay/log/log.h"
#include "margay/lttng_rules/interpreter.h"
#include "margay/lttng_trace/trace_reader.h"
#include "margay/reader/program.h"

namespace {

using namespace margay;

constexpr std::uint64_t kEventsAtOnce = 20'000;
constexpr int kPauseMs = 5;                           // where nothing is there
constexpr DurationNs kTraceEndPatience = seconds(5);  // for the end of a trace whose session is over
// The newest events of a process that has ended come this much later, where the trace does not tell sooner.
constexpr DurationNs kLastEvents = seconds(2);

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

class LttngReader final : public reader::Reader {
 public:
  void add_flags(CLI::App& app) override {
    app.add_option("--url", url_, "the session: net://HOST:PORT/host/HOSTNAME/SESSION")
        ->type_name("URL")
        ->required();
    app.add_option("--rules", sets_, "shipped sets of rules: base, pthread, libc, functions, margay ...")
        ->type_name("NAME,...")
        ->delimiter(',');
    app.add_option("--rules-file", files_, "files of rules; they go before the shipped ones")
        ->type_name("FILE");
    app.add_flag("--attached", attached_, "the session was made by others: end when it ends");
    app.add_option("--host", host_, "the host of its programs, if it is not this one")->type_name("NAME");
  }

  Result<reader::Setup> setup() override {
    remote_ = !host_.empty() && host_ != reader::origin_of(getpid()).host;
    reader::Setup setup;
    setup.streams.watched = !remote_;
    if (remote_) {
      setup.origin = origin_elsewhere(host_);
    } else {
      setup.streams.use = reader::use_of_thread;
      setup.streams.thread_name = reader::name_of_thread;
    }
    setup.goes_on = !attached_;  // sessions of others are read anew
    return setup;
  }

  Status begin(reader::Streams& streams, const Clock& clock) override {
    clock_ = &clock;
    auto rules = load_rules();
    if (!rules) return tl::unexpected(rules.error());
    interpreter_.emplace(std::move(*rules), streams, symbols_);
    progress_.emplace(*interpreter_);
    return attach(url_);
  }

  Result<bool> read() override {
    const bool more = read_trace();
    const auto& problems = interpreter_->problems();
    for (; told_ < problems.size(); ++told_) log::warning(problems[told_]);
    return more;
  }

  void ended(const std::vector<reader::Streams::Gone>& gone, bool) override {
    const TimeNs now = clock_->monotonic();
    for (const auto& g : gone)
      if (progress_->newest() > g.looked || now - g.looked > kLastEvents) {
        interpreter_->end_process(g.pid, g.looked);
        streams().end_process(g.process, g.looked);  // one that was taken over, and has not spoken since
      }
  }

  bool stop(bool run_over, bool owner_gone) override {
    return over_ || owner_gone || (attached_ && run_over);
  }

  bool finish(bool more) override {
    if (finished_) return true;
    // The session is over, and so is the trace; or it does not end.
    const TimeNs now = clock_->monotonic();
    if (asked_ == TimeNs()) asked_ = now;
    // A session of others goes on: what is there has been read.
    const bool awaited = trace_ && !ended_ && (more || !attached_);
    if (awaited && now - asked_ < kTraceEndPatience) return false;
    interpreter_->finish(progress_->newest());
    return finished_ = true;
  }

  void account(wire::ReaderAccount& account) const override {
    const lttng_rules::Account a = interpreter_->account();
    account.set_seen(a.seen);
    account.set_used(a.used);
    account.set_ignored(a.ignored);
    account.set_unmatched(a.unmatched);
    account.set_unbalanced(a.leave_without_enter + a.leave_after_loss);
    account.set_too_deep(a.too_deep);
    account.set_left_out(a.left_out + a.unattributed);
    account.set_discarded(a.discarded);
  }

  void say_account() const override {
    const lttng_rules::Account a = interpreter_->account();
    log::info("LTTng: " + std::to_string(a.seen) + " events seen: " + std::to_string(a.used) + " used, " +
              std::to_string(a.ignored) + " ignored, " + std::to_string(a.unmatched) + " of no rule, " +
              std::to_string(a.leave_without_enter + a.leave_after_loss) + " left what was not open, " +
              std::to_string(a.too_deep) + " too deep, " + std::to_string(a.left_out + a.unattributed) +
              " left out; " + std::to_string(a.discarded) + " discarded by LTTng");
    const reader::Streams::Counts& s = streams().counts();
    if (s.dropped + s.left_out > 0)
      log::warning("LTTng: " + std::to_string(s.dropped) + " records were lost, " +
                   std::to_string(s.left_out) + " left out for want of room for threads");
    for (const auto& u : interpreter_->unmatched())
      log::info("no rule is for " + std::to_string(u.events) + " events " + u.name);
    if (attached_) return;  // all that are shipped are there, in case
    for (const std::string& rule : interpreter_->unused_rules())
      log::warning("no event came for the rule " + rule);
  }

  // A line is another session's URL: what came between the two is lost, and nobody knows how much it was.
  void wait(bool more) override {
    pollfd p{STDIN_FILENO, POLLIN, 0};
    if (poll(&p, 1, more ? 0 : kPauseMs) <= 0) return;
    char text[4096];
    const ssize_t n = ::read(STDIN_FILENO, text, sizeof text);
    if (n <= 0) {  // whoever keeps the session is gone
      over_ = true;
      usleep(static_cast<useconds_t>(kPauseMs) * 1000u);
      return;
    }
    order_.append(text, static_cast<std::size_t>(n));
    for (std::size_t end; (end = order_.find('\n')) != std::string::npos; order_.erase(0, end + 1)) {
      const std::string url = order_.substr(0, end);
      lttng::Discarded lost;
      lost.exact = false;
      lost.begin = progress_->newest();
      lost.end = clock_->monotonic();
      progress_->on_discarded(lost);
      if (const Status ok = attach(url); !ok) log::error(ok.error().message);
    }
    if (order_.size() > sizeof text) order_.clear();
  }

 private:
  Result<lttng_rules::RuleSet> load_rules() const {
    lttng_rules::RuleSet all;
    for (const std::string& file : files_) {  // the user's first: they go before
      auto more = lttng_rules::RuleSet::load(file);
      if (!more) return tl::unexpected(more.error());
      if (Status ok = all.add(*more); !ok) return tl::unexpected(ok.error());
    }
    for (const std::string& set : sets_) {
      auto more = lttng_rules::RuleSet::shipped(set);
      if (!more) return tl::unexpected(more.error());
      if (Status ok = all.add(*more); !ok) return tl::unexpected(ok.error());
    }
    return all;
  }
  // Times are converted to this host's, so that its boot is what they are of. Nothing is known of the
  // processes.
  static std::function<reader::Origin(std::int64_t)> origin_elsewhere(const std::string& host) {
    return [host, boot = reader::origin_of(getpid()).boot_id](std::int64_t) {
      return reader::Origin{host, boot, 0};
    };
  }
  Status attach(const std::string& url) {
    progress_->next_session();
    auto opened = lttng::TraceReader::open_live(url, *progress_);
    if (!opened) return tl::unexpected(opened.error());
    trace_ = std::move(*opened);
    if (remote_)
      progress_->convert([this] { return trace_->offset(); }, clock_->realtime() - clock_->monotonic());
    ended_ = told_attached_ = false;
    return {};
  }
  // True while there is more to read at once.
  bool read_trace() {
    if (!trace_ || ended_ || finished_) return false;
    if (!streams().has_room()) return false;  // it waits on the relay daemon's disk
    const auto step = trace_->run_once(kEventsAtOnce);
    if (!step) {
      log::error(step.error().message + (attached_ ? "" : "; the session is waited for"));
      trace_.reset();
      if (attached_) over_ = true;
      return false;
    }
    if (trace_->attached() && !std::exchange(told_attached_, true)) {
      constexpr char kAttached[] = "attached\n";
      static_cast<void>(!write(STDOUT_FILENO, kAttached, sizeof kAttached - 1));
    }
    ended_ = *step == lttng::Step::kEnd;
    if (ended_ && attached_) over_ = true;
    return *step == lttng::Step::kMore;
  }

  std::string url_, host_;  // of the traced programs; "": this one
  std::vector<std::string> sets_, files_;
  bool attached_ = false;  // the session is somebody else's: the reader ends with it
  bool remote_ = false;
  const Clock* clock_ = nullptr;
  lttng_rules::ElfSymbols symbols_;
  std::optional<lttng_rules::Interpreter> interpreter_;
  std::optional<Progress> progress_;
  std::unique_ptr<lttng::TraceReader> trace_;
  bool ended_ = false, told_attached_ = false, over_ = false, finished_ = false;
  TimeNs asked_{};
  std::size_t told_ = 0;
  std::string order_;
};

}  // namespace

int main(int argc, char** argv) {
  LttngReader reader;
  reader::Program program;
  program.name = "margay-lttng-reader";
  program.about =
      R"(Read a live LTTng session from its relay daemon, make states of its events by rules, and send them
to the daemon. margay-lttng starts it, and starts it again if it dies.

  margay-lttng-reader --run-dir "$MARGAY_RUN_DIR" --run night --url net://head/host/n7/s1 --attached

URLs of further sessions are read from standard input, one a line. It ends when the session is over
and the input is closed, or at SIGTERM. Events that it cannot send yet wait on the relay daemon's
disk.)";
  program.kind = "lttng";
  program.interrupt_ends = false;
  return reader::run_program(program, reader, argc, argv);
}
