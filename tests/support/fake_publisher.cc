// Plays a daemon to the views: publishes the synthetic run in real time in a run directory of its own.
//   fake_publisher RUN [ranks=4] [hosts=1] [end_s] [speed]
// Ends with SIGTERM or SIGINT, or two seconds after the run's end; removes the directory.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "margay/base/time.h"
#include "margay/transport/rundir.h"
#include "margay/transport/transport.h"
#include "margay/wire/control.pb.h"
#include "synthetic_report.h"

namespace {
volatile std::sig_atomic_t g_end = 0;
void on_end(int) {
  g_end = 1;
}
}  // namespace

int main(int argc, char** argv) {
  using namespace margay;
  using transport::Socket;
  if (argc < 2) {
    std::fprintf(stderr, "usage: fake_publisher RUN [ranks] [hosts] [end_s] [speed]\n");
    return 2;
  }
  std::signal(SIGTERM, on_end);
  std::signal(SIGINT, on_end);
  support::SyntheticRun run;
  if (argc > 2) run.ranks = std::max(1, std::atoi(argv[2]));
  if (argc > 3) run.hosts = std::max(1, std::atoi(argv[3]));
  if (argc > 4) run.end_s = std::atof(argv[4]);
  const double speed = argc > 5 ? std::atof(argv[5]) : 1;
  const auto dir = transport::make_run_directory(argv[1]);
  if (!dir) {
    std::fprintf(stderr, "%s\n", dir.error().message.c_str());
    return 1;
  }
  const SystemClock clock;
  const TimeNs begin = clock.realtime();
  {
    zmq::context_t context(1);
    auto reports = Socket::bind(context, zmq::socket_type::pub, dir->reports_endpoint());
    auto control = Socket::bind(context, zmq::socket_type::router, dir->control_endpoint());
    if (!reports || !control) return 1;
    double last = -1, ended = 0;
    while (g_end == 0 && (ended == 0 || ended < 2)) {
      const double real = static_cast<double>((clock.realtime() - begin).value) * 1e-9;
      const double at = real * speed;
      wire::Report r = support::synthetic_report(run, at);
      // Trace time is wall time here, and a fast run still looks live.
      const std::int64_t shift = begin.value - run.begin_ns;
      r.set_emitted_wall_ns(clock.realtime().value);
      if (speed == 1) {
        r.set_run_begin_ns(r.run_begin_ns() + shift);
        r.set_watermark_ns(r.watermark_ns() + shift);
        for (auto& p : *r.mutable_phases()) {
          p.set_begin_ns(p.begin_ns() + shift);
          p.set_end_ns(p.end_ns() + shift);
        }
      }
      if (at - last >= 0.1) {
        reports->try_send(r);
        last = at;
      }
      if (r.final()) ended = real - run.end_s / speed;
      Socket* wait[] = {&*control};
      if (transport::wait_readable(wait, std::chrono::milliseconds(50)))
        while (const auto frame = control->try_receive()) {
          wire::ControlReply reply;
          reply.set_version(1);
          *reply.mutable_report() = r;
          control->try_send(reply, frame->from);
        }
    }
  }
  transport::remove_run_directory(*dir);
  return 0;
}
