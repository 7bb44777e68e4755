#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "crash_cut.h"
#include "margay/store/archive.h"
#include "power_image.h"
#include "store_support.h"

extern char** environ;

namespace margay::store {
namespace crash_test {

using test::TemporaryFolder;
using testing::example_run;

constexpr std::uint64_t kSeed = 20240613;

// A running crash_writer; killed and reaped at the latest when this goes.
class Child {
 public:
  // `more`: of its environment, "NAME=VALUE".
  Child(const char* what, const std::string& dir, std::vector<std::string> more = {}) {
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
    std::vector<char*> environment;
    for (std::string& variable : more) environment.push_back(variable.data());
    for (char** e = environ; *e != nullptr; ++e) environment.push_back(*e);
    environment.push_back(nullptr);
    if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environment.data()) != 0) pid_ = -1;
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
  // Bytes until the child ends.
  std::size_t hear_all() {
    std::size_t n = 0;
    char c;
    while (::read(out_, &c, 1) == 1) ++n;
    return n;
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

// The path of a new archive.
std::string created(const TemporaryFolder& dir) {
  EXPECT_TRUE(Archive::create(dir / "a", example_run()));
  return dir / "a";
}

// The archive holds the cut `n` = its sequence, in every value.
void expect_one_whole_cut(const std::string& path, std::uint64_t* sequence, Mode mode = Mode::kReadOnly) {
  const auto archive = Archive::open(path, mode);
  ASSERT_TRUE(archive) << archive.error().message;
  const auto r = (*archive)->load();
  ASSERT_TRUE(r) << r.error().message;
  *sequence = r->sequence;
  const Cut expected = testing::numbered_cut(r->sequence);
  testing::expect_kept(*r, expected);
  for (std::uint8_t level = 0; level < 3; ++level) {
    const auto columns = (*archive)->read_columns(LevelIndex(level), SliceIndex(-9), SliceIndex(9));
    ASSERT_TRUE(columns) << columns.error().message;
    ASSERT_EQ(columns->size(), 1u);
    EXPECT_EQ(columns->front(), *expected.columns[level]);
  }
}

TEST(ArchiveCrash, KilledAtAnyMomentItHoldsExactlyOneWholeCutAndNothingAcknowledgedIsLost) {
  const TemporaryFolder dir;
  const std::string path = created(dir);
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

// The child dies at its `cut`-th call that changes something. Returns how many cuts were acknowledged before.
std::uint64_t cut_at(const char* how, const std::string& disk, const std::string& book, std::uint64_t cut,
                     const std::string& place) {
  // In directories that have to be made as well.
  Child child(
      how, disk + "/jobs/today/a",
      {std::string("LD_PRELOAD=") + MARGAY_POWER, "MARGAY_POWER_ROOT=" + disk, "MARGAY_POWER_LOG=" + book,
       "MARGAY_POWER_CUT=" + std::to_string(cut), "ASAN_OPTIONS=verify_asan_link_order=0"});
  const std::uint64_t acknowledged = child.hear_all();
  const int status = child.wait();
  EXPECT_TRUE(WIFSIGNALED(status)) << place << ": it ended by itself, " << WEXITSTATUS(status);
  return acknowledged;
}

// What is left of an archive that is written, at random calls, when the power goes: of `rounds` cuts of
// power, one after the other. Returns how many acknowledged cuts were missing.
std::uint64_t power_cuts(const char* how, int rounds, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const TemporaryFolder dir;
  std::string disk = dir / "disk";
  std::filesystem::create_directory(disk);
  std::uint64_t last = 0, missing = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string place = "seed " + std::to_string(seed) + ", round " + std::to_string(round);
    const std::string book = dir / ("book" + std::to_string(round));
    // Now and then soon: while it is made, opened, or recovers.
    const std::uint64_t cut = 1 + random() % (round % 3 == 0 ? 60 : 300);
    const std::uint64_t acknowledged = last + cut_at(how, disk, book, cut, place);
    const std::string left = dir / ("disk" + std::to_string(round));
    EXPECT_EQ(test::make_power_image(book, disk, left, round % 2 == 0 ? &random : nullptr), "") << place;
    disk = left;
    const std::string path = disk + "/jobs/today/a";
    if (acknowledged == 0) continue;  // nothing was promised
    std::uint64_t sequence = 0;
    // Opened as a daemon does, which reads the log.
    const auto archive = Archive::open(path, Mode::kWrite);
    if (!archive) {
      ADD_FAILURE() << place << ": " << archive.error().message;
      return missing;
    }
    const auto r = (*archive)->load();
    EXPECT_TRUE(r) << place;
    sequence = r ? r->sequence : 0;
    if (sequence > 0) {
      EXPECT_EQ(r->state, testing::numbered_cut(sequence).state) << place;
    }
    missing += acknowledged - std::min(acknowledged, sequence);
    last = sequence;
    if (::testing::Test::HasFailure()) break;
  }
  return missing;
}

// Of a kill all is left that was written, of a loss of power what was confirmed.
TEST(ArchivePower, ACreationThatIsCutShortAtAnyCallIsFinishedByTheNext) {
  const TemporaryFolder dir("/dev/shm");
  std::uint64_t acknowledged = 0;
  std::uint64_t cut = 1;
  for (; acknowledged == 0 && !HasFailure(); ++cut) {
    ASSERT_LT(cut, 1000u) << "it never acknowledged anything";
    const std::string place = "cut " + std::to_string(cut), disk = dir / "disk", left = dir / "left",
                      book = dir / "book";
    for (const std::string& path : {disk, left, book}) std::filesystem::remove_all(path);
    std::filesystem::create_directory(disk);
    acknowledged = cut_at("synced", disk, book, cut, place);
    EXPECT_EQ(test::make_power_image(book, disk, left), "") << place;
    if (acknowledged > 0) break;
    for (const std::string& path : {disk + "/jobs/today/a", left + "/jobs/today/a"}) {
      // As a daemon takes it.
      auto archive = Archive::open(path, Mode::kWrite);
      if (!archive && archive.error().code == ErrorCode::kNotFound)
        archive = Archive::create(path, example_run());
      ASSERT_TRUE(archive) << place << ": " << archive.error().message;
      EXPECT_EQ((*archive)->load()->run, example_run()) << place;
      EXPECT_TRUE((*archive)->commit(testing::numbered_cut(1), true)) << place;
      archive->reset();
      std::uint64_t sequence = 0;
      expect_one_whole_cut(path, &sequence);
      EXPECT_EQ(sequence, 1u) << place;
    }
  }
  EXPECT_GT(cut, 10u) << "creation takes more than that";
}

TEST(ArchivePower, NothingAcknowledgedIsLostWhateverTheDiskHadNotConfirmed) {
  const std::uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  EXPECT_EQ(power_cuts("synced", 10, seed), 0u);
}

// Else the disk of this test would keep what nobody asked it to.
TEST(ArchivePower, WithoutSyncTheLastCutsGoWholeAndTheOthersStay) {
  const std::uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  // Where the power goes too soon, or just behind a sync, nothing is missing that time.
  std::uint64_t missing = 0;
  for (std::uint64_t more = 0; more < 20 && missing == 0 && !HasFailure(); ++more)
    missing = power_cuts("power", 4, seed + more);
  EXPECT_GT(missing, 0u);
}

TEST(ArchiveCrash, FullDiskIsReportedAndAllCutsComeInOnceThereIsRoom) {
  const TemporaryFolder dir;
  const std::string path = created(dir);
  Child child("full", path);
  const int status = child.wait();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::uint64_t sequence = 0;
  expect_one_whole_cut(path, &sequence);
  EXPECT_EQ(sequence, 80u);
}

TEST(ArchiveErrors, LockedByAnotherProcessTellsItsPid) {
  const TemporaryFolder dir;
  const std::string path = created(dir);
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
  const TemporaryFolder dir;
  const std::string path = created(dir);
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

}  // namespace crash_test
}  // namespace margay::store
