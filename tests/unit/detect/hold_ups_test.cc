// Waits that nobody gets away from, in a job whose other workers go on.
#include "hold_ups.h"

#include <functional>
#include <random>

#include "stream.h"
#include "watch_job.h"

namespace margay::detect::test {
namespace hold_ups_test {

using alert::Status;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

enum State : std::uint16_t { kIdle = 3, kWork, kLock, kCommit, kStates };

// Twelve workers on three hosts; every second job of the first eight ends with a commit, under a lock that
// they share. Slices of a second. From `from` to `to` (s) of each of `held` nobody is given it.
struct Workers {
  struct Time {
    double from, to;
  };
  std::vector<Time> held;
  // Times as long as usual that the first host's workers work, at a time (s).
  std::function<double(double t)> longer = [](double) { return 1.0; };
  std::uint32_t usual_slices = 600;
  double varies = 0.4;  // the logarithm of a job's length, by so much
  int asides = 0;       // short commits of each job, that need no lock
  std::int64_t slices = 300;
  std::uint64_t seed = 1;

  static constexpr std::uint32_t kCount = 12, kLocking = 8;

  static std::shared_ptr<const Topology> topology() {
    auto t = std::make_shared<Topology>();
    std::vector<model::Attributes> workers;
    for (std::uint32_t w = 0; w < kCount; ++w)
      workers.push_back(
          {{"path1", "host" + std::to_string(w / 4)}, {"path2", "worker" + std::to_string(w % 4)}});
    t->hierarchy = model::Hierarchy(workers);
    t->states.resize(kIdle);
    for (const char* name : {"idle", "compute", "lock", "commit"}) t->states.push_back({name, {}});
    return t;
  }
  Watched watched() const {
    std::vector<model::SliceColumn> played;
    bench::Stream stream(kCount, kStates, seconds(1),
                         [&](const model::SliceColumn& c) { played.push_back(c); });
    std::mt19937_64 random(seed);
    double free_at = 0;
    // Whoever is first by the clock is next.
    for (;;) {
      std::uint32_t w = 0;
      for (std::uint32_t o = 1; o < kCount; ++o)
        if (stream.now(o) < stream.now(w)) w = o;
      if (stream.now(w) >= static_cast<double>(slices)) break;
      if (w < kLocking && random() % 2 == 0) {
        double at = std::max(stream.now(w), free_at);
        for (const Time& t : held)
          if (at >= t.from && at < t.to) at = t.to;
        stream.until(w, kLock, at);
        stream.spend(w, kCommit, 0.01);
        free_at = stream.now(w);
      }
      const auto vary = [&](double by) { return std::exp(by * std::normal_distribution<double>()(random)); };
      for (int i = 0; i < asides; ++i)
        stream.spend(w, kCommit, 0.01 * vary(0.4)), stream.spend(w, kIdle, 0.01);
      stream.spend(w, kIdle, std::exponential_distribution<double>(2)(random));
      stream.spend(w, kWork, (w < 4 ? longer(stream.now(w)) : 1) * 0.3 * vary(varies));
      stream.tell();
    }
    DetectorOptions o;
    o.run = "r";
    o.window.slice = seconds(1);
    o.window.slices = 64;
    o.idle_states = {"idle"};
    o.usual_slices = usual_slices;
    return watch(o, topology(), played);
  }
};

double s(TimeNs t) {
  return static_cast<double>(t.value) * 1e-9;
}

// The one alert that there is, as it was when it was over.
alert::Alert only(const Watched& w) {
  const auto over = w.with(Status::kResolved);
  EXPECT_THAT(w.with(Status::kFiring), SizeIs(1));
  EXPECT_THAT(over, SizeIs(1));
  return over.empty() ? alert::Alert{} : over[0];
}

TEST(HoldUps, ALockThatIsNotLetGoIsToldWithThoseWhoWaitForIt) {
  Workers job;
  job.held = {{100, 112}};
  const alert::Alert alert = only(job.watched());
  EXPECT_NEAR(s(alert.onset), 101, 1.01);
  EXPECT_NEAR(s(alert.end.value_or(TimeNs())), 112, 1.01);
  EXPECT_THAT(alert.resources, SizeIs(Workers::kLocking)) << alert::to_json(alert);
  EXPECT_NE(alert.message.find("lock"), std::string::npos) << alert.message;
}

TEST(HoldUps, TheyAreToldEachTime) {
  Workers job;
  job.held = {{80, 90}, {131, 138}, {190, 202}, {240, 246}};
  EXPECT_THAT(job.watched().with(Status::kFiring), SizeIs(4));
}

TEST(HoldUps, WhatLastsForLongIsUsualAndOver) {
  Workers job;
  job.usual_slices = 40;
  job.held = {{100, 250}};
  const alert::Alert alert = only(job.watched());
  EXPECT_NEAR(s(alert.onset), 101, 1.01);
  EXPECT_NEAR(s(alert.end.value_or(TimeNs())), 140, 2.01);
}

TEST(HoldUps, NobodyIsHeldUpWhereTheLockGoesRound) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Workers job;
    job.seed = seed, job.slices = 600;
    EXPECT_THAT(job.watched().with(Status::kFiring), IsEmpty()) << "seed " << seed;
  }
}

