// margayd: the daemon. `margay run` starts one per job; it can also be run by itself.
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <google/protobuf/stubs/logging.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>

#include "lttng_keeper.h"
#include "margay/live/pipeline.h"
#include "margay/log/log.h"
#include "margay/observe/process.h"
#include "margay/observe/service.h"
#include "margay/settings/command_options.h"
#include "margay/settings/memory_budget.h"
#include "margay/transport/run_claim.h"

namespace {

// After a storm of connections the library holds what it gave for them. It is given back where the process
// has grown since that last helped; it costs a millisecond or so, and is seldom: the more so, the less it
// helps.
class MemoryReturn {
 public:
  void tick(margay::TimeNs now) {
    if (now < next_) return;
    const std::uint64_t used = margay::observe::process_use().memory_bytes;
    if (least_ == 0) least_ = used;
    if (used >= least_ + kGrown) {
      malloc_trim(0);
      const std::uint64_t left = margay::observe::process_use().memory_bytes;
      pause_ = left + kGrown <= used ? kPause : std::min(pause_ * 2, kLongestPause);
      if (pause_ == kLongestPause) least_ = left;  // it is what it needs
      least_ = std::min(least_, left);
    }
    next_ = now + pause_;
  }

 private:
  static constexpr std::uint64_t kGrown = 8 << 20;
  static constexpr margay::DurationNs kPause = margay::seconds(5), kLongestPause = margay::seconds(60);
  margay::TimeNs next_{};
  margay::DurationNs pause_ = kPause;
  std::uint64_t least_ = 0;
};

// The sum of memory that is promised has little room for what an allocator keeps: few arenas, and what is
// large goes back when it is freed.
void bound_allocator() {
  mallopt(M_ARENA_MAX, 4);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

constexpr const char* kAbout =
    R"page(The daemon that watches one run: it receives events from node agents, keeps the model and the
archive, and publishes phases and alerts. `margay run -- COMMAND` starts one for you. To start one
yourself:

  margayd --run night --archive /data/night &
  eval "$(margay env night)"      # starts a node agent, sets two variables
  mpirun -np 4 ./app
  margay finish night

SIGTERM stops it; started again with the same --run and --archive it continues where it stopped.)page";

margay::daemon::Flags flags_of(margay::daemon::Options& options, margay::daemon::CommonFlags& common,
                               std::int64_t& owner_pid, std::int64_t& restarts) {
  using margay::daemon::count_flag, margay::daemon::text_flag;
  margay::daemon::Flags flags = margay::daemon::common_flags(common);
  flags.insert(flags.begin(),
               text_flag("--run", "NAME", "name of the run: letters, digits, '-', '_'", options.run));
  flags.front().required = true;
  flags.push_back(text_flag("--command", "TEXT", "command line of the job, to be shown", options.command));
  flags.push_back(count_flag("--owner-pid", "end when this process is gone and nothing is left to watch", 0,
                             std::numeric_limits<int>::max(), owner_pid));
  flags.push_back(count_flag("--restarts", "how often the owner has restarted this daemon", 0,
                             std::numeric_limits<std::uint32_t>::max(), restarts));
  return flags;
}

// Signals are taken as events by the main thread; the others must not see them.
sigset_t take_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set, s);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file over its limit is an error of the disk, and treated as one
  return set;
}

// `options` as the command line and the files that it names say. False: help or the version was shown.
margay::Result<bool> read_options(int argc, char** argv, margay::daemon::Options& options) {
  margay::daemon::CommonFlags common;
  std::int64_t owner_pid = 0, restarts = 0;
  const margay::daemon::Flags flags = flags_of(options, common, owner_pid, restarts);
  const auto asked = margay::daemon::parse_flags(flags, argc, argv);
  if (!asked) return tl::unexpected(asked.error());
  if (*asked == margay::daemon::Asked::kHelp)
    std::fputs(margay::daemon::flags_help("margayd", kAbout, flags).c_str(), stdout);
  if (*asked == margay::daemon::Asked::kVersion) std::puts(MARGAY_VERSION);
  if (*asked == margay::daemon::Asked::kHelp || *asked == margay::daemon::Asked::kVersion) return false;
  options.owner_pid = static_cast<int>(owner_pid);
  options.restarts = static_cast<std::uint32_t>(restarts);
  if (auto ok = margay::daemon::apply_flags(common, options); !ok) return tl::unexpected(ok.error());
  return true;
}

