// Who runs instead, from made-up trees of /proc.
#include "margay/node/takers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "../../support/temporary_folder.h"

namespace margay::node {
namespace takers_test {

using testing::IsEmpty;
using testing::SizeIs;
using wire::Taker;

// A /proc whose processes and CPUs are what a test says. Ticks are of 10 ms.
class Takers : public testing::Test {
 protected:
  struct Process {
    std::string name = "prog";
    std::int64_t parent = 1, threads = 1, core = 1, start = 50;
    std::uint64_t ticks = 0;
    std::string cpus = "1";
  };

  void SetUp() override {
    if (sysconf(_SC_CLK_TCK) != 100) GTEST_SKIP() << "another tick";
    scan_ = std::make_unique<TakerScan>(proc_);
    processes_[100] = {"launcher", 50, 1, 0, 40, 0, "0-1"};
    processes_[101] = {"rank", 100, 1, 1, 41, 0, "1"};
    processes_[102] = {"rank", 100, 1, 1, 41, 0, "1"};
    job_.ranks = {{101, 7001}, {102, 7002}};
    job_.margay = {60};
    processes_[50] = {"margay", 40, 5, 0, 30, 0, "0-1"};  // started the launcher, and the agent
    processes_[60] = {"margay-node", 50, 3, 0, 31, 0, "0-1"};
    processes_[40] = {"bash", 1, 1, 0, 20, 0, "0-1"};
    cpus_ = {{0, 0}, {0, 0}};
  }

  void write() {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(proc_))
      std::filesystem::remove_all(entry.path(), error);
    std::ofstream stat(proc_ + "/stat");
    stat << "cpu  1 2 3 4 5 6 7 8 9 10\n";
    for (std::size_t i = 0; i < cpus_.size(); ++i)
      stat << "cpu" << i << " " << cpus_[i].first << " 0 0 1000 0 5 5 " << cpus_[i].second << " 0 0\n";
    stat << "intr 1 2 3\n";
    for (const auto& [pid, p] : processes_) {
      const std::string dir = proc_ + "/" + std::to_string(pid);
      std::filesystem::create_directory(dir);
      std::ofstream(dir + "/stat") << pid << " (" << p.name << ") R " << p.parent
                                   << " 2 3 0 -1 4194304 1 0 0 0 " << p.ticks << " 0 0 0 20 0 " << p.threads
                                   << " 0 " << p.start << " 1000 20 9 1 1 0 0 0 0 0 0 0 0 0 0 17 " << p.core
                                   << " 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
      std::ofstream(dir + "/status") << "Name:\tx\nCpus_allowed:\t2\nCpus_allowed_list:\t" << p.cpus << "\n";
    }
    std::ofstream(proc_ + "/uptime") << "1 2\n";  // something else
  }
  // A scan; each begins a tenth of a second after the one before.
  std::vector<Taker> scan(std::int64_t starved = 101) {
    write();
    now_ = now_ + milliseconds(100);
    const auto all = scan_->scan(now_, {starved}, job_, milliseconds(300));
    const auto one = all.find(starved);
    return one == all.end() ? std::vector<Taker>() : one->second;
  }

  // The only one whom a scan finds.
  Taker only() {
    const auto takers = scan();
    EXPECT_THAT(takers, SizeIs(1));
    return takers.empty() ? Taker() : takers[0];
  }

