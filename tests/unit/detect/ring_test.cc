// Ranks in a ring, each of which waits for both neighbours after a short step of work: what one that stops
// makes of the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "families/families.h"
#include "idle_wave.h"
#include "score.h"

namespace margay::detect::test {
namespace ring_test {

struct Stop {
  double begin, lasts;  // slices
  std::uint32_t rank;
};

// Its work takes so many times as long.
struct Slow {
  double begin, lasts;  // slices
  std::uint32_t rank;
  double times;
};

struct Ring {
  std::uint32_t ranks = 32;
  std::uint64_t seed = 1;
  double step = 0.1, slices = 200;  // a step, in slices
  std::uint32_t reduce_every = 0;   // steps; 0: never
  std::vector<Stop> stops;
  std::vector<Slow> slow;
};

enum State : std::uint16_t { kWorks, kWaitall, kAllreduce };

// When work of so long is done that the rank begins: it stands still while it is stopped.
double done(const Ring& ring, std::uint32_t rank, double begin, double work) {
  for (const Slow& s : ring.slow)
    if (s.rank == rank && begin >= s.begin && begin < s.begin + s.lasts) work *= s.times;
  for (const Stop& s : ring.stops)
    if (s.rank == rank && begin < s.begin + s.lasts && begin + work > s.begin)
      return s.begin + s.lasts + work - std::max(0.0, s.begin - begin);
  return begin + work;
}

bench::Case job(const Ring& ring) {
  bench::Recording r;
  r.slice_s = 0.1, r.end_s = ring.slices * r.slice_s;
  r.levels = {"host", "rank"};
  r.states = {"compute", "MPI_Waitall", "MPI_Allreduce"};
  for (std::uint32_t i = 0; i < ring.ranks; ++i)
    r.paths.push_back("/h" + std::to_string(i / 4) + "/rank" + std::to_string(i));
  r.changes.resize(ring.ranks);
  std::mt19937_64 random(ring.seed);
  std::normal_distribution<double> jitter(0, 0.03);
  std::vector<double> begin(ring.ranks, 0.3), worked(ring.ranks);
  const auto say = [&](std::uint32_t rank, double at, State state) {
    if (at < ring.slices) r.changes[rank].push_back({at * r.slice_s, state});
  };
  for (std::uint32_t k = 1; *std::min_element(begin.begin(), begin.end()) < ring.slices; ++k) {
    for (std::uint32_t i = 0; i < ring.ranks; ++i) {
      say(i, begin[i], kWorks);
      worked[i] = done(ring, i, begin[i], ring.step * std::exp(jitter(random)));
      say(i, worked[i], kWaitall);
    }
    for (std::uint32_t i = 0; i < ring.ranks; ++i) {
      const double left = worked[(i + ring.ranks - 1) % ring.ranks], right = worked[(i + 1) % ring.ranks];
      begin[i] = std::max({worked[i], left, right}) + 0.03 * ring.step;
    }
    if (ring.reduce_every == 0 || k % ring.reduce_every != 0) continue;
    double all = 0;
    for (std::uint32_t i = 0; i < ring.ranks; ++i) {
      say(i, begin[i], kWorks);
      begin[i] = done(ring, i, begin[i], 0.02 * ring.step * std::exp(jitter(random)));
      say(i, begin[i], kAllreduce);
      all = std::max(all, begin[i]);
    }
    std::fill(begin.begin(), begin.end(), all + 0.02 * ring.step);
  }
  return bench::case_of(bench::families()[0], "ring", ring.seed, r);
}

// What is told of it: of each alert the leaves and the slice of the onset.
struct Told {
  std::vector<std::string> who;
  double onset;
  std::string message;
};
std::vector<Told> told(const Ring& ring) {
  std::vector<Told> out;
  const bench::Case c = job(ring);
  for (const alert::Alert& a : bench::alerts_of(c, bench::options_for(c)))
    if (a.kind == alert::Kind::kPerturbation || a.kind == alert::Kind::kStall)
      out.push_back({a.resources, static_cast<double>(a.onset.value) * 1e-8, a.message});
  return out;
}

std::string path(std::uint32_t rank) {
  return "/h" + std::to_string(rank / 4) + "/rank" + std::to_string(rank);
}

// Stops of one rank or another, at any time.
struct Found {
  std::size_t stops = 0, told = 0, others = 0;
};
Found stops_told(Ring ring, double first, double least, double most) {
  std::mt19937_64 random(100 + ring.seed);
  std::uniform_real_distribution<double> lasts(least, most), pause(14, 30);
  std::uniform_int_distribution<std::uint32_t> rank(0, ring.ranks - 1);
  for (double at = first; at < 190; at += pause(random))
    ring.stops.push_back({at, lasts(random), rank(random)});
  Found out;
  std::set<double> told_of;
  for (const Told& t : told(ring)) {
    const auto stop = std::find_if(ring.stops.begin(), ring.stops.end(), [&](const Stop& s) {
      return t.who == std::vector{path(s.rank)} && std::abs(t.onset - s.begin) < 3;
    });
    if (stop == ring.stops.end())
      ++out.others;
    else
      told_of.insert(stop->begin);
  }
  out.stops = ring.stops.size(), out.told = told_of.size();
  return out;
}

// In the slice in which one stops the others end few visits to work, and of these some are the short ones
// before the reduction: their mean is far from what it is as a rule, though nobody works otherwise.
TEST(Ring, WhoStopsForAMomentIsToldEachTime) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    Ring ring;
    ring.seed = seed, ring.reduce_every = 7;
    const Found found = stops_told(ring, 35, 1.3, 2.3);
    EXPECT_GE(found.stops, 6u);
    EXPECT_EQ(found.told, found.stops);
    EXPECT_EQ(found.others, 0u);
  }
}

