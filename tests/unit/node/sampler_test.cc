#include "margay/node/sampler.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace margay::node {
namespace sampler_test {

constexpr const char* kStat =
    "1234 (a) b (c)) T 1 2 3 0 -1 4194304 150 0 7 0 12 3 0 0 20 0 5 0 99887 1000 20 18446744073709551615 1 1 "
    "0 0 0 0 0 0 "
    "0 0 0 0 17 6 0 0 0 0 0 0 0 0 0 0 0 0 9\n";

TEST(Sampler, StatWithBracketsInTheCommand) {
  const auto s = parse_stat(kStat);
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->state, 'T');
  EXPECT_EQ(s->cpu_ticks, 15u);
  EXPECT_EQ(s->threads, 5);
  EXPECT_EQ(s->start_time, 99887u);
  EXPECT_EQ(s->core, 6);
  EXPECT_EQ(s->exit_code, 9);
}

TEST(Sampler, EveryTruncationIsSurvived) {
  const std::string whole = kStat;
  for (std::size_t n = 0; n < whole.size(); ++n) (void)parse_stat({whole.data(), n});
  EXPECT_FALSE(parse_stat(""));
  EXPECT_FALSE(parse_stat("1 (x"));
  EXPECT_FALSE(parse_stat("1 (x) R"));
  EXPECT_FALSE(parse_stat(
      "1 (x) R 1 2 3 0 -1 4194304 0 0 7 0 q 3 0 0 20 0 1 0 9 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8"));
}

TEST(Sampler, SchedstatAndSteal) {
  EXPECT_EQ(parse_schedstat("123 456 7\n")->run_delay_ns, 456u);
  EXPECT_EQ(parse_schedstat("123 456 7\n")->cpu_ns, 123u);
  EXPECT_FALSE(parse_schedstat("123"));
  EXPECT_FALSE(parse_schedstat("x 456 7"));
  EXPECT_FALSE(parse_schedstat("123 -4 7"));
  EXPECT_FALSE(parse_schedstat("123 456789012345678901234567890 7"));
  EXPECT_FALSE(parse_schedstat(""));
  constexpr const char* kIo =
      "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: "
      "5\n";
  EXPECT_EQ(*parse_storage_bytes(kIo), 12288u);
  for (std::size_t n = 0; n < std::string_view(kIo).find(" 8192"); ++n)
    EXPECT_FALSE(parse_storage_bytes({kIo, n})) << n;
  EXPECT_FALSE(parse_storage_bytes("read_bytes: 18446744073709551615\nwrite_bytes: 1\n"));
  EXPECT_FALSE(parse_storage_bytes("read_bytes: -1\nwrite_bytes: 1\n"));
  EXPECT_EQ(*parse_steal_ticks("cpu  1 2 3 4 5 6 7 88 0 0\ncpu0 1 2 3\n"), 88u);
  EXPECT_FALSE(parse_steal_ticks("intr 1 2 3 4 5 6 7 8 9"));
  EXPECT_FALSE(parse_steal_ticks(""));
}

TEST(Sampler, AProcessIsSeenStoppedAndGone) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  ASSERT_GT(child, 0);
  FILE* f = std::fopen(("/proc/" + std::to_string(child) + "/stat").c_str(), "re");
  char text[2048];
  const std::size_t n = std::fread(text, 1, sizeof text, f);
  std::fclose(f);
  const auto stat = parse_stat({text, n});
  ASSERT_TRUE(stat);
  ProcessProbe probe(child, stat->start_time);
  EXPECT_EQ(probe.look().presence, Presence::kThere);
  kill(child, SIGSTOP);
  int status;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_EQ(probe.look().stat->state, 'T');
  ProcessProbe other(child, stat->start_time + 1);  // the pid of somebody else
  EXPECT_EQ(other.look().presence, Presence::kGone);
  Descriptors none;
  ProcessProbe poor(child, stat->start_time, &none);  // opens its files each time
  EXPECT_EQ(poor.look().presence, Presence::kThere);
  EXPECT_GT(poor.scheduled().cpu_ns + poor.scheduled().run_delay_ns, 0u);
  kill(child, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(probe.look().presence, Presence::kGone) << "a zombie has ended";
  EXPECT_EQ(poor.look().presence, Presence::kGone);
  waitpid(child, &status, 0);
  EXPECT_EQ(probe.look().presence, Presence::kGone);
  EXPECT_EQ(poor.look().presence, Presence::kGone);
}

// Where the kernel does not show it (hidepid), nobody knows that it has ended before its pid is free.
TEST(Sampler, AProcessThatIsNotShownIsNotGone) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  ASSERT_GT(child, 0);
  ProcessProbe probe(child, 1, nullptr, "/nowhere");
  EXPECT_EQ(probe.look().presence, Presence::kHidden);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(probe.look().presence, Presence::kGone);
}

// Nor because there is no descriptor to look with.
TEST(Sampler, WithoutADescriptorAProcessIsNotGone) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  ProcessProbe probe(getpid(), 0);
  const Presence blind = probe.look().presence;
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(blind, Presence::kHidden);
  EXPECT_EQ(probe.look().presence, Presence::kThere);
}

TEST(Sampler, ItsCostIsBounded) {
  SamplePace pace(milliseconds(50), 4);
  EXPECT_TRUE(pace.due(TimeNs(1'000'000'000)));
  pace.done(TimeNs(1'000'000'000), milliseconds(2));
  EXPECT_EQ(pace.current().value, milliseconds(200).value);
  EXPECT_FALSE(pace.due(TimeNs(1'199'999'999)));
  EXPECT_TRUE(pace.due(TimeNs(1'200'000'000)));
  pace.done(TimeNs(1'200'000'000), DurationNs(1000));
  EXPECT_EQ(pace.current().value, milliseconds(50).value);
  for (const auto& [cores, part] : {std::pair{1u, 400}, {2u, 200}, {8u, 50}, {64u, 50}, {0u, 400}}) {
    SamplePace other(milliseconds(50), cores);
    other.done(TimeNs(), milliseconds(2));
    EXPECT_EQ(other.current(), milliseconds(2) * part) << cores << " cores";
  }
}

}  // namespace sampler_test
}  // namespace margay::node
