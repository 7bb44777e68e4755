// What single events sum to, against plain sums and sorted lengths.
#include "margay/query/event_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace margay::daemon {
namespace event_statistics_test {

using testing::SizeIs;
using trace::Occurrence;

TEST(LengthStatistics, AreThoseOfTheSortedLengths) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> any(static_cast<double>(seed), 2);
    std::vector<std::int64_t> lengths;
    LengthStatistics s;
    for (int i = 0; i < 2000; ++i) {
      lengths.push_back(static_cast<std::int64_t>(any(random)));
      s.add(lengths.back());
    }
    std::sort(lengths.begin(), lengths.end());
    const double mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) / 2000;
    double squares = 0;
    for (const std::int64_t l : lengths) squares += std::pow(static_cast<double>(l) - mean, 2);
    EXPECT_NEAR(s.mean() / mean, 1, 1e-9);
    EXPECT_NEAR(s.deviation() / std::sqrt(squares / 1999), 1, 1e-9);
    EXPECT_EQ(s.quantile(0), lengths.front());
    EXPECT_EQ(s.quantile(1), lengths.back());
    for (const double q : {0.1, 0.5, 0.9, 0.99, 0.999}) {
      const auto exact = static_cast<double>(lengths[static_cast<std::size_t>(std::ceil(q * 2000)) - 1]);
      EXPECT_NEAR(static_cast<double>(s.quantile(q)), exact, exact < 64 ? 0 : exact / 64) << q;
    }
  }
}

TEST(LengthStatistics, OfSumsTheQuantilesAreUnknown) {
  LengthStatistics s;
  EXPECT_EQ(s.mean(), 0);
  EXPECT_EQ(s.quantile(0.5), 0);
  s.add(10);
  s.add_sum(9, 190);
  EXPECT_EQ(s.count(), 10u);
  EXPECT_EQ(s.single(), 1u);
  EXPECT_EQ(s.mean(), 20);
  EXPECT_EQ(s.quantile(0.99), 10);
  EXPECT_EQ(s.deviation(), 0);
  s.add(INT64_MAX);
  EXPECT_EQ(s.quantile(1), INT64_MAX);
}

class Events {
 public:
  explicit Events(EventStatistics::By by) : statistics(by, TimeNs(100), TimeNs(200)) {}
  void add(const std::string& resource, const std::string& name, std::int64_t begin, std::int64_t end,
           std::uint64_t bytes = 0, std::uint64_t calls = 1, std::int64_t longest = 0) {
    Occurrence o;
    o.begin = TimeNs(begin), o.end = TimeNs(end), o.bytes = bytes, o.calls = calls,
    o.longest = DurationNs(longest);
    ASSERT_TRUE(statistics.add(EventRow{o, resource, {trace::Name::Kind::kState, name}}));
  }
  EventStatistics statistics;
};

TEST(EventStatistics, TheTimeInTheStretchAndTheLengthOfTheWhole) {
  Events e(EventStatistics::By::kName);
  e.add("/a", "MPI_Recv", 90, 120, 7);
  e.add("/b", "MPI_Recv", 150, 300, 8);
  e.add("/a", "Compute", 120, 125);
  e.add("/a", "MPI_Send", 130, 160, 0, 10, 12);
  const auto all = e.statistics.summaries();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].name, "MPI_Recv");
  EXPECT_EQ(all[0].resource, "");
  EXPECT_EQ(all[0].total, DurationNs(20 + 50));
  EXPECT_EQ(all[0].lengths.count(), 2u);
  EXPECT_EQ(all[0].lengths.mean(), 90);
  EXPECT_EQ(all[0].bytes, 15u);
  EXPECT_EQ(all[0].longest, DurationNs(150));
  EXPECT_EQ(all[0].longest_begin, TimeNs(150));
  EXPECT_EQ(all[0].longest_resource, "/b");
  EXPECT_EQ(all[1].name, "MPI_Send");
  EXPECT_EQ(all[1].lengths.count(), 10u);
  EXPECT_EQ(all[1].longest, DurationNs(12));
  EXPECT_EQ(e.statistics.resources(), 2u);
}

TEST(EventStatistics, ByResourceOrBoth) {
  Events by_resource(EventStatistics::By::kResource), by_both(EventStatistics::By::kBoth);
  for (Events* e : {&by_resource, &by_both}) {
    e->add("/a", "x", 100, 110);
    e->add("/a", "y", 110, 130);
    e->add("/b", "x", 100, 101);
  }
  ASSERT_THAT(by_resource.statistics.summaries(), SizeIs(2));
  EXPECT_EQ(by_resource.statistics.summaries()[0].resource, "/a");
  EXPECT_EQ(by_resource.statistics.summaries()[0].name, "");
  EXPECT_EQ(by_resource.statistics.summaries()[0].total, DurationNs(30));
  ASSERT_THAT(by_both.statistics.summaries(), SizeIs(3));
  EXPECT_EQ(by_both.statistics.summaries()[0].name, "y");
}

TEST(EventStatistics, OfMessagesEachPair) {
  EventStatistics s(EventStatistics::By::kBoth, TimeNs(0), TimeNs(100));
  const trace::Name call;
  const auto send = [&](const std::string& from, const std::string& to, std::int64_t sent,
                        std::int64_t received, bool known) {
    trace::Message m;
    m.sent = TimeNs(sent), m.received = TimeNs(received), m.completed = known, m.bytes = 100;
    ASSERT_TRUE(s.add(MessageRow{m, from, to, call, call}));
  };
  send("/a", "/b", 10, 30, true);
  send("/a", "/b", 40, 50, true);
  send("/a", "/b", 60, 65, false);
  send("/b", "/a", 10, 11, true);
  const auto all = s.summaries();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].name + all[0].resource, "/a/b");
  EXPECT_EQ(all[0].lengths.count(), 2u);
  EXPECT_EQ(all[0].untimed, 1u);
  EXPECT_EQ(all[0].bytes, 300u);
  EXPECT_EQ(all[0].lengths.mean(), 15);
  EXPECT_EQ(all[0].longest_begin, TimeNs(10));
}

TEST(EventStatistics, GroupsAreBounded) {
  Events e(EventStatistics::By::kName);
  for (std::size_t i = 0; i < EventStatistics::kMostGroups; ++i) e.add("/a", std::to_string(i), 100, 101);
  Occurrence o;
  const Status more = e.statistics.add(EventRow{o, "/a", {trace::Name::Kind::kState, "one more"}});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kLimit);
}

}  // namespace event_statistics_test
}  // namespace margay::daemon
