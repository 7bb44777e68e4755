// Stands between node agents and a daemon, and does to their messages what a bad network does.
//
//   bad_wire --listen ENDPOINT --collector ENDPOINT [--seed N] [--lose P] [--repeat P] [--delay P]
//   [--truncate P]
//            [--most-delay MS]
//
// Each message, either way, is lost, repeated (up to three times), delayed by up to --most-delay (so that
// later ones overtake it), cut short at any byte, or passed on: one draw each with the given probabilities.
// At the begin the line "ready, seed N" on stdout; at SIGTERM or SIGINT a line of JSON, messages by what was
// done to them, up for those from agents, down for those to them. From SIGUSR1 on everything is passed on.
//
// Bounds: 64 agents and 4096 delayed messages; more are lost, and counted as lost. Exit code: 0; 1 if an
// endpoint cannot be had; 2 for wrong arguments.
#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "margay/transport/transport.h"

namespace {

using Steady = std::chrono::steady_clock;
using margay::transport::Socket;

constexpr std::size_t kMostAgents = 64;
constexpr std::size_t kMostDelayed = 4096;

volatile std::sig_atomic_t g_end = 0;
volatile std::sig_atomic_t g_well = 0;

struct Chances {
  double lose = 0, repeat = 0, delay = 0, truncate = 0;
  int most_delay_ms = 300;
};
struct Counts {
  std::uint64_t passed = 0, lost = 0, repeated = 0, delayed = 0, truncated = 0;
};
struct Message {
  std::string agent;  // its routing id here
  bool up;
  std::string body;
};

class Wire {
 public:
  Wire(Socket front, zmq::context_t& context, std::string collector, const Chances& chances,
       std::uint64_t seed)
      : front_(std::move(front)),
        context_(context),
        collector_(std::move(collector)),
        chances_(chances),
        random_(seed) {}

  void run() {
    while (g_end == 0) {
      std::vector<Socket*> sockets{&front_};
      for (auto& [id, socket] : backs_) sockets.push_back(&socket);
      margay::transport::wait_readable(sockets, std::chrono::milliseconds(5));
      while (auto frame = front_.try_receive()) treat({frame->from, true, std::move(frame->body)});
      for (auto& [id, socket] : backs_)
        while (auto frame = socket.try_receive()) treat({id, false, std::move(frame->body)});
      const auto now = Steady::now();
      while (!delayed_.empty() && delayed_.begin()->first <= now) {
        pass(delayed_.begin()->second);
        delayed_.erase(delayed_.begin());
      }
    }
  }

  void print() const {
    std::string line = "{";
    for (const bool up : {true, false}) {
      const Counts& c = counts_[up ? 0 : 1];
      char text[256];
      std::snprintf(
          text, sizeof text,
          "%s\"%s\":{\"passed\":%llu,\"lost\":%llu,\"repeated\":%llu,\"delayed\":%llu,\"truncated\":%llu}",
          up ? "" : ",", up ? "up" : "down", static_cast<unsigned long long>(c.passed),
          static_cast<unsigned long long>(c.lost), static_cast<unsigned long long>(c.repeated),
          static_cast<unsigned long long>(c.delayed), static_cast<unsigned long long>(c.truncated));
      line += text;
    }
    std::printf("%s}\n", line.c_str());
  }

 private:
  Counts& counts(const Message& m) { return counts_[m.up ? 0 : 1]; }

  void treat(Message message) {
    double draw = std::uniform_real_distribution<>(0, 1)(random_);
    const auto is = [&](double chance) {
      const bool hit = g_well == 0 && draw >= 0 && draw < chance;
      draw -= chance;
      return hit;
    };
    const auto later = [&] {
      return std::chrono::milliseconds(1 + random_() % static_cast<unsigned>(chances_.most_delay_ms));
    };
    Counts& c = counts(message);
    if (is(chances_.lose)) {
      ++c.lost;
    } else if (is(chances_.repeat)) {
      ++c.repeated;
      pass(message);
      for (auto i = random_() % 3; i > 0; --i) hold(message, later());
      pass(message);
    } else if (is(chances_.delay)) {
      ++c.delayed;
      hold(std::move(message), later());
    } else if (is(chances_.truncate) && !message.body.empty()) {
      ++c.truncated;
      message.body.resize(random_() % message.body.size());
      pass(message);
    } else {
      ++c.passed;
      pass(message);
    }
  }

  void hold(Message message, std::chrono::milliseconds time) {
    if (delayed_.size() >= kMostDelayed)
      ++counts(message).lost;
    else
      delayed_.emplace(Steady::now() + time, std::move(message));
  }

  void pass(const Message& message) {
    if (!send(message)) ++counts(message).lost;
  }

  bool send(const Message& message) try {
    zmq::socket_t* to = &front_.raw();
    if (message.up) {
      auto it = backs_.find(message.agent);
      if (it == backs_.end()) {
        if (backs_.size() >= kMostAgents) return false;
        auto socket = Socket::connect(context_, zmq::socket_type::dealer, collector_);
        if (!socket) return false;
        it = backs_.emplace(message.agent, std::move(*socket)).first;
      }
      to = &it->second.raw();
    } else if (!to->send(zmq::buffer(message.agent), zmq::send_flags::sndmore | zmq::send_flags::dontwait)) {
      return false;
    }
    return to->send(zmq::buffer(message.body), zmq::send_flags::dontwait).has_value();
  } catch (const zmq::error_t&) {
    return false;  // that agent has gone
  }

  Socket front_;
  zmq::context_t& context_;
  std::string collector_;
  Chances chances_;
  std::mt19937_64 random_;
  std::map<std::string, Socket> backs_;  // by the agent's routing id
  std::multimap<Steady::time_point, Message> delayed_;
  Counts counts_[2];
};

}  // namespace

int main(int argc, char** argv) try {
  std::string listen, collector;
  Chances chances;
  std::uint64_t seed = std::random_device()();
  CLI::App app{"Passes messages between node agents and a daemon, badly.", "bad_wire"};
  app.add_option("--listen", listen)->required();
  app.add_option("--collector", collector)->required();
  app.add_option("--seed", seed);
  for (const auto& [name, chance] : {std::pair{"--lose", &chances.lose},
                                     {"--repeat", &chances.repeat},
                                     {"--delay", &chances.delay},
                                     {"--truncate", &chances.truncate}})
    app.add_option(name, *chance)->check(CLI::Range(0.0, 1.0));
  app.add_option("--most-delay", chances.most_delay_ms)->check(CLI::Range(1, 10'000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  for (const int s : {SIGTERM, SIGINT}) std::signal(s, [](int) { g_end = 1; });
  std::signal(SIGUSR1, [](int) { g_well = 1; });
  zmq::context_t context(1);
  auto front = Socket::bind(context, zmq::socket_type::router, listen);
  if (!front) {
    std::fprintf(stderr, "bad_wire: %s\n", front.error().message.c_str());
    return 1;
  }
  std::printf("ready, seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  Wire wire(std::move(*front), context, collector, chances, seed);
  wire.run();
  wire.print();
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "bad_wire: %s\n", e.what());
  return 1;
}
