// The log's bounds: lines a minute, length, size of the file; and how a line looks.
#include "margay/log/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "margay/log/throttle.h"

namespace margay::log {
namespace log_test {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

TEST(Throttle, AKeyHasABurstAndThenAFewAMinute) {
  Throttle t(1000);
  TimeNs now = TimeNs(0) + seconds(1);
  int said = 0;
  for (int i = 0; i < 1000; ++i) said += t.admit("a", false, "line", now);
  EXPECT_EQ(said, static_cast<int>(Throttle::kBurst));
  EXPECT_TRUE(t.admit("b", false, "line", now));  // another key is not held up
  EXPECT_EQ(t.suppressed(), 1000u - static_cast<unsigned>(said));
  for (int i = 0; i < 600; ++i, now = now + milliseconds(100)) said += t.admit("a", false, "line", now);
  EXPECT_LE(said, 2 * static_cast<int>(Throttle::kBurst));
  EXPECT_GE(said, 2 * static_cast<int>(Throttle::kBurst) - 1);
}

TEST(Throttle, AllTogetherAreBoundedAndErrorsAreNotHidden) {
  Throttle t(60);
  const TimeNs now(1);
  int said = 0;
  for (int i = 0; i < 200; ++i) said += t.admit("k" + std::to_string(i), false, "line", now);
  EXPECT_EQ(said, 60);
  EXPECT_TRUE(t.admit("e", true, "an error", now));
}

TEST(Throttle, WhatWasLeftOutIsToldLargestFirstAndBounded) {
  Throttle t(1e9);
  for (int k = 0; k < 20; ++k)
    for (int i = 0; i < 10 + k; ++i)
      static_cast<void>(t.admit("k" + std::to_string(k), false, "line " + std::to_string(k), TimeNs(1)));
  const auto told = t.take_suppressed(3);
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[0], std::pair(std::uint64_t{23}, std::string("line 19")));
  std::uint64_t sum = 0;
  for (const auto& [count, example] : told) sum += count;
  EXPECT_EQ(sum, t.suppressed());
  EXPECT_EQ(told[3].second, "");
  EXPECT_TRUE(t.take_suppressed(3).empty());
}

TEST(Throttle, KeysAreBounded) {
  Throttle t(1e9);
  int said = 0;
  for (int k = 0; k < 10'000; ++k) said += t.admit("k" + std::to_string(k), false, "x", TimeNs(1));
  EXPECT_EQ(said, static_cast<int>(Throttle::kMostKeys - 1 + Throttle::kBurst));
}

// A log in a file of its own.
struct Rig {
  std::string path = testing::TempDir() + "margay-log-" + std::to_string(getpid());
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  ManualClock clock;
  Options options;
  Rig() {
    clock.mono = TimeNs(1) + seconds(1);
    options.program = "tester";
    options.fd = fd;
    options.clock = &clock;
  }
  ~Rig() {
    start({});
    close(fd);
    unlink(path.c_str());
  }
  std::string text() const {
    std::stringstream s;
    s << std::ifstream(path).rdbuf();
    return s.str();
  }
};

TEST(Log, ALineHasTimeSeverityAndSentence) {
  Rig rig;
  start(rig.options);
  warning("the disk is away");
  EXPECT_THAT(rig.text(),
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}  warning  tester: the disk is away\n"));
}

TEST(Log, UnderSystemdItHasAPriorityAndNoTime) {
  Rig rig;
  struct stat s {};
  ASSERT_EQ(fstat(rig.fd, &s), 0);
  setenv("JOURNAL_STREAM", (std::to_string(s.st_dev) + ":" + std::to_string(s.st_ino)).c_str(), 1);
  start(rig.options);
  error("no");
  info("yes");
  setenv("JOURNAL_STREAM", "1:1", 1);  // somebody else's
  start(rig.options);
  info("plain");
  unsetenv("JOURNAL_STREAM");
  EXPECT_THAT(rig.text(), testing::StartsWith("<3>no\n<6>yes\n2"));
}

TEST(Log, LevelsAreLeftOut) {
  Rig rig;
  rig.options.level = Level::kWarning;
  start(rig.options);
  const Counts before = counts();
  debug("a");
  info("b");
  EXPECT_EQ(rig.text(), "");
  error("c");
  EXPECT_THAT(rig.text(), HasSubstr("c"));
  EXPECT_EQ(counts().lines - before.lines, 1u);
  EXPECT_EQ(counts().suppressed, before.suppressed);
  for (const char* name : {"debug", "info", "warning", "error", "off"})
    EXPECT_TRUE(parse_level(name)) << name;
  EXPECT_FALSE(parse_level("loud"));
}

TEST(Log, AFloodIsCutAndToldOnceAMinute) {
  Rig rig;
  start(rig.options);
  const Counts before = counts();
  for (int i = 0; i < 43; ++i) warning("flood");
  const std::string first = rig.text();
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 6);
  EXPECT_EQ(counts().suppressed - before.suppressed, 37u);
  tick();
  EXPECT_EQ(rig.text(), first);  // not yet
  rig.clock.mono = rig.clock.mono + seconds(61);
  tick();
  tick();
  EXPECT_THAT(rig.text(), HasSubstr("37 more like it: flood\n"));
  const std::string after = rig.text();
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'), 7);
}

TEST(Log, AFileGrowsToItsBoundAndGoesOnWhenEmptied) {
  Rig rig;
  rig.options.file_bytes = 4096;
  rig.options.lines_a_minute = 1e9;
  start(rig.options);
  const Counts before = counts();
  for (int i = 0; i < 500; ++i) {
    rig.clock.mono = rig.clock.mono + seconds(60);  // the throttle lets all pass
    info("a line of some length, to fill the file with");
  }
  EXPECT_LT(rig.text().size(), 4096u + 300);
  EXPECT_THAT(rig.text(), HasSubstr("as large as it may be"));
  EXPECT_EQ(counts().lines + counts().suppressed - before.lines - before.suppressed, 500u);
  ASSERT_EQ(ftruncate(rig.fd, 0), 0);
  rig.clock.mono = rig.clock.mono + seconds(60);
  info("again");
  EXPECT_THAT(rig.text(), HasSubstr("again"));
}

TEST(Log, ALineIsOneLineAndBounded) {
  Rig rig;
  start(rig.options);
  error("a\nb\x1b[31mc" + std::string(1 << 20, 'x'));
  const std::string text = rig.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_LT(text.size(), kLongestLine + 100);
}

TEST(Log, ThreadsDoNotMixTheirLines) {
  Rig rig;
  rig.options.lines_a_minute = 1e9;
  start(rig.options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 50; ++i) info("0123456789");
    });
  for (auto& t : threads) t.join();
  std::istringstream lines(rig.text());
  for (std::string line; std::getline(lines, line);)
    EXPECT_THAT(line, testing::EndsWith("tester: 0123456789"));
}

}  // namespace log_test
}  // namespace margay::log
