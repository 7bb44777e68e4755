// What the gate costs: CURVE over tcp straight to the server, and through the gate, in the same run.
//
//   gate_bench [megabytes] [round trips]      default: 256 5000
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>
#include <zmq.hpp>

#include "margay/transport/gate.h"

namespace {

using Steady = std::chrono::steady_clock;
double since(Steady::time_point t) {
  return std::chrono::duration<double>(Steady::now() - t).count();
}

struct Figures {
  double mib_per_s, p50_us, p99_us;
};

Figures measure(zmq::context_t& context, zmq::socket_t& server, const std::string& at, const char* server_key,
                std::size_t megabytes, std::size_t trips) {
  char open[41], secret[41];
  zmq_curve_keypair(open, secret);
  zmq::socket_t client(context, zmq::socket_type::dealer);
  client.set(zmq::sockopt::linger, 0);
  client.set(zmq::sockopt::curve_serverkey, server_key);
  client.set(zmq::sockopt::curve_publickey, open);
  client.set(zmq::sockopt::curve_secretkey, secret);
  client.connect(at);
  const std::size_t blocks = megabytes * 16;
  const std::string block(64 << 10, 'x'), small(200, 'x');
  zmq::message_t from, body;
  const auto take = [&] {
    static_cast<void>(server.recv(from));
    static_cast<void>(server.recv(body));
  };
  client.send(zmq::buffer(small));  // the handshake is not measured
  take();
  auto begin = Steady::now();
  std::thread sender([&] {
    for (std::size_t i = 0; i < blocks; ++i) client.send(zmq::buffer(block));
  });
  for (std::size_t i = 0; i < blocks; ++i) take();
  sender.join();
  const double rate = static_cast<double>(megabytes) / since(begin);
  std::vector<double> us;
  for (std::size_t i = 0; i < trips; ++i) {
    begin = Steady::now();
    client.send(zmq::buffer(small));
    take();
    server.send(from, zmq::send_flags::sndmore);
    server.send(body, zmq::send_flags::none);
    static_cast<void>(client.recv(body));
    us.push_back(since(begin) * 1e6);
  }
  std::sort(us.begin(), us.end());
  return {rate, us[us.size() / 2], us[us.size() * 99 / 100]};
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t megabytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 256;
  const std::size_t trips = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 5000;
  char directory[] = "/tmp/gate-bench-XXXXXX";
  if (megabytes == 0 || trips == 0 || mkdtemp(directory) == nullptr) return 2;
  const std::string ipc = "ipc://" + std::string(directory) + "/s";
  char open[41], secret[41];
  zmq_curve_keypair(open, secret);
  zmq::context_t context(1), clients(1);
  zmq::socket_t server(context, zmq::socket_type::router);
  server.set(zmq::sockopt::linger, 0);
  server.set(zmq::sockopt::curve_server, true);
  server.set(zmq::sockopt::curve_secretkey, secret);
  server.bind(ipc);
  server.bind("tcp://127.0.0.1:*");
  const std::string direct = server.get(zmq::sockopt::last_endpoint);
  const margay::SystemClock clock;
  auto gate = margay::transport::Gate::open({{"127.0.0.1:0", ipc}}, {}, clock);
  if (!gate) return std::fprintf(stderr, "%s\n", gate.error().message.c_str()), 1;
  const std::string through = "tcp://" + (*gate)->addresses()[0];
  for (int round = 0; round < 3; ++round) {
    const Figures a = measure(clients, server, direct, open, megabytes, trips);
    const Figures b = measure(clients, server, through, open, megabytes, trips);
    std::printf("direct %6.0f MiB/s, round trip p50 %5.0f us p99 %5.0f us\n", a.mib_per_s, a.p50_us,
                a.p99_us);
    std::printf(
        "gate   %6.0f MiB/s, round trip p50 %5.0f us p99 %5.0f us   ratio %.2f of the rate, %+.0f us p50\n",
        b.mib_per_s, b.p50_us, b.p99_us, b.mib_per_s / a.mib_per_s, b.p50_us - a.p50_us);
  }
  gate->reset();
  server.close();
  std::filesystem::remove_all(directory);
  return 0;
}
