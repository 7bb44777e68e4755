// A viewer that reads slowly: takes a report, sleeps, takes the next. Until it is killed.
//
//   slow_viewer ENDPOINT PAUSE_MS
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "margay/transport/transport.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  zmq::context_t context(1);
  auto socket = margay::transport::Socket::connect(context, zmq::socket_type::sub, argv[1]);
  if (!socket) {
    std::fprintf(stderr, "slow_viewer: %s\n", socket.error().message.c_str());
    return 1;
  }
  socket->subscribe_all();
  const std::chrono::milliseconds pause(std::atoi(argv[2]));
  for (;;) {
    margay::transport::Socket* const one = &*socket;
    if (!margay::transport::wait_readable({&one, 1}, std::chrono::milliseconds(1000))) continue;
    static_cast<void>(socket->try_receive());
    std::this_thread::sleep_for(pause);
  }
}