  const test::TemporaryFolder folder_;
  const std::string& proc_ = folder_.path;
  std::unique_ptr<TakerScan> scan_;
  std::map<std::int64_t, Process> processes_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> cpus_;  // busy, stolen ticks
  TakerScan::Job job_;
  TimeNs now_{1'000'000'000};
};

TEST(CpuList, IsWhatTheKernelWrites) {
  EXPECT_EQ(*parse_cpu_list("1"), (std::set<std::uint32_t>{1}));
  EXPECT_EQ(*parse_cpu_list("0-2,8"), (std::set<std::uint32_t>{0, 1, 2, 8}));
  for (const char* wrong : {"", ",", "1,", "-1", "1-", "3-1", "x", "1 2", "1,,2", "0-4294967296", "99999999"})
    EXPECT_FALSE(parse_cpu_list(wrong)) << wrong;
}

TEST_F(Takers, AProcessOfSomebodyElseIsNamedAfterTwoScans) {
  processes_[4242] = {"python3", 40, 1, 1, 900, 500, "1"};
  EXPECT_THAT(scan(), IsEmpty()) << "nothing to compare with";
  processes_[4242].ticks += 9;
  processes_[101].ticks += 1;
  cpus_[1].first += 10;
  const Taker taker = only();
  EXPECT_EQ(taker.kind(), Taker::OTHER);
  EXPECT_EQ(taker.pid(), 4242);
  EXPECT_EQ(taker.name(), "python3");
  EXPECT_EQ(taker.cpu(), 1);
  EXPECT_EQ(taker.cpu_ns(), 90'000'000u);
  EXPECT_EQ(taker.over_ns(), 100'000'000u);
  EXPECT_THAT(scan(), IsEmpty()) << "it has used nothing since";
}

TEST_F(Takers, EachIsNamedAsWhatItIs) {
  processes_[61] = {"margayd", 50, 8, 1, 32, 0, "1"};
  processes_[110] = {"helper", 101, 1, 1, 60, 0, "1"};  // a rank has started it
  processes_[111] = {"a b) c", 100, 1, 1, 60, 0, "1"};  // the launcher has
  processes_[70] = {"make", 40, 1, 1, 60, 0, "1"};      // whoever started Margay has
  scan();
  std::uint64_t ticks = 9;
  for (const std::int64_t pid : {102, 61, 110, 111}) processes_[pid].ticks += ticks--;
  auto takers = scan();
  ASSERT_THAT(takers, SizeIs(4));
  EXPECT_EQ(takers[0].kind(), Taker::RANK);
  EXPECT_EQ(takers[0].source(), 7002u);
  EXPECT_EQ(takers[1].kind(), Taker::MARGAY);
  EXPECT_EQ(takers[1].name(), "margayd");
  EXPECT_EQ(takers[2].kind(), Taker::JOB);
  EXPECT_EQ(takers[3].kind(), Taker::JOB);
  EXPECT_EQ(takers[3].name(), "a b) c");
  processes_[70].ticks += 5;
  processes_[60].ticks += 4;
  takers = scan();
  ASSERT_THAT(takers, SizeIs(2));
  EXPECT_EQ(takers[0].kind(), Taker::OTHER);
  EXPECT_EQ(takers[1].kind(), Taker::MARGAY);
}

TEST_F(Takers, WhoRanElsewhereTookNothing) {
  processes_[200] = {"elsewhere", 40, 1, 0, 60, 0, "0-1"};
  processes_[201] = {"threads-else", 40, 4, 0, 60, 0, "0"};
  processes_[202] = {"threads", 40, 4, 0, 60, 0, "0-1"};  // any of them may have been here
  scan();
  for (const std::int64_t pid : {200, 201, 202}) processes_[pid].ticks += 8;
  EXPECT_EQ(only().name(), "threads");
}

TEST_F(Takers, ProcessesThatBeginAndEndBetweenScans) {
  processes_[300] = {"ends", 40, 1, 1, 60, 0, "1"};
  scan();
  processes_.erase(300);
  processes_[301] = {"begins", 40, 1, 1, 95, 4, "1"};
  cpus_[1].first += 10;  // six ticks are of who has ended
  auto takers = scan();
  ASSERT_THAT(takers, SizeIs(2));
  EXPECT_EQ(takers[0].kind(), Taker::UNSEEN);
  EXPECT_EQ(takers[0].cpu_ns(), 60'000'000u);
  EXPECT_EQ(takers[0].pid(), 0);
  EXPECT_EQ(takers[1].name(), "begins");
  EXPECT_EQ(takers[1].cpu_ns(), 40'000'000u);
  // The same pid, and another process.
  processes_[301] = {"again", 40, 1, 1, 99, 7, "1"};
  takers = scan();
  ASSERT_THAT(takers, SizeIs(1));
  EXPECT_EQ(takers[0].name(), "again");
  EXPECT_EQ(takers[0].cpu_ns(), 70'000'000u);
}

// hidepid, or a container: others are not in /proc, but the CPU is busy.
TEST_F(Takers, WhoIsHiddenIsToldAsThat) {
  for (const std::int64_t pid : {40, 50, 60, 100}) processes_.erase(pid);
  scan();
  cpus_[1].first += 10;
  processes_[101].ticks += 2;
  const Taker taker = only();
  EXPECT_EQ(taker.kind(), Taker::UNSEEN);
  EXPECT_EQ(taker.cpu_ns(), 80'000'000u);
  // Of a process that is gone nothing can be told.
  processes_.erase(101);
  cpus_[1].first += 10;
  EXPECT_THAT(scan(), IsEmpty());
}

TEST_F(Takers, TheHypervisorTakesCpusToo) {
  scan();
  cpus_[1].second += 6;
  cpus_[0].second += 9;
  const Taker taker = only();
  EXPECT_EQ(taker.kind(), Taker::HYPERVISOR);
  EXPECT_EQ(taker.cpu_ns(), 60'000'000u);
}

TEST_F(Takers, TheFewWhoTookMostAreTold) {
  for (std::int64_t i = 0; i < 50; ++i) processes_[500 + i] = {"many", 40, 1, 1, 60, 0, "1"};
  scan();
  for (std::int64_t i = 0; i < 50; ++i) processes_[500 + i].ticks += static_cast<std::uint64_t>(i % 10);
  const auto takers = scan();
  ASSERT_THAT(takers, SizeIs(TakerScan::kMostTold));
  for (const Taker& t : takers) EXPECT_EQ(t.cpu_ns(), 90'000'000u);
}

TEST_F(Takers, ScansTooFarApartTellNothing) {
  processes_[4242] = {"python3", 40, 1, 1, 900, 500, "1"};
  scan();
  now_ = now_ + milliseconds(300);
  processes_[4242].ticks += 300;
  EXPECT_THAT(scan(), IsEmpty());
  processes_[4242].ticks += 9;
  EXPECT_THAT(scan(), SizeIs(1));
}

TEST_F(Takers, OfSeveralCpusNoneIsNamed) {
  processes_[101].cpus = "0-1";
  processes_[4242] = {"python3", 40, 1, 0, 900, 500, "0-1"};
  scan();
  processes_[4242].ticks += 9;
  EXPECT_EQ(only().cpu(), -1);
}

TEST_F(Takers, WhatIsNoProcIsSurvived) {
  TakerScan nowhere(proc_ + "/none");
  EXPECT_THAT(nowhere.scan(now_, {101}, job_, milliseconds(300)), IsEmpty());
  EXPECT_THAT(nowhere.scan(now_ + milliseconds(100), {101}, job_, milliseconds(300)), IsEmpty());
  write();
  std::ofstream(proc_ + "/101/status") << "Cpus_allowed_list:";
  std::ofstream(proc_ + "/102/stat") << "102 (x";
  std::ofstream(proc_ + "/stat") << "cpu1\ncpu99999999 1 2\ncpu0 1";
  EXPECT_THAT(scan_->scan(now_, {101, 102, 9}, job_, milliseconds(300)), IsEmpty());
  EXPECT_THAT(scan_->scan(now_ + milliseconds(100), {101, 102, 9}, job_, milliseconds(300)), IsEmpty());
}

TEST(Starvation, IsMoreThanIsUsual) {
  const auto share = [](std::int64_t percent) { return milliseconds(percent); };
  const DurationNs time = milliseconds(100);
  Starvation shares;  // its core with another rank
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(shares.more_than_usual(share(50 + i % 5), time)) << i;
  EXPECT_TRUE(shares.more_than_usual(share(66), time));
  Starvation alone;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(alone.more_than_usual(share(i % 3), time)) << i;
  EXPECT_FALSE(alone.more_than_usual(share(9), time));
  EXPECT_TRUE(alone.more_than_usual(share(30), time));
  EXPECT_FALSE(alone.more_than_usual(share(30), DurationNs(0)));
}

}  // namespace takers_test
}  // namespace margay::node
