// How often processes are looked at.
#include "margay/node/process_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace margay::node {
namespace {

// Of a CPU that others have, too: whatever is done between two readings of what this thread had of it took a
// tenth of a millisecond, and twice that until it was over.
class SharedCpu final : public Clock {
 public:
  TimeNs monotonic() const override { return now_ = now_ + DurationNs(200'000); }
  TimeNs realtime() const override { return now_; }
  TimeNs processor() const override { return used_ = used_ + DurationNs(100'000); }
  void advance(DurationNs d) { now_ = now_ + d; }

 private:
  mutable TimeNs now_{1'000'000'000}, used_{};
};

std::uint64_t own_start_time() {
  std::ifstream file("/proc/self/stat");
  std::ostringstream text;
  text << file.rdbuf();
  const auto stat = parse_stat(text.str());
  return stat ? stat->start_time : 0;
}

// That a thread is kept from the CPU is a reason to look for who has it, which takes time, and to go on
// looking at the thread.
TEST(ProcessWatch, SamplesGoOnWhileWhoHasTheCpuIsLookedFor) {
  SharedCpu clock;
  ProcessWatch::Options options;
  options.cores = 1;
  ProcessWatch watch(options, clock);
  watch.add(7, getpid(), own_start_time());
  watch.introduce(7);
  watch.starves(7, true);
  const TimeNs begin = clock.realtime();
  std::int64_t samples = 0;
  for (int i = 0; i < 1000; ++i) {
    clock.advance(milliseconds(1));
    const auto sample = watch.sample();
    if (!sample) continue;
    ++samples;
    ASSERT_EQ(sample->processes_size(), 1);
    EXPECT_EQ(sample->processes(0).source(), 7u);
  }
  EXPECT_FALSE(watch.seen(7).gone);
  const DurationNs elapsed = clock.realtime() - begin;
  EXPECT_GE(samples * 5, elapsed.value / options.sample_period.value * 4)
      << samples << " in " << elapsed.value << " ns";
}

}  // namespace
}  // namespace margay::node
