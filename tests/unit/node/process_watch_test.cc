// How often processes are looked at.
#include "margay/node/process_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "fake_segment.h"

namespace margay::node {
namespace process_watch_test {

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

// A directory like /proc with one process in it that is called 5 where it lives.
TEST(ProcessWatch, AProcessOfANamespaceBelowIsFoundByWhatItIsCalledThere) {
  ScratchDirectory dir;
  const std::string place = dir.path + "/321";
  std::filesystem::create_directories(place + "/ns");
  std::filesystem::create_directories(dir.path + "/self/ns");
  std::ofstream(dir.path + "/self/ns/pid") << "ours";
  std::ofstream(place + "/ns/pid") << "theirs";
  std::ofstream(place + "/status") << "Name:\tapp\nNSpid:\t321\t5\nThreads:\t1\n";
  std::ofstream(place + "/stat")
      << "321 (app) T 1 1 1 0 -1 4194304 10 0 0 0 7 3 0 0 20 0 1 0 777 0 0 0 0 0 0 0 0 0 0 0 0 "
         "0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
  struct stat st {};
  ASSERT_EQ(stat((place + "/ns/pid").c_str(), &st), 0);
  SharedCpu clock;
  ProcessWatch::Options options;
  options.proc = dir.path;
  ProcessWatch watch(options, clock);
  watch.add(1, ProcessName{5, 777, st.st_ino}, {});
  watch.add(2, ProcessName{5, 778, st.st_ino}, {});      // began at another time
  watch.add(3, ProcessName{5, 777, st.st_ino + 1}, {});  // elsewhere
  for (const std::uint64_t source : {1, 2, 3}) watch.introduce(source);
  std::optional<wire::NodeSample> sample;
  for (int i = 0; i < 1000 && !sample; ++i) {
    clock.advance(milliseconds(10));
    sample = watch.sample();
  }
  ASSERT_TRUE(sample);
  ASSERT_EQ(sample->processes_size(), 1);
  EXPECT_EQ(sample->processes(0).source(), 1u);
  EXPECT_EQ(sample->processes(0).state(), static_cast<std::uint32_t>('T'));
  EXPECT_FALSE(watch.seen(2).gone);
  EXPECT_FALSE(watch.seen(3).gone);
}

TEST(Namespaces, TheInnermostPidIsReadAndNothingElse) {
  EXPECT_EQ(innermost_pid("Name:\ta\nNSpid:\t321\t12\t5\nx"), 5);
  EXPECT_EQ(innermost_pid("Name:\ta\nNSpid:\t321\nNSsid:\t1\t2"), 0) << "it is the only one";
  EXPECT_EQ(innermost_pid("Name:\ta\nNSpid:"), 0);
  EXPECT_EQ(innermost_pid("Name:\tNSpid: 7 8"), 0);
  EXPECT_EQ(innermost_pid("x\nNSpid:\t1\t-5\n"), 0);
  EXPECT_EQ(innermost_pid("x\nNSpid:\t1\t99999999999999999999\n"), 0);
}

}  // namespace process_watch_test
}  // namespace margay::node
