// margay-gst: reads GStreamer's debug log, live, and sends it as states of threads.
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>

#include "margay/gst/log_reader.h"
#include "margay/gst/log_spool.h"
#include "margay/log/log.h"
#include "margay/node/segment_reader.h"
#include "margay/reader/program.h"

namespace {

using namespace margay;

// Bytes of a file between two looks at everything else: the collector must not wait for us.
constexpr std::size_t kMostAtOnce = 4 << 20;
// A process' first line is read within this of its writing, for the time it tells; if it comes within the
// second after its file.
constexpr DurationNs kQuick = DurationNs(200'000);
constexpr DurationNs kQuickFor = seconds(1);

std::string program_of(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return node::clean_text(name.c_str(), name.size());
}

class GstReader final : public reader::Reader {
 public:
  void add_flags(CLI::App& app) override {
    app.add_option("--log", directory_,
                   "directory of the log (the program runs with GST_DEBUG_FILE=DIR/%p-%r)")
        ->type_name("DIR")
        ->required();
    app.add_option("--log-memory", log_bytes_, "most of the log that may wait to be read")
        ->type_name("SIZE")
        ->transform(CLI::AsSizeValue(false))
        ->default_str("32MiB");
    const std::map<std::string, std::int64_t> units{{"us", 1}, {"ms", 1000}, {"s", 1'000'000}};
    app.add_option("--period", period_us_, "how often the log is read")
        ->type_name("DURATION")
        ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED))
        ->check(CLI::Range(std::int64_t{1000}, std::int64_t{10'000'000}))
        ->default_str("20ms");
  }

  Status begin(reader::Streams& streams, const Clock& clock) override {
    auto spool = gst::LogSpool::open(directory_);
    if (!spool) return tl::unexpected(spool.error());
    spool_.emplace(std::move(*spool));
    changes_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (changes_ < 0 || inotify_add_watch(changes_, directory_.c_str(), IN_CREATE) < 0)
      log::warning(directory_ + ": cannot be watched (" + std::strerror(errno) +
                   "): times of a process' first lines are up to 20 ms late");
    std::signal(SIGIO, SIG_IGN);  // of a lease that somebody wanted to break
    clock_ = &clock;
    log_.emplace(streams, program_of);
    return {};
  }

  Result<bool> read() override {
    const bool empty = spool_->read(taker_, kMostAtOnce);
    if (empty)
      log_->caught_up(clock_->monotonic());
    else
      spool_->bound(log_bytes_);
    return !empty;
  }

  void ended(const std::vector<reader::Streams::Gone>& gone, bool more) override {
    if (more) return;
    for (const auto& g : gone) log_->end_process(g.process);
  }

  void account(wire::ReaderAccount& account) const override {
    const gst::LogReader::Counts& c = log_->counts();
    account.set_seen(c.lines);
    account.set_used(c.taken);
    account.set_ignored(c.text);
    account.set_unmatched(c.malformed);
    account.set_left_out(c.left_out);
    account.set_discarded(c.dropped);
  }

  // Where every line went.
  void say_account() const override {
    const gst::LogReader::Counts& c = log_->counts();
    const reader::Streams::Counts& s = streams().counts();
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
  void wait(bool more) override {
    if (more) return;
    if (clock_->monotonic() < quick_until_ && spool_->has_fresh()) {
      usleep(static_cast<useconds_t>(kQuick.value / 1000));
      return;
    }
    pollfd p{changes_, POLLIN, 0};
    if (poll(&p, 1, static_cast<int>(period_us_ / 1000)) <= 0) return;
    char ignored[4096];
    while (::read(changes_, ignored, sizeof ignored) > 0) {
    }
    quick_until_ = clock_->monotonic() + kQuickFor;
  }

 private:
  std::string directory_;
  std::uint64_t log_bytes_ = 32 << 20;
  std::int64_t period_us_ = 20'000;
  const Clock* clock_ = nullptr;
  std::optional<gst::LogSpool> spool_;
  std::optional<gst::LogReader> log_;
  gst::LogSpool::Taker taker_{[this](std::string_view lines) { log_->feed(lines, clock_->monotonic()); },
                              [this](std::int64_t pid, std::uint64_t lines) { log_->lost(pid, lines); }};
  int changes_ = -1;  // of the directory
  TimeNs quick_until_{};
};

}  // namespace

int main(int argc, char** argv) {
  GstReader reader;
  return reader::run_program(
      {"margay-gst",
       R"(Read the debug log of GStreamer programs live and send it to the daemon: the function that wrote the
newest line of a thread is the state of that thread. `margay run --gst-debug` starts it; for a
daemon started by hand:

  GST_DEBUG='*:6' GST_DEBUG_FILE=/dev/shm/log/%p-%r gst-launch-1.0 ... &
  margay-gst --run-dir "$MARGAY_RUN_DIR" --run night --log /dev/shm/log

Lines that do not fit --memory are dropped and counted, and so are the oldest ones beyond
--log-memory. It ends when the run is over, or when its owner and the programs are gone.)",
       "gstreamer"},
      reader, argc, argv);
}
