// margay-node: the agent of one node and run.
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <google/protobuf/stubs/logging.h>
#include <CLI/CLI.hpp>
#include <chrono>
#include <random>
#include <thread>

#include "margay/log/log.h"
#include "margay/node/agent.h"
#include "margay/node/sender_flags.h"
#include "margay/node/uplink.h"
#include "margay/process/end_signals.h"
#include "margay/text/help_page.h"
#include "margay/transport/local_user.h"

namespace {

using namespace margay;

int complain(const std::string& sentence) {
  log::error(sentence);
  return 1;
}

// The agent is started by a launcher that may have bound us to one core of the job; it must run wherever
// there is room.
void use_all_cores() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &all);
  if (sched_setaffinity(0, sizeof(all), &all) != 0 || setpriority(PRIO_PROCESS, 0, 0) != 0)
    return;  // as we are, then
}

// As many descriptors as we may have: each process takes some. The job is not started by us, and keeps its
// own limit.
void use_all_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

// One agent per directory: two would take records from each other.
bool lock(const std::string& rings) {
  const int fd = open((rings + "/.agent").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

int run(node::Agent& agent, node::Uplink& uplink, DurationNs period) {
  const SystemClock clock;
  if (auto ok = uplink.open(); !ok) return complain(ok.error().message);
  for (TimeNs next = clock.monotonic();; next = std::max(next + period, clock.monotonic())) {
    const bool finishing = process::asked_to_end();
    if (finishing) agent.finish();
    agent.scan();
    agent.sample();
    agent.drain();
    uplink.send(agent.outbox());
    for (const std::string& sentence : agent.take_messages()) log::warning(sentence);
    log::tick();
    if (agent.done()) return 0;
    for (;;) {
      const DurationNs left = next + period - clock.monotonic();
      if (left.value <= 0 || (process::asked_to_end() && !finishing)) break;
      if (!uplink.receive(agent.outbox(), std::chrono::milliseconds(left.value / 1'000'000 + 1))) break;
    }
  }
}

struct Settings : node::SenderFlags {
  std::int64_t period_us = 20'000, sample_us = 50'000;
};

void add_options(CLI::App& app, Settings& s) {
  node::add_sender_flags(app, s, "end when this process and all watched processes are gone");
  const std::map<std::string, std::int64_t> units{{"us", 1}, {"ms", 1000}, {"s", 1'000'000}};
  app.add_option("--period", s.period_us, "how often the rings are emptied")
      ->type_name("DURATION")
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED))
      ->check(CLI::Range(std::int64_t{1000}, std::int64_t{10'000'000}))
      ->default_str("20ms");
  app.add_option("--sample-period", s.sample_us,
                 "how often the processes are sampled in /proc; less often when that costs too much")
      ->type_name("DURATION")
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED))
      ->check(CLI::Range(std::int64_t{1000}, std::int64_t{60'000'000}))
      ->default_str("50ms");
}

node::AgentOptions agent_options(const Settings& s, const transport::RunDirectory& place) {
  node::AgentOptions options;
  options.rings = place.rings();
  options.unwatched = transport::shared_memory_of(place) + "/unwatched";
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  options.host = node::clean_text(host, sizeof(host));
  options.period = DurationNs(s.period_us * 1000);
  options.sample_period = DurationNs(s.sample_us * 1000);
  options.owner_pid = s.owner;
  options.cores = std::max(1u, std::thread::hardware_concurrency());
  options.outbox.run = s.run;
  options.outbox.memory_bytes = s.memory;
  std::random_device random;
  options.outbox.agent = (std::uint64_t{random()} << 32) | random();
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  // Bad input is counted by ourselves; the library would write a line for every message.
  google::protobuf::SetLogHandler(nullptr);
  Settings settings;
  CLI::App app{
      R"(The node agent: it empties the rings of this node's probes, watches their processes, and sends both
to the daemon. One runs for each node and run. `margay run` and `margay env` start it; on further
nodes start it yourself (proto/SECURITY.md):

  margay-node --run-dir "$MARGAY_RUN_DIR" --run night --collector tcp://head:7411 --key node7.key

It ends when the run is over and everything is confirmed, or when its owner and all watched
processes are gone. Until the daemon has confirmed a record it is kept, and sent again if the daemon
is restarted. If more than --memory waits, the probes drop records and count them.)",
      "margay-node"};
  text::use_help_page(app);
  add_options(app, settings);
  CLI11_PARSE(app, argc, argv);
  log::start({.program = "margay-node"});

  const transport::RunDirectory place{settings.run_dir};
  if (auto ok = transport::check_run_directory(place); !ok) return complain(ok.error().message);
  if (!lock(place.rings()))
    return complain(place.rings() + ": cannot be locked: it is missing, or another agent is at work there");
  use_all_cores();
  use_all_descriptors();
  process::take_end_signals(true);

  const node::AgentOptions options = agent_options(settings, place);
  const SystemClock clock;
  node::Agent agent(options, clock);
  zmq::context_t context(1);
  node::Uplink uplink(context, clock, settings.endpoint(), settings.key);
  return run(agent, uplink, options.period);
} catch (const std::exception& e) {
  return complain(e.what());
}
