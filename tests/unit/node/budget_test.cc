// Who is to sum, of what recording may cost.
#include "margay/node/budget.h"

#include <gtest/gtest.h>

#include <cmath>

namespace margay::node {
namespace budget_test {

TEST(FairLimit, IsInfiniteWhereAllHaveRoom) {
  EXPECT_TRUE(std::isinf(fair_limit({}, 10)));
  EXPECT_TRUE(std::isinf(fair_limit({1, 2, 3}, 6)));
}

TEST(FairLimit, GivesToEachWhatIsLeftByThoseWhoNeedLess) {
  EXPECT_DOUBLE_EQ(fair_limit({4, 4, 4, 4}, 8), 2);
  EXPECT_DOUBLE_EQ(fair_limit({100, 1, 1, 1}, 8), 5);
  EXPECT_DOUBLE_EQ(fair_limit({100, 1, 50, 1}, 12), 5);
  EXPECT_DOUBLE_EQ(fair_limit({3}, 0), 0);
}

struct Node {
  explicit Node(std::size_t processes, std::uint32_t cores = 2, double share = 0.01)
      : budget(cores), p(processes), share_(share) {
    tell(milliseconds(100));
  }
  bool tell(DurationNs slice, TimeNs origin = TimeNs(7)) {
    wire::Slices s;
    s.set_slice_ns(slice.value);
    s.set_origin_ns(origin.value);
    s.set_budget(share_);
    return budget.tell(s);
  }
  // So many seconds with these rates, in steps of 20 ms.
  void go(double seconds_long, std::vector<double> rates) {
    std::vector<Budget::Process*> all;
    for (auto& process : p) all.push_back(&process);
    for (double s = 0; s < seconds_long; s += 0.02) {
      now = now + milliseconds(20);
      for (std::size_t i = 0; i < p.size(); ++i)
        p[i].events += static_cast<std::uint64_t>(rates[i % rates.size()] * 0.02);
      budget.decide(now, all);
    }
  }
  std::size_t summing() const {
    std::size_t n = 0;
    for (const auto& process : p) n += process.summing;
    return n;
  }
  Budget budget;
  std::vector<Budget::Process> p;
  double share_;
  TimeNs now{seconds(100).value};
};
// A hundredth of two cores.
constexpr double kAllowed = 0.01 * 2 * 1e9 / kRecordNs;

TEST(Budget, LetsAloneWhoStaysBelowIt) {
  Node node(64);
  node.go(5, {kAllowed / 64 * 0.95});
  EXPECT_EQ(node.summing(), 0u);
}

TEST(Budget, SumsAllWhereAllAreAlike) {
  Node node(64);
  node.go(1, {kAllowed / 64 * 1.5});
  EXPECT_EQ(node.summing(), 64u);
}

TEST(Budget, SumsOnlyWhoNeedsMoreThanTheRestLeaves) {
  Node node(8);
  node.go(1, {kAllowed * 3, kAllowed / 50, kAllowed / 50, kAllowed / 50, kAllowed / 50, kAllowed / 50,
              kAllowed / 50, kAllowed / 50});
  EXPECT_EQ(node.summing(), 1u);
  EXPECT_TRUE(node.p[0].summing);
}

TEST(Budget, HasNoMoreCoresThanProcesses) {
  Node node(1, 16);
  node.go(1, {kAllowed / 2 * 1.2});
  EXPECT_EQ(node.summing(), 1u);
}

TEST(Budget, GoesBackAfterTwoSecondsOfClearlyLess) {
  Node node(4);
  node.go(1, {kAllowed});
  ASSERT_EQ(node.summing(), 4u);
  // Nearly as much: it stays.
  node.go(5, {kAllowed / 4 * 0.9});
  EXPECT_EQ(node.summing(), 4u);
  node.go(1.5, {kAllowed / 400});
  EXPECT_EQ(node.summing(), 4u);
  node.go(1, {kAllowed / 400});
  EXPECT_EQ(node.summing(), 0u);
}

TEST(Budget, AFloodIsSummedAtOnce) {
  Node node(2);
  node.go(0.5, {0});
  node.p[1].floods = true;
  std::vector<Budget::Process*> all{&node.p[0], &node.p[1]};
  node.budget.decide(node.now + milliseconds(1), all);
  EXPECT_FALSE(node.p[0].summing);
  EXPECT_TRUE(node.p[1].summing);
}

TEST(Budget, DoesNotWaitWhenWhatIsAllowedIsUsedUp) {
  Node node(64);
  node.go(1, {0});
  node.go(0.06, {kAllowed / 64 * 6});
  EXPECT_EQ(node.summing(), 64u);
  // Who needs no more than that is looked at as often as ever.
  Node calm(64);
  calm.go(1, {0});
  calm.go(0.06, {kAllowed / 64 * 2});
  EXPECT_EQ(calm.summing(), 0u);
  calm.go(0.2, {kAllowed / 64 * 2});
  EXPECT_EQ(calm.summing(), 64u);
}

TEST(Budget, OfNothingRecordsEverything) {
  Node node(2, 2, 0);
  node.p[0].summing = true;  // as another daemon had it
  node.p[1].floods = true;
  node.go(1, {1e7});
  EXPECT_EQ(node.summing(), 0u);
}

TEST(Budget, IsNotKeptBeforeItIsTold) {
  Budget budget(2);
  std::vector<Budget::Process> p(1);
  std::vector<Budget::Process*> all{p.data()};
  for (int i = 0; i < 100; ++i) {
    p[0].events += 1'000'000;
    budget.decide(TimeNs((i + 1) * 100'000'000LL), all);
  }
  EXPECT_FALSE(p[0].summing);
}

TEST(Budget, DividesLongSlices) {
  Node node(1);
  EXPECT_EQ(node.budget.slice(), milliseconds(100));
  EXPECT_EQ(node.budget.origin(), TimeNs(7));
  EXPECT_FALSE(node.tell(milliseconds(100)));
  EXPECT_FALSE(node.tell(seconds(1))) << "ten parts, each as before";
  EXPECT_EQ(node.budget.slice(), milliseconds(100));
  EXPECT_TRUE(node.tell(milliseconds(250)));
  EXPECT_EQ(node.budget.slice(), DurationNs(250'000'000));  // three do not make it
  EXPECT_TRUE(node.tell(milliseconds(10), TimeNs(-5)));
  EXPECT_EQ(node.budget.slice(), milliseconds(10));
}

TEST(Budget, TellsOfNoSlicesWhereEachCallIsToBeRecorded) {
  Node none(1, 2, 0);
  EXPECT_EQ(none.budget.slice(), DurationNs{});
}

}  // namespace budget_test
}  // namespace margay::node
