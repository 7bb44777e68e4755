// The terminal view alone: watch_demo RUN [--exit-at-end] [--plain] [--status] [--json]
#include <cstdio>
#include <cstring>

#include "margay/terminal/status.h"
#include "margay/terminal/watch.h"
#include "margay/transport/transport.h"
#include "margay/wire/control.pb.h"

int main(int argc, char** argv) {
  using namespace margay;
  if (argc < 2) {
    std::fprintf(stderr, "usage: watch_demo RUN [--exit-at-end] [--plain] [--status] [--json]\n");
    return 2;
  }
  const auto dir = transport::open_run_directory(argv[1]);
  if (!dir) {
    std::fprintf(stderr, "%s\n", dir.error().message.c_str());
    return 1;
  }
  terminal::WatchOptions options;
  options.dir = *dir;
  options.view = terminal::view_for_terminal();
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--exit-at-end") == 0) options.exit_at_end = true;
    if (std::strcmp(argv[i], "--plain") == 0) options.plain = true;
    if (std::strcmp(argv[i], "--status") != 0 && std::strcmp(argv[i], "--json") != 0) continue;
    zmq::context_t context(1);
    auto control = transport::Socket::connect(context, zmq::socket_type::dealer, dir->control_endpoint());
    if (!control) return 1;
    wire::ControlRequest ask;
    ask.set_version(1);
    ask.set_kind(wire::ControlRequest::STATUS);
    control->send(ask, std::chrono::seconds(2));
    transport::Socket* wait[] = {&*control};
    if (!transport::wait_readable(wait, std::chrono::seconds(5))) return 1;
    wire::ControlReply reply;
    if (const auto frame = control->try_receive(); !frame || !reply.ParseFromString(frame->body)) return 1;
    std::fputs((std::strcmp(argv[i], "--json") == 0 ? terminal::status_json(reply.report()) + "\n"
                                                    : terminal::status_text(reply.report()))
                   .c_str(),
               stdout);
    return 0;
  }
  return terminal::watch(options);
}