// What they do beside it takes as long as ever.
TEST(HoldUps, ASlowHostIsToldOnceAndUntilItIsAsBefore) {
  Workers job;
  job.varies = 0.8, job.asides = 6;
  job.longer = [](double t) { return t >= 100 && t < 160 ? 5.0 : 1.0; };
  const alert::Alert alert = only(job.watched());
  EXPECT_NEAR(s(alert.onset), 100, 4);
  EXPECT_NEAR(s(alert.end.value_or(TimeNs())), 160, 4);
  EXPECT_THAT(alert.resources,
              ElementsAre("/host0/worker0", "/host0/worker1", "/host0/worker2", "/host0/worker3"));
}

// Slices by hand: two leaves, one state.
struct Seen {
  Grid spent, ended, longest;
  std::vector<OpenVisit> before{2}, after{2};
  std::vector<char> there{1, 1}, counted{1};
  std::vector<std::uint16_t> states{7};
  Seen() {
    for (Grid* g : {&spent, &ended, &longest}) g->reach(2, 1), g->fill(0);
  }
  void go(HoldUps& h, int slices, float visits, float age, std::set<std::uint32_t> who, bool work = false) {
    for (int i = 0; i < slices; ++i) {
      for (std::uint32_t l = 0; l < 2; ++l) {
        ended[l][0] = visits, spent[l][0] = 0.5f;
        after[l] = who.contains(l) ? OpenVisit{7, age + static_cast<float>(i)} : OpenVisit{};
      }
      h.on_slice({spent, ended, longest, before, after, there, counted, states}, {work});
    }
  }
};

TEST(HoldUps, AreNewsOfSeveralAfterThreeSlicesAndTwiceTheHabit) {
  HoldUps h(3, 600);
  Seen seen;
  seen.go(h, 20, 4, 0.1f, {0, 1});
  seen.go(h, 2, 0, 1.1f, {0, 1});
  EXPECT_FALSE(h.is_news(0));
  seen.go(h, 1, 0, 3.1f, {0, 1});
  EXPECT_TRUE(h.is_news(0));
  EXPECT_EQ(h.slices(0), 3u);
  EXPECT_THAT(h.held(0), ElementsAre(0, 1));
  // 23 slices of 0.5 each and of two leaves, of 4 visits each.
  EXPECT_NEAR(h.times_as_long(0), 3 / (0.5 / 4), 1e-6);
  seen.go(h, 1, 4, 0.1f, {0, 1});
  EXPECT_FALSE(h.goes_on(0));
  // One alone is none, and one was no habit: two are.
  for (int time = 0; time < 2; ++time) {
    seen.go(h, 5, 0, 1.1f, {0});
    EXPECT_FALSE(h.is_news(0));
    seen.go(h, 1, 4, 0.1f, {0, 1});
  }
  seen.go(h, 9, 0, 1.1f, {0, 1});
  EXPECT_FALSE(h.is_news(0));
  seen.go(h, 1, 0, 10.1f, {0, 1});
  EXPECT_TRUE(h.is_news(0));
  h.tell(0);
  EXPECT_FALSE(h.is_news(0)) << "once";
}

TEST(HoldUps, BeginAnewWhereSomebodyMayHaveGotAwayUnseen) {
  HoldUps h(3, 600);
  Seen seen;
  seen.go(h, 20, 4, 0.1f, {0, 1});
  seen.go(h, 2, 0, 1.1f, {0, 1});
  seen.go(h, 2, 0, 1.1f, {0, 1});  // other visits, after slices that were not looked at
  EXPECT_EQ(h.slices(0), 2u);
  EXPECT_FALSE(h.is_news(0));
  seen.go(h, 1, 0, 3.1f, {0, 1});
  EXPECT_TRUE(h.is_news(0));
}

TEST(HoldUps, AreOverWhenTheyAreUsual) {
  HoldUps h(3, 10);
  Seen seen;
  seen.go(h, 20, 4, 0.1f, {0, 1});
  seen.go(h, 9, 0, 1.1f, {0, 1});
  EXPECT_TRUE(h.goes_on(0));
  EXPECT_TRUE(h.is_news(0));
  seen.go(h, 1, 0, 10.1f, {0, 1});
  EXPECT_FALSE(h.goes_on(0));
  EXPECT_FALSE(h.is_news(0));
}

TEST(HoldUps, AreNoneOfWorkNorBeforeTheJobIsKnown) {
  HoldUps early(3, 600), works(3, 600);
  Seen seen;
  seen.go(early, 15, 4, 0.1f, {0, 1});
  seen.go(early, 4, 0, 1.1f, {0, 1});
  EXPECT_FALSE(early.is_news(0));
  seen.go(early, 1, 0, 5.1f, {0, 1});
  EXPECT_TRUE(early.is_news(0));
  seen.go(works, 20, 4, 0.1f, {0, 1}, true);
  seen.go(works, 20, 0, 1.1f, {0, 1}, true);
  EXPECT_FALSE(works.is_news(0));
}

}  // namespace hold_ups_test
}  // namespace margay::detect::test