void start_log(const margay::daemon::Options& options) {
  margay::log::Options log_options;
  log_options.program = "margayd";
  log_options.level = options.log_level;
  log_options.file_bytes = options.log_file_bytes;
  margay::log::start(log_options);
}

// The run's directory, and what the options leave open.
margay::Status take_run_directory(margay::daemon::Options& options) {
  if (options.owner_pid <= 0) margay::transport::clear_stale_runs();
  // One with an owner comes into the directory that the owner has claimed, and holds it with them.
  auto directory = options.owner_pid > 0 ? margay::transport::open_run_directory(options.run)
                                         : margay::transport::make_run_directory(options.run);
  if (!directory) return tl::unexpected(directory.error());
  options.directory = *directory;
  if (options.archive.empty()) options.archive = "margay-" + options.run;
  return {};
}

// Until the pipeline has ended, by itself or by a signal.
void watch(margay::daemon::Pipeline& pipeline, const margay::daemon::Options& options,
           const sigset_t& signals) {
  const margay::SystemClock clock;
  margay::observe::Service service(pipeline.beats());
  service.ready();
  for (const std::string& line : pipeline.listening()) margay::log::info(line);
  MemoryReturn memory;
  margay::daemon::LttngKeeper lttng(options, clock);
  const timespec tick{0, 100'000'000};
  while (!pipeline.stopped()) {
    siginfo_t info;
    if (const int signal = sigtimedwait(&signals, &info, &tick); signal > 0) {
      margay::log::info(std::string("SIG") + sigabbrev_np(signal) + " from process " +
                        std::to_string(info.si_pid) + ": ends in order");
      lttng.stop();
      pipeline.request_stop();
    }
    lttng.tick();
    service.tick(clock.monotonic());
    service.status(pipeline.verdict());
    memory.tick(clock.monotonic());
    margay::log::tick();
  }
  service.stopping();
  lttng.stop();
  pipeline.wait();
  margay::log::info(pipeline.summary());
}

// `margay run` was killed: what it would have done at the end is left to us.
void stand_in_for_owner(const margay::daemon::Options& options) {
  if (options.owner_pid <= 0 || kill(options.owner_pid, 0) == 0 || errno != ESRCH) return;
  std::error_code ec;
  std::filesystem::copy_file(options.directory.path + "/log", options.archive + "/log",
                             std::filesystem::copy_options::overwrite_existing, ec);
  margay::transport::remove_run_directory(options.directory);
}

int run(int argc, char** argv) {
  bound_allocator();
  margay::daemon::Options options;
  const auto goes_on = read_options(argc, argv, options);
  if (!goes_on) {
    std::fprintf(stderr, "margayd: %s\n", goes_on.error().message.c_str());
    return 2;
  }
  if (!*goes_on) return 0;
  start_log(options);
  if (auto ok = take_run_directory(options); !ok) {
    margay::log::error(ok.error().message);
    return 1;
  }
  if (const auto limit = margay::observe::raise_descriptor_limit(margay::daemon::descriptors_wanted(options));
      limit.too_low)
    margay::log::warning(limit.too_low->message);
  const sigset_t signals = take_signals();
  auto pipeline = margay::daemon::Pipeline::start(options);
  if (!pipeline) {
    margay::log::error(pipeline.error().message);
    // What no restart can mend ends like a wrong option does (the systemd unit does not try again).
    return pipeline.error().code == margay::ErrorCode::kInvalidArgument ? 2 : 1;
  }
  watch(**pipeline, options, signals);
  pipeline->reset();
  stand_in_for_owner(options);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Bad input is counted and told by ourselves; the library would write a line for every message.
  google::protobuf::SetLogHandler(nullptr);
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    margay::log::error(e.what());
    return 1;
  }
}
