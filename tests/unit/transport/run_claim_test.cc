// Run directories: one name, one run, whoever comes when; what is left behind is found and taken away.
#include "margay/transport/run_claim.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "../../support/temporary_folder.h"

namespace margay::transport {
namespace run_claim_test {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RunDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const before = std::getenv("MARGAY_RUNTIME_DIR");
    if (before != nullptr) before_ = before;
    ASSERT_EQ(setenv("MARGAY_RUNTIME_DIR", base_.path.c_str(), 1), 0);
  }
  void TearDown() override {
    for (const pid_t child : children_) end(child);
    for (const std::string& run : list_runs()) remove_run_directory(*open_run_directory(run));
    if (before_)
      setenv("MARGAY_RUNTIME_DIR", before_->c_str(), 1);
    else
      unsetenv("MARGAY_RUNTIME_DIR");
  }
  // A process that does `what`, says whether it went well, and waits to be killed.
  pid_t process(const std::function<bool()>& what, bool* well = nullptr) {
    int said[2];
    if (pipe(said) != 0) std::abort();
    const pid_t child = fork();
    if (child == 0) {
      const char answer = what() ? 'y' : 'n';
      if (write(said[1], &answer, 1) != 1) _exit(1);
      for (;;) pause();
    }
    children_.insert(child);
    char answer = 0;
    EXPECT_EQ(read(said[0], &answer, 1), 1);
    if (well != nullptr) *well = answer == 'y';
    close(said[0]);
    close(said[1]);
    return child;
  }
  void end(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  void kill_now(pid_t child) {
    end(child);
    children_.erase(child);
  }

  const test::TemporaryFolder base_{"/tmp"};
  std::optional<std::string> before_;
  std::set<pid_t> children_;
};

TEST_F(RunDirectoryTest, ANameIsOneRunsAndTheOtherIsToldWhose) {
  bool well = false;
  const pid_t first = process([] { return new_run_directory("r").has_value(); }, &well);
  ASSERT_TRUE(well);
  for (const auto& second : {new_run_directory("r"), make_run_directory("r")}) {
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(second.error().message, HasSubstr("process " + std::to_string(first)));
  }
  EXPECT_TRUE(fs::exists(open_run_directory("r")->rings()));
  EXPECT_THAT(list_runs(), ElementsAre("r"));
}

TEST_F(RunDirectoryTest, OfManyThatWantANameAtOnceOneGetsIt) {
  const std::string go = base_ / "go", got = base_ / "got";
  std::vector<pid_t> all;
  for (int i = 0; i < 32; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      while (access(go.c_str(), F_OK) != 0) usleep(100);
      const bool mine = new_run_directory("r").has_value();
      const int fd = open(got.c_str(), O_CREAT | O_APPEND | O_WRONLY, 0600);
      if (write(fd, mine ? "y" : "n", 1) != 1) _exit(1);
      for (;;) pause();
    }
    children_.insert(child);
    all.push_back(child);
  }
  std::ofstream(go) << "go";
  std::error_code ec;
  for (int i = 0; i < 6000 && (!fs::exists(got) || fs::file_size(got, ec) < all.size()); ++i) usleep(10'000);
  std::string answers;
  std::ifstream(got) >> answers;
  EXPECT_EQ(std::count(answers.begin(), answers.end(), 'y'), 1) << answers;
  EXPECT_EQ(answers.size(), all.size());
}

TEST_F(RunDirectoryTest, WhatIsLeftOfProcessesThatWereKilledIsNoRunAndIsCleared) {
  const pid_t first = process([] { return new_run_directory("r") && new_run_directory("s"); });
  std::ofstream(open_run_directory("r")->path + "/left") << "x";
  EXPECT_EQ(clear_stale_runs(), 0u);
  kill_now(first);
  EXPECT_THAT(list_runs(), IsEmpty());
  ASSERT_TRUE(fs::exists(base_ / "margay-" + std::to_string(geteuid()) + "/r/left"));
  const auto again = new_run_directory("r");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(fs::exists(again->path + "/left"));
  EXPECT_EQ(clear_stale_runs(), 1u) << "the other one";
  EXPECT_FALSE(open_run_directory("s"));
  EXPECT_THAT(list_runs(), ElementsAre("r"));
}

TEST_F(RunDirectoryTest, ADaemonThatIsStartedAgainGoesOnWithWhatLiesThere) {
  const pid_t first = process([] { return make_run_directory("r").has_value(); });
  std::ofstream(open_run_directory("r")->rings() + "/p1-1") << "a ring";
  kill_now(first);
  const auto again = make_run_directory("r");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(fs::exists(again->rings() + "/p1-1"));
  EXPECT_TRUE(make_run_directory("r")) << "for the one that has it, nothing";
}

TEST_F(RunDirectoryTest, AChildThatKeepsTheClaimOpenHoldsTheRun) {
  pid_t helper = -1;
  int number[2];
  ASSERT_EQ(pipe(number), 0);
  const pid_t first = process([&] {
    const auto mine = new_run_directory("r");
    if (!mine || claim_of(*mine) < 0) return false;
    const pid_t child = fork();
    if (child == 0)
      for (;;) pause();
    return write(number[1], &child, sizeof child) == sizeof child;
  });
  ASSERT_EQ(read(number[0], &helper, sizeof helper), static_cast<ssize_t>(sizeof helper));
  kill_now(first);
  EXPECT_THAT(list_runs(), ElementsAre("r"));
  EXPECT_FALSE(new_run_directory("r"));
  kill(helper, SIGKILL);
  for (int i = 0; i < 1000 && !list_runs().empty(); ++i) usleep(10'000);
  EXPECT_TRUE(new_run_directory("r"));
  close(number[0]);
  close(number[1]);
}

TEST_F(RunDirectoryTest, AJobThatGoesOnWithoutAnybodyKeepsItsRings) {
  const pid_t first = process([] { return new_run_directory("r").has_value(); });
  const pid_t job = process([] { return true; });
  unsigned long long start = 0;
  {
    std::ifstream stat("/proc/" + std::to_string(job) + "/stat");
    std::string field;
    for (int i = 1; i < 22; ++i) stat >> field;  // this test's name has no blank
    stat >> start;
  }
  const std::string ring = open_run_directory("r")->rings() + "/p" + std::to_string(job) + "-";
  std::ofstream(ring + std::to_string(start)) << "a ring";
  kill_now(first);
  EXPECT_EQ(clear_stale_runs(), 0u);
  EXPECT_FALSE(new_run_directory("r"));
  EXPECT_THAT(list_runs(), IsEmpty()) << "nobody watches it";
  // Of another PID namespace: its number says nothing, its lock does.
  fs::rename(ring + std::to_string(start), ring + std::to_string(start + 1) + "-7");
  const int locked = open((ring + std::to_string(start + 1) + "-7").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(locked, LOCK_EX), 0);
  EXPECT_EQ(clear_stale_runs(), 0u);
  close(locked);
  fs::rename(ring + std::to_string(start + 1) + "-7", ring + std::to_string(start));
  // Another process with the job's number has nothing to do with the run.
  fs::rename(ring + std::to_string(start), ring + std::to_string(start + 1));
  EXPECT_EQ(clear_stale_runs(), 1u);
}

TEST_F(RunDirectoryTest, WhereNoLockTellsPidAndStartTimeDo) {
  ASSERT_TRUE(user_directory());
  const std::string path = *user_directory() + "/old";
  fs::create_directory(path);
  fs::permissions(path, fs::perms::owner_all);
  std::ofstream(path + "/owner.pid") << getpid() << '\n';  // as an older Margay wrote it
  EXPECT_THAT(list_runs(), ElementsAre("old"));
  EXPECT_FALSE(new_run_directory("old"));
  fs::remove(path + "/lock");
  std::ofstream(path + "/owner.pid") << getpid() << "\n1 some-other-boot\n2026-01-01 00:00:00\n";
  EXPECT_THAT(list_runs(), IsEmpty());
  EXPECT_TRUE(new_run_directory("old"));
}

TEST_F(RunDirectoryTest, TheNewestRunIsTheOneThatBeganLast) {
  const pid_t a = process([] { return new_run_directory("z-first").has_value(); });
  const pid_t b = process([] { return new_run_directory("a-second").has_value(); });
  const auto at = fs::last_write_time(open_run_directory("z-first")->owner_file());
  fs::last_write_time(open_run_directory("a-second")->owner_file(), at + std::chrono::seconds(1));
  EXPECT_THAT(list_runs(), ElementsAre("a-second", "z-first"));
  kill_now(b);
  EXPECT_THAT(list_runs(), ElementsAre("z-first"));
  kill_now(a);
}

TEST_F(RunDirectoryTest, WhatAProcessWasKilledOverIsTakenAwayAndWhatIsInWorkIsNot) {
  ASSERT_TRUE(user_directory());
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  ASSERT_EQ(mkdir((*user_directory() + "/.new-" + std::to_string(gone) + "-0").c_str(), 0700), 0);
  fs::create_directory(*user_directory() + "/.new-" + std::to_string(getpid()) + "-99");
  fs::create_directory(*user_directory() + "/.viewer");
  EXPECT_EQ(clear_stale_runs(), 1u);
  EXPECT_TRUE(fs::exists(*user_directory() + "/.new-" + std::to_string(getpid()) + "-99"));
  EXPECT_TRUE(fs::exists(*user_directory() + "/.viewer"));
}

}  // namespace run_claim_test
}  // namespace margay::transport
