// An agent, a process to stand for a rank with its segment, and a collector, for tests.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "fake_collector.h"
#include "fake_segment.h"
#include "margay/node/agent.h"

namespace margay::node {

inline constexpr std::uint16_t kOne = 1;  // a state that is open

// A process that waits to be killed, to stand for a rank.
class Stand {
 public:
  Stand() : pid(fork()) {
    if (pid == 0) {
      for (;;) pause();
    }
    FILE* f = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "re");
    char text[2048];
    const std::size_t n = std::fread(text, 1, sizeof text, f);
    std::fclose(f);
    start_time = parse_stat({text, n})->start_time;
  }
  ~Stand() { end(); }
  void end() {
    if (pid <= 0) return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    pid = 0;
  }
  pid_t pid;
  std::uint64_t start_time = 0;
};

inline std::int64_t mono() {
  return SystemClock().monotonic().value;
}

inline void calls(probe::RingWriter& w, int n) {
  for (int i = 0; i < n; ++i) {
    w.write(record_of(MARGAY_ENTER, 1), nullptr, 0, mono);
    w.write(record_of(MARGAY_LEAVE, 1), &kOne, 1, mono);
  }
}

struct AgentTest : testing::Test {
  ScratchDirectory dir;
  Stand rank;
  FakeSegment segment{dir.rings(), rank.pid, rank.start_time};
  SystemClock clock;
  FakeCollector collector;
  std::unique_ptr<Agent> agent;

  AgentOptions options;

  void SetUp() override {
    options.rings = dir.rings();
    options.host = "node7";
    options.period = DurationNs(1);
    options.sample_period = DurationNs(1);
    make();
  }
  void make() { agent = std::make_unique<Agent>(options, clock); }
  void round(bool commit = true) {
    agent->scan();
    agent->sample();
    agent->drain();
    agent->outbox().flush(clock.monotonic(), [&](const wire::ToCollector& m) {
      wire::ToCollector copy;
      EXPECT_TRUE(copy.ParseFromString(m.SerializeAsString()));
      collector.take(copy);
      return true;
    });
    if (commit) agent->outbox().on_reply_untrusted(collector.commit(), clock.monotonic());
  }
  // The agent looks at processes as often as it may cost, so what they do is seen after some rounds.
  template <class Condition>
  void rounds_until(Condition condition) {
    const TimeNs begin = clock.monotonic();
    while (!condition()) {
      round();
      ASSERT_LT((clock.monotonic() - begin).value, seconds(20).value);
    }
  }
  std::uint64_t id() const { return collector.hellos.begin()->first; }
};

}  // namespace margay::node
