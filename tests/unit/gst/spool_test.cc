// The log between a program and its reader: nothing is read twice or twice counted, whoever is slow, and it
// takes no more room than it may.
#include "margay/gst/log_spool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "../../support/temporary_folder.h"

namespace margay::gst {
namespace spool_test {

namespace fs = std::filesystem;

class SpoolTest : public testing::Test {
 protected:
  void SetUp() override { signal(SIGIO, SIG_IGN); }
  LogSpool spool() {
    auto made = LogSpool::open(directory_);
    if (!made) ADD_FAILURE() << made.error().message;
    return std::move(*made);
  }
  std::FILE* log(const std::string& name) { return std::fopen((directory_ + "/" + name).c_str(), "w"); }
  static void line(std::FILE* file, int number) {
    std::fprintf(file, "line %d of some length, as logs have them\n", number);
    std::fflush(file);
  }

  const test::TemporaryFolder base_{"/dev/shm"};
  const std::string directory_ = base_ / "gst";
  std::string text_;
  std::uint64_t lost_ = 0;
  LogSpool::Taker taker_{[this](std::string_view lines) { text_ += lines; },
                         [this](std::int64_t, std::uint64_t lines) { lost_ += lines; }};
};

TEST_F(SpoolTest, WholeLinesComeInOrderAndTheFileGoesWhenNobodyWritesIt) {
  LogSpool s = spool();
  EXPECT_EQ(s.file_pattern(), directory_ + "/%p-%r");
  EXPECT_TRUE(s.read(taker_, 1 << 20));
  std::FILE* const f = log("12-34");
  std::fputs("one\ntw", f);
  std::fflush(f);
  EXPECT_TRUE(s.read(taker_, 1 << 20));
  EXPECT_EQ(text_, "one\n");
  std::fputs("o\nlast", f);
  std::fflush(f);
  EXPECT_TRUE(s.read(taker_, 1 << 20));
  EXPECT_EQ(text_, "one\ntwo\n");
  EXPECT_TRUE(fs::exists(directory_ + "/12-34"));
  std::fclose(f);
  EXPECT_TRUE(s.read(taker_, 1 << 20));
  EXPECT_EQ(text_, "one\ntwo\nlast\n");
  EXPECT_TRUE(fs::is_empty(directory_));
  EXPECT_EQ(lost_, 0u);
}

TEST_F(SpoolTest, AFileThatAChildHasOpenStays) {
  LogSpool s = spool();
  std::FILE* const f = log("12-34");
  line(f, 0);
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(go[1]);
    char c;
    if (read(go[0], &c, 1) < 0) _exit(1);
    line(f, 1);
    _exit(0);
  }
  std::fclose(f);
  EXPECT_TRUE(s.read(taker_, 1 << 20));
  EXPECT_TRUE(fs::exists(directory_ + "/12-34")) << "the parent is gone, and the log goes on";
  close(go[0]);
  close(go[1]);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(s.read(taker_, 1 << 20));
  EXPECT_NE(text_.find("line 1"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(SpoolTest, ALineWithoutEndIsOneLineAndTheNextOneIsWhole) {
  LogSpool s = spool();
  std::FILE* const f = log("12-34");
  std::fputs((std::string(700 << 10, 'x') + "\nnext\n").c_str(), f);
  std::fclose(f);
  while (!s.read(taker_, 1 << 20)) {
  }
  ASSERT_GE(text_.size(), 5u);
  EXPECT_EQ(text_.substr(text_.size() - 5), "next\n");
  EXPECT_EQ(std::count(text_.begin(), text_.end(), '\n'), 2);
}

TEST_F(SpoolTest, WithoutAReaderTheOldestLinesGoAndAreCounted) {
  LogSpool reader = spool(), keeper = spool();
  std::FILE* const f = log("12-34");
  constexpr int kLines = 400'000;
  constexpr std::uint64_t kBound = 4 << 20;
  std::uint64_t dropped = 0;
  for (int i = 0; i < kLines; ++i) {
    line(f, i);
    if (i % 5000 == 0) {
      dropped += keeper.bound(kBound);
      struct stat st {};
      ASSERT_EQ(stat((directory_ + "/12-34").c_str(), &st), 0);
      ASSERT_LE(st.st_blocks * 512, static_cast<std::int64_t>(kBound + (1 << 20)));
    }
  }
  while (!reader.read(taker_, 1 << 20)) {
  }
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(lost_, dropped);
  EXPECT_EQ(static_cast<std::uint64_t>(std::count(text_.begin(), text_.end(), '\n')) + dropped,
            std::uint64_t{kLines});
  EXPECT_EQ(text_.substr(0, text_.find(" of")), "line " + std::to_string(dropped)) << "the oldest";
  std::fclose(f);
}

// Reader, keepers and writers at once: each line is read whole and once, or counted.
TEST_F(SpoolTest, HoweverManyAreAtItEachLineIsReadOnceOrCounted) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  LogSpool reader = spool();
  constexpr int kWriters = 3, kLines = 60'000;
  std::atomic<int> writing{kWriters};
  std::atomic<std::uint64_t> dropped{0};
  std::vector<std::thread> all;
  for (int w = 0; w < kWriters; ++w)
    all.emplace_back([&, w] {
      std::FILE* const f = log(std::to_string(w + 1) + "-1");
      for (int i = 0; i < kLines; ++i) line(f, i);
      std::fclose(f);
      --writing;
    });
  for (int k = 0; k < 2; ++k)
    all.emplace_back([&, k] {
      std::mt19937 dice(seed + static_cast<unsigned>(k));
      LogSpool keeper = spool();
      while (writing > 0) {
        dropped += keeper.bound(64 << 10);
        std::this_thread::sleep_for(std::chrono::microseconds(dice() % 2000));
      }
    });
  std::mt19937 dice(seed + 10);
  while (writing > 0) {
    reader.read(taker_, 1 << (12 + dice() % 10));
    if (dice() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(dice() % 5000));
  }
  for (auto& t : all) t.join();
  while (!reader.read(taker_, 1 << 20)) {
  }
  EXPECT_EQ(lost_, dropped.load());
  std::uint64_t lines = 0;
  for (std::size_t at = 0; at < text_.size(); ++lines) {
    const std::size_t end = text_.find('\n', at);
    int number = -1, length = 0;
    ASSERT_EQ(
        std::sscanf(text_.c_str() + at, "line %d of some length, as logs have them%n", &number, &length), 1);
    ASSERT_EQ(at + static_cast<std::size_t>(length), end) << text_.substr(at, 80);
    at = end + 1;
  }
  EXPECT_EQ(lines + lost_, std::uint64_t{kWriters} * kLines);
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(SpoolTest, AReaderThatDiesOverSomeLinesHasASuccessorThatCountsThem) {
  LogSpool s = spool();
  std::FILE* const f = log("12-34");
  for (int i = 0; i < 100; ++i) line(f, i);
  const pid_t child = fork();
  if (child == 0) {
    LogSpool mine = std::move(*LogSpool::open(directory_));
    mine.read({[](std::string_view) { _exit(0); }, [](std::int64_t, std::uint64_t) {}}, 1 << 20);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  line(f, 100);
  EXPECT_TRUE(s.read(taker_, 1 << 20));
  EXPECT_EQ(lost_, 100u);
  EXPECT_EQ(text_.substr(0, 9), "line 100 ");
  // The one after that has nothing to add.
  LogSpool next = spool();
  line(f, 101);
  EXPECT_TRUE(next.read(taker_, 1 << 20));
  EXPECT_EQ(lost_, 100u);
  std::fclose(f);
}

TEST_F(SpoolTest, ALimitOnFileSizesThatWouldEndTheJobIsRefused) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{1 << 30, 1 << 30};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto refused = LogSpool::open(directory_);
    _exit(!refused && refused.error().message.find("1024 MiB") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace spool_test
}  // namespace margay::gst
