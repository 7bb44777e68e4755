// The agent and processes that it cannot look at, or not as it would.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <filesystem>
#include <vector>

#include "agent_rig.h"

namespace margay::node {
namespace agent_watch_test {

TEST_F(AgentTest, MoreProcessesThanItWatchesAreCountedAndHaveTheirTurn) {
  Stand other;
  const FakeSegment second(dir.rings(), other.pid, other.start_time);
  options.most_sources = 1;
  make();
  round();
  EXPECT_EQ(agent->sources(), 1u);
  EXPECT_EQ(collector.unwatched(wire::Unwatched::TOO_MANY), 1u);
  EXPECT_EQ(agent->take_messages().size(), 1u);
  rank.end();
  other.end();  // in vain: what it has left is taken as well
  rounds_until([&] { return collector.goodbyes.size() == 2; });
  rounds_until([&] { return agent->sources() == 0; });
  EXPECT_EQ(collector.node_account.unwatched_size(), 0);
}

// It is no reason to take a process for gone, nor one for ever.
TEST_F(AgentTest, WithoutADescriptorAProcessIsCountedAndTriedAgain) {
  round();
  Stand other;
  FakeSegment second(dir.rings(), other.pid, other.start_time);
  auto w = second.writer(0);
  calls(w, 5);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  for (int i = 0; i < 5; ++i) round();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(agent->sources(), 1u);
  EXPECT_EQ(collector.unwatched(wire::Unwatched::NO_DESCRIPTOR), 1u);
  EXPECT_TRUE(collector.goodbyes.empty());
  rounds_until([&] { return agent->sources() == 2; });
  rounds_until([&] { return collector.node_account.unwatched_size() == 0; });
  rounds_until([&] {
    return collector.streams.size() == 1 && collector.streams.begin()->second.committed.size() == 10;
  });
}

// Files that are open at the same time, of this process.
std::size_t descriptors() {
  std::size_t n = 0;
  for (const auto& e : std::filesystem::directory_iterator("/proc/self/fd")) n += !e.path().empty();
  return n;
}

TEST_F(AgentTest, AProcessCostsNoDescriptorWhereTheyAreShort) {
  std::vector<std::unique_ptr<FakeSegment>> more;
  for (std::uint64_t i = 1; i <= 40; ++i)
    more.push_back(std::make_unique<FakeSegment>(dir.rings(), rank.pid, rank.start_time + i));
  options.descriptors = 30;
  make();
  const std::size_t before = descriptors();
  agent->scan();
  EXPECT_EQ(agent->sources(), 41u);
  EXPECT_LE(descriptors(), before + 31);
}

// Held as the probe holds it: by the open file, until that is closed.
class HeldFile {
 public:
  explicit HeldFile(FakeSegment& segment) : fd_(open(segment.path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0 || flock(fd_, LOCK_EX | LOCK_NB) != 0) std::abort();
    segment.header->locked = 1;
  }
  ~HeldFile() { end(); }
  void end() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

void expect_calls_come(AgentTest& t, FakeSegment& segment) {
  auto w = segment.writer(0);
  for (int i = 0; i < 20; ++i) {
    calls(w, 5);
    t.round();
  }
  EXPECT_TRUE(t.collector.goodbyes.empty());
  EXPECT_EQ((t.collector.streams[{t.id(), 0}].committed.size()), 200u);
}

TEST_F(AgentTest, AHiddenProcessLivesWhileItHoldsItsFile) {
  HeldFile held(segment);
  options.proc = dir.path;  // where the kernel tells nothing
  make();
  expect_calls_come(*this, segment);
  EXPECT_TRUE(collector.samples.empty()) << "nothing is known of it, and nothing is said";
  held.end();
  rounds_until([&] { return agent->sources() == 0; });
  EXPECT_EQ(collector.goodbyes.begin()->second.reason(), wire::Goodbye::KILLED);
  EXPECT_FALSE(std::filesystem::exists(segment.path));
}

TEST_F(AgentTest, ThePidOfAnotherNamespaceIsNobodysHere) {
  ScratchDirectory other;
  FakeSegment away(other.rings(), 1, 17);
  away.header->pid_namespace = 4711;
  HeldFile held(away);
  options.rings = other.rings();
  make();
  expect_calls_come(*this, away);
  EXPECT_EQ(collector.hellos.begin()->second.attributes().at("pid_namespace"), "4711");
  held.end();
  rounds_until([&] { return agent->sources() == 0; });
  EXPECT_EQ((collector.streams[{id(), 0}].committed.size()), 200u);
}

// No lock, and nothing that /proc tells: nobody knows that it has ended before the run has.
TEST_F(AgentTest, WhoCannotBeLookedAtAtAllStaysToTheEnd) {
  segment.header->pid_namespace = 4711;
  make();
  for (int i = 0; i < 50; ++i) round();
  EXPECT_TRUE(collector.goodbyes.empty());
  agent->finish();
  rounds_until([&] { return agent->sources() == 0; });
  EXPECT_EQ(collector.goodbyes.begin()->second.reason(), wire::Goodbye::UNKNOWN);
  EXPECT_TRUE(std::filesystem::exists(segment.path)) << "it may live";
  EXPECT_TRUE(agent->done());
}

TEST_F(AgentTest, WhatProbesAndAgentsBeforeHaveCountedIsTold) {
  options.unwatched = dir.path + "/unwatched";
  make();
  round();
  EXPECT_EQ(collector.node_account.number(), 0u) << "there is nothing to tell";
  EXPECT_EQ(std::filesystem::file_size(options.unwatched), 64u);
  const std::uint64_t three = 3;
  const int fd = open(options.unwatched.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(pwrite(fd, &three, sizeof three, 0), 8);
  close(fd);
  agent->finish();
  round();
  EXPECT_EQ(collector.unwatched(wire::Unwatched::NO_SEGMENT), 3u) << "the last word is taken, too";
  make();
  segment.writer(0);
  segment.header->rings[0].control.head = 1u << 30;
  rounds_until([&] { return collector.unwatched(wire::Unwatched::GIVEN_UP) == 1; });
  EXPECT_FALSE(agent->outbox().node_account_waits());
  std::filesystem::remove(segment.path);
  make();
  collector.node_account.Clear();
  round();
  EXPECT_EQ(collector.unwatched(wire::Unwatched::NO_SEGMENT), 3u);
  EXPECT_EQ(collector.unwatched(wire::Unwatched::GIVEN_UP), 1u);
}

}  // namespace agent_watch_test
}  // namespace margay::node
