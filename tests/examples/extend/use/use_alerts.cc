// An alert to whom a configuration says, and the counters of this process as /metrics has them: what margayd
// does of both.
//
//   use_alerts CONFIG KEY=VALUE LOG
#include <cstdio>

#include "margay/observe/exposition.h"
#include "margay/observe/process.h"
#include "margay/settings/command_options.h"
#include "margay/sinks/dispatcher.h"
#include "margay/sinks/settings.h"

int main(int argc, char** argv) {
  using namespace margay;
  if (argc != 4) return 2;
  daemon::CommonFlags flags;
  flags.config = argv[1];
  flags.set = {argv[2]};
  daemon::Options options;
  const SystemClock clock;
  if (const auto ok = daemon::apply_flags(flags, options); !ok)
    return std::fprintf(stderr, "%s\n", ok.error().message.c_str()), 1;
  auto wanted = sinks::make_sinks(options.sinks, clock);
  if (!wanted) return std::fprintf(stderr, "%s\n", wanted.error().message.c_str()), 1;
  sinks::Dispatcher::Options how;
  how.log_path = argv[3];
  sinks::Dispatcher dispatcher(std::move(*wanted), how, clock);
  dispatcher.start();
  alert::Alert alert;
  alert.id = "night-1";
  alert.node = "/h1";
  alert.message = "rank3 on h1 has been stopped for 0.2 s";
  dispatcher.push(alert);
  dispatcher.stop();
  std::printf("sent %llu\n", static_cast<unsigned long long>(dispatcher.delivery().sent));

  observe::Values values;
  observe::set_process(observe::process_use(), values);
  wire::Report report;
  report.set_run("night");
  observe::write_counters(values, *report.mutable_health());
  std::fputs(observe::exposition(report).c_str(), stdout);
  return 0;
}
