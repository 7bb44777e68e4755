// Which processes are stopped, and whose stop is news.
#include "margay/detect/stops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace margay::detect::test {
namespace stops_test {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr DurationNs kSlice = milliseconds(100);

const auto kNobody = [](std::uint32_t) { return false; };

struct Job {
  Stops stops{{kSlice, 1, 2}};
  SliceIndex at{};
  std::map<std::uint32_t, TimeNs> stopped;  // since when
  std::map<std::uint32_t, TimeNs> last_event;
  double stopped_share = 0;  // of each slice, of all
  bool sampled = true;

  model::SliceColumn next() {
    at = at + 1;
    model::SliceColumn c(LevelIndex(0), at, 4, 4);
    for (std::uint32_t l = 0; l < 4; ++l) {
      c.open(LeafIndex(l)) = {StateId(3), last_event.contains(l) ? last_event[l] : TimeNs(1)};
      if (!sampled) continue;
      auto& e = c.evidence(LeafIndex(l));
      e.process_state = stopped.contains(l) ? 'T' : 'S';
      e.stopped_since = stopped.contains(l) ? stopped[l] : TimeNs();
      e.sampled_ns = kSlice.value;
      e.stopped_ns = static_cast<std::int64_t>(stopped_share * static_cast<double>(kSlice.value));
    }
    stops.on_slice(c);
    return c;
  }
  // In the slice that comes next, so far behind its begin.
  TimeNs soon(DurationNs behind) const { return slice_begin(at + 1, kSlice) + behind; }
};

std::vector<std::set<std::uint32_t>> leaves_of(const std::vector<Stops::News>& news) {
  std::vector<std::set<std::uint32_t>> out;
  for (const Stops::News& n : news) out.push_back(n.leaves);
  return out;
}

TEST(Stops, AWholeSliceIsNewsOfThoseWhoStoppedTogether) {
  Job job;
  job.next();
  EXPECT_FALSE(job.stops.some());
  const TimeNs since = job.soon(milliseconds(30));
  job.stopped = {{1, since}, {3, since + milliseconds(150)}};
  job.last_event = {{1, since - milliseconds(5)}, {3, since + milliseconds(150)}};
  job.next();
  EXPECT_TRUE(job.stops.some());
  EXPECT_FALSE(job.stops.some_before());
  EXPECT_THAT(job.stops.news(job.at, kNobody), IsEmpty());
  job.next();
  // The other has been stopped for less than a slice, and belongs to it.
  const auto news = job.stops.news(job.at, kNobody);
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].onset, since);
  EXPECT_THAT(news[0].leaves, ElementsAre(1, 3));
  EXPECT_THAT(job.stops.whole(), ElementsAre(1));
  EXPECT_THAT(job.stops.news(job.at, [](std::uint32_t l) { return l == 1; }), IsEmpty());
  EXPECT_TRUE(job.stops.some_before());
}

TEST(Stops, ThoseThatBeganApartAreNewsOfTheirOwn) {
  Job job;
  const TimeNs since = job.soon({});
  job.stopped = {{2, since}, {0, since + milliseconds(201)}};
  job.last_event = job.stopped;
  for (int i = 0; i < 6; ++i) job.next();
  EXPECT_THAT(leaves_of(job.stops.news(job.at, kNobody)), ElementsAre(ElementsAre(2), ElementsAre(0)));
}

TEST(Stops, BeginWithTheLastEventWhereThatIsLater) {
  Job job;
  job.next();
  const TimeNs since = job.soon({});
  job.stopped = {{1, since}};
  job.last_event = {{1, since + milliseconds(60)}};
  job.next();
  job.next();
  const auto news = job.stops.news(job.at, kNobody);
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].onset, since + milliseconds(60));
}

TEST(Stops, WhatTheSamplerSaidHoldsForASecond) {
  Job job;
  job.stopped = {{1, job.soon({})}};
  job.next();
  job.sampled = false;
  for (int i = 0; i < 10; ++i) job.next();
  EXPECT_EQ(job.stops.sampled(1).process_state, 'T');
  EXPECT_TRUE(job.stops.some());
  job.next();
  EXPECT_EQ(job.stops.sampled(1).process_state, 0);
  EXPECT_FALSE(job.stops.some());
  EXPECT_TRUE(job.stops.some_before());
}

TEST(Stops, GoOnWhileWhoIsBackIsStoppedForAGoodPartOfTheSlice) {
  Job job;
  job.stopped = {{1, job.soon({})}};
  job.next();
  EXPECT_TRUE(job.stops.goes_on(job.next(), {1}, false));
  EXPECT_FALSE(job.stops.goes_on(job.next(), {2}, false));
  job.stopped.clear();
  job.stopped_share = 0.3;
  EXPECT_FALSE(job.stops.goes_on(job.next(), {1}, false));
  EXPECT_TRUE(job.stops.goes_on(job.next(), {1}, true));
  job.stopped_share = 0.1;
  EXPECT_FALSE(job.stops.goes_on(job.next(), {1}, true));
}

TEST(Stops, WhoIsStoppedSoonAfterHeWasLetGoIsSoAgain) {
  Job job;
  job.next();
  job.stops.let_go({1}, job.at);
  const std::int64_t most = Stops::kAgainSlices;
  EXPECT_TRUE(job.stops.again({1, 2}, job.at + most));
  EXPECT_FALSE(job.stops.again({1, 2}, job.at + (most + 1)));
  EXPECT_FALSE(job.stops.again({0, 2, 3}, job.at));
}

TEST(Stops, OfAProcessThatIsGoneAreNone) {
  Job job;
  job.stopped = {{1, job.soon({})}};
  job.at = job.at + 1;
  model::SliceColumn c(LevelIndex(0), job.at, 4, 4);
  c.open(LeafIndex(1)) = {kAbsent, TimeNs(1)};
  auto& e = c.evidence(LeafIndex(1));
  e.process_state = 'T', e.stopped_since = TimeNs(1);
  job.stops.on_slice(c);
  EXPECT_THAT(job.stops.stopped(), IsEmpty());
  EXPECT_THAT(job.stops.whole(), IsEmpty());
}

}  // namespace stops_test
}  // namespace margay::detect::test