TEST(IdleWave, IsOverSomeSlicesAfterTheLastOfItsWaits) {
  IdleWave wave(4, 64);
  EXPECT_FALSE(wave.explains(SliceIndex(0), SliceIndex(0))) << "nobody was perturbed";
  wave.perturbed(SliceIndex(100));
  EXPECT_TRUE(wave.explains(SliceIndex(104), SliceIndex(106)));
  EXPECT_TRUE(wave.explains(SliceIndex(110), SliceIndex(110)));
  EXPECT_FALSE(wave.explains(SliceIndex(115), SliceIndex(116)));
  wave.perturbed(SliceIndex(90));
  EXPECT_TRUE(wave.explains(SliceIndex(114), SliceIndex(116))) << "the later one counts";
}

TEST(IdleWave, IsNoExcuseForEver) {
  IdleWave wave(4, 64);
  wave.perturbed(SliceIndex(100));
  for (std::int64_t i = 100; i <= 164; ++i) EXPECT_TRUE(wave.explains(SliceIndex(i), SliceIndex(i)));
  EXPECT_FALSE(wave.explains(SliceIndex(165), SliceIndex(165)));
  wave.perturbed(SliceIndex(170));
  EXPECT_TRUE(wave.explains(SliceIndex(171), SliceIndex(171)));
}

// Only the neighbours wait for who stops, and theirs for them: long after it has gone on somebody is late for
// somebody.
TEST(Ring, TheWaveOfAStopIsNotToldAgain) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    Ring ring;
    ring.ranks = 64, ring.seed = seed, ring.step = 0.5;
    ring.stops = {{60.2, 3.6, 21}, {120.7, 4.1, 50}};
    std::vector<std::vector<std::string>> who;
    for (const Told& t : told(ring)) who.push_back(t.who);
    EXPECT_THAT(who, testing::ElementsAre(std::vector{path(21)}, std::vector{path(50)}));
  }
}

// All wait for who is slow, so that it is at work for nearly all of the time, as ever: what is otherwise is
// how long its work takes.
TEST(Ring, HowMuchLongerWorkTakesIsSaidWhereItsShareTellsLittle) {
  for (const double times : {1.15, 1.2, 1.3}) {
    SCOPED_TRACE(times);
    Ring ring;
    ring.seed = 3;
    ring.slow = {{60, 14, 5, times}};
    const std::vector<Told> all = told(ring);
    ASSERT_THAT(all, testing::SizeIs(1));
    EXPECT_EQ(all[0].who, std::vector{path(5)});
    const std::string& message = all[0].message;
    double number = 0;
    if (std::sscanf(message.c_str(), "rank5 on h1: compute takes %lf", &number) == 1 &&
        message.find(" % longer") != std::string::npos)
      number = 1 + number / 100;
    EXPECT_NEAR(number, times, 0.06) << message;
  }
}

}  // namespace ring_test
}  // namespace margay::detect::test
