#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "crash_cut.h"
#include "margay/store/archive.h"
#include "store_support.h"

extern char** environ;

namespace margay::store {
namespace {

using testing::example_run;
using testing::TempDir;

constexpr std::uint64_t kSeed = 20240613;

// A running crash_writer; killed and reaped at the latest when this goes.
class Child {
 public:
  Child(const char* what, const std::string& dir) {
    int out[2];
    int in[2];
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(in, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::string program = MARGAY_CRASH_WRITER;
    std::string task = what;
    std::string path = dir;
    char* arguments[] = {program.data(), task.data(), path.data(), nullptr};
    if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    ::close(out[1]);
    ::close(in[0]);
    out_ = out[0];
    in_ = in[1];
  }
  ~Child() {
    kill();
    ::close(out_);
    ::close(in_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // Waits until the child has said `n` more bytes. False when it ends before.
  bool hear(std::size_t n) {
    char c;
    for (; n > 0; --n)
      if (::read(out_, &c, 1) != 1) return false;
    return true;
  }
  int kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    return wait();
  }
  int wait() {
    int status = 0;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int in_ = -1;
};

// The archive holds the cut `n` = its sequence, in every value.
void expect_one_whole_cut(const std::string& path, std::uint64_t* sequence, Mode mode = Mode::kReadOnly) {
  const auto archive = Archive::open(path, mode);
  ASSERT_TRUE(archive) << archive.error().message;
  const auto r = (*archive)->load();
  ASSERT_TRUE(r) << r.error().message;
  *sequence = r->sequence;
  const Cut expected = testing::numbered_cut(r->sequence);
  EXPECT_EQ(r->wall, expected.wall);
  EXPECT_EQ(r->leaf_states, expected.leaf_states);
  EXPECT_EQ(r->streams, expected.streams);
  EXPECT_EQ(r->closed, expected.closed);
  EXPECT_EQ(r->alerts, expected.alerts);
  EXPECT_EQ(r->phases, expected.phases);
  EXPECT_EQ(r->state, expected.state);
  for (std::uint8_t level = 0; level < 3; ++level) {
    const auto columns = (*archive)->read_columns(LevelIndex(level), SliceIndex(-9), SliceIndex(9));
    ASSERT_TRUE(columns) << columns.error().message;
    ASSERT_EQ(columns->size(), 1u);
    EXPECT_EQ(columns->front(), *expected.columns[level]);
  }
}

TEST(ArchiveCrash, KilledAtAnyMomentItHoldsExactlyOneWholeCutAndNothingAcknowledgedIsLost) {
  const TempDir dir;
  const std::string path = dir / "a";
  ASSERT_TRUE(Archive::create(path, example_run()));
  std::mt19937_64 random(kSeed);
  std::uint64_t acknowledged = 0;
  for (int kill = 0; kill < 10; ++kill) {
    Child child("commit", path);
    const std::size_t commits = 1 + random() % 40;
    ASSERT_TRUE(child.hear(commits));
    acknowledged += commits;
    // A random moment inside the next commit, not at its end.
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 3000);
    while (std::chrono::steady_clock::now() < until) {
    }
    EXPECT_TRUE(WIFSIGNALED(child.kill()));
    std::uint64_t sequence = 0;
    expect_one_whole_cut(path, &sequence);
    EXPECT_GE(sequence, acknowledged) << "seed " << kSeed << ", kill " << kill;
    acknowledged = sequence;
    if (HasFailure()) return;
  }
}

TEST(ArchiveCrash, FullDiskIsReportedAndAllCutsComeInOnceThereIsRoom) {
  const TempDir dir;
  const std::string path = dir / "a";
  ASSERT_TRUE(Archive::create(path, example_run()));
  Child child("full", path);
  const int status = child.wait();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::uint64_t sequence = 0;
  expect_one_whole_cut(path, &sequence);
  EXPECT_EQ(sequence, 80u);
}

TEST(ArchiveErrors, LockedByAnotherProcessTellsItsPid) {
  const TempDir dir;
  const std::string path = dir / "a";
  ASSERT_TRUE(Archive::create(path, example_run()));
  Child child("hold", path);
  ASSERT_TRUE(child.hear(1));
  for (const Mode mode : {Mode::kWrite, Mode::kReadOnly}) {
    const auto r = Archive::open(path, mode);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(r.error().message, path + ": is being written by process " + std::to_string(child.pid()) +
                                     "; ask its daemon, or stop it first");
  }
  child.kill();
  EXPECT_TRUE(Archive::open(path, Mode::kWrite)) << "a killed writer leaves no lock behind";
}

TEST(ArchiveBeside, EachReaderSeesOneWholeCutOfAWriterAtFullSpeed) {
  const TempDir dir;
  const std::string path = dir / "a";
  ASSERT_TRUE(Archive::create(path, example_run()));
  Child child("commit", path);
  ASSERT_TRUE(child.hear(1));
  std::uint64_t last = 0, committed = 1;
  std::unique_ptr<Archive> early;
  std::uint64_t early_sequence = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(child.hear(10)) << "it goes on";
    committed += 10;
    std::uint64_t sequence = 0;
    expect_one_whole_cut(path, &sequence, Mode::kBeside);
    EXPECT_GE(sequence, std::max(last, committed)) << "all that was committed when it was opened";
    last = sequence;
    if (early) continue;
    auto archive = Archive::open(path, Mode::kBeside);
    ASSERT_TRUE(archive) << archive.error().message;
    EXPECT_TRUE((*archive)->is_live());
    early = std::move(*archive);
    early_sequence = early->load()->sequence;
  }
  // Megabytes later, files of that time are long gone.
  EXPECT_GT(last, early_sequence + 100);
  EXPECT_EQ(early->load()->sequence, early_sequence);
  const auto columns = early->read_columns(LevelIndex(0), SliceIndex(0), SliceIndex(0));
  ASSERT_TRUE(columns) << columns.error().message;
  EXPECT_EQ(columns->at(0).lost_events, early_sequence);
  EXPECT_FALSE(early->commit(testing::numbered_cut(early_sequence + 1), false));
  child.kill();
  const auto after = Archive::open(path, Mode::kBeside);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_FALSE((*after)->is_live());
  EXPECT_TRUE(Archive::open(path, Mode::kWrite)) << "who reads beside is in nobody's way";
}

}  // namespace
}  // namespace margay::store
