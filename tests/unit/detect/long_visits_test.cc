// Services that take requests: whose requests take longer is told, and who waits for it is not.
#include "stream.h"
#include "watch_job.h"

namespace margay::detect::test {
namespace long_visits_test {

using alert::Kind;
using alert::Status;
using testing::IsEmpty;
using testing::SizeIs;

enum State : std::uint16_t { kIdle = 3, kSelf, kRemote, kStates };

// Lanes 0 to 3 are of service s0, which calls s1 (4 to 7) for each request, lane by lane; s2 (8 to 11) has
// requests of its own. Slices of a second, in which a lane has two requests or three.
struct Services {
  static constexpr std::uint32_t kLanes = 4;
  std::uint64_t seed = 1;
  std::int64_t slices = 300;
  // Times as long as usual that the lane works, at a time (s).
  std::function<double(std::uint32_t lane, double t)> longer = [](std::uint32_t, double) { return 1.0; };
  // The same of how many requests there are.
  std::function<double(double t)> load = [](double) { return 1.0; };
  // One request in a hundred is so many times as long.
  double rare = 1;

  static std::string path(std::uint32_t lane) {
    return "/s" + std::to_string(lane / kLanes) + "/lane" + std::to_string(lane % kLanes);
  }
  static std::vector<std::string> paths(const std::vector<std::uint32_t>& lanes) {
    std::vector<std::string> out;
    for (const std::uint32_t l : lanes) out.push_back(path(l));
    return out;
  }
  static std::shared_ptr<const Topology> topology() {
    auto t = std::make_shared<Topology>();
    std::vector<model::Attributes> lanes;
    for (std::uint32_t l = 0; l < 3 * kLanes; ++l)
      lanes.push_back(
          {{"path1", "s" + std::to_string(l / kLanes)}, {"path2", "lane" + std::to_string(l % kLanes)}});
    t->hierarchy = model::Hierarchy(lanes);
    t->states.resize(kIdle);
    for (const char* name : {"idle", "self", "wait_remote"}) t->states.push_back({name, {}});
    return t;
  }
  std::vector<model::SliceColumn> play() const {
    std::vector<model::SliceColumn> out;
    bench::Stream stream(3 * kLanes, kStates, seconds(1),
                         [&](const model::SliceColumn& c) { out.push_back(c); });
    std::mt19937_64 random(seed);
    const auto work = [&](std::uint32_t lane, double median) {
      const double kind = random() % 100 == 0 ? rare : 1;
      return median * kind * longer(lane, stream.now(lane)) *
             std::exp(0.4 * std::normal_distribution<double>()(random));
    };
    const auto pause = [&](std::uint32_t lane) {
      stream.spend(lane, kIdle, std::exponential_distribution<double>(3 * load(stream.now(lane)))(random));
    };
    const auto end = static_cast<double>(slices);
    for (std::uint32_t k = 0; k < kLanes; ++k) {
      const std::uint32_t front = k, back = kLanes + k, own = 2 * kLanes + k;
      while (stream.now(front) < end) {
        pause(front);
        stream.spend(front, kSelf, work(front, 0.02));
        stream.until(back, kIdle, stream.now(front) + 0.001);
        stream.spend(back, kSelf, work(back, 0.05));
        stream.until(front, kRemote, stream.now(back) + 0.001);
        stream.spend(front, kSelf, work(front, 0.01));
      }
      stream.until(back, kIdle, stream.now(front));
      while (stream.now(own) < end) {
        pause(own);
        stream.spend(own, kSelf, work(own, 0.05));
      }
    }
    stream.tell();
    return out;
  }
  Watched watched() const {
    DetectorOptions o;
    o.run = "r";
    o.window.slice = seconds(1);
    o.window.slices = 64;
    o.idle_states = {"idle"};
    return watch(o, topology(), play());
  }
};

// By so many seconds the end may be missed: a few requests.
constexpr double kOver = 5;

double at(const std::optional<TimeNs>& t) {
  return t ? static_cast<double>(t->value) * 1e-9 : -1;
}
std::string lines(const Watched& w) {
  std::string out;
  for (const auto& a : w.alerts) out += alert::to_json(a) + "\n";
  return out;
}
// From then on, until then, these lanes take so many times as long.
auto slow(std::set<std::uint32_t> lanes, double from, double to, double times) {
  return
      [=](std::uint32_t lane, double t) { return lanes.contains(lane) && t >= from && t < to ? times : 1.0; };
}

TEST(LongVisits, ASlowLaneIsToldWithinFewRequestsAndUntilItIsAsBefore) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Services services{.seed = seed};
    services.longer = slow({9}, 150, 190, 6);
    const Watched w = services.watched();
    ASSERT_THAT(w.alerts, SizeIs(2)) << lines(w);
    EXPECT_EQ(w.alerts[0].kind, Kind::kPerturbation);
    EXPECT_EQ(w.alerts[0].status, Status::kFiring);
    EXPECT_EQ(w.alerts[1].status, Status::kResolved);
    EXPECT_EQ(w.alerts[1].id, w.alerts[0].id);
    EXPECT_EQ(w.alerts[1].likely_cause, Services::paths({9}));
    EXPECT_NEAR(at(w.alerts[0].onset), 150, 2);
    EXPECT_LE(at(w.alerts[0].detected), 156);
    EXPECT_NEAR(at(w.alerts[1].end), 190, kOver);
  }
}

TEST(LongVisits, AServiceIsTold) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Services services{.seed = seed};
    services.longer = slow({8, 9, 10, 11}, 150, 190, 3);
    const Watched w = services.watched();
    ASSERT_THAT(w.with(Status::kFiring), SizeIs(1)) << lines(w);
    EXPECT_EQ(w.alerts.back().node, "/s2");
    EXPECT_LE(at(w.alerts[0].detected), 156);
  }
}

TEST(LongVisits, WhoWaitsForItIsNotTheCause) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    for (const std::set<std::uint32_t>& who :
         {std::set<std::uint32_t>{6}, std::set<std::uint32_t>{4, 5, 6, 7}}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << who.size() << " lanes");
      Services services{.seed = seed};
      services.longer = slow(who, 150, 200, 6);
      const Watched w = services.watched();
      ASSERT_THAT(w.with(Status::kFiring), SizeIs(1)) << lines(w);
      EXPECT_EQ(w.alerts.back().likely_cause, Services::paths({who.begin(), who.end()}));
    }
}

TEST(LongVisits, TwoAtOnceAreTwo) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Services services{.seed = seed};
    services.longer = [](std::uint32_t lane, double t) {
      return slow({5}, 150, 230, 6)(lane, t) * slow({10}, 175, 210, 6)(lane, t);
    };
    const Watched w = services.watched();
    const auto fired = w.with(Status::kFiring), over = w.with(Status::kResolved);
    ASSERT_THAT(fired, SizeIs(2)) << lines(w);
    EXPECT_EQ(fired[0].likely_cause, Services::paths({5}));
    EXPECT_EQ(fired[1].likely_cause, Services::paths({10}));
    EXPECT_NEAR(at(fired[1].onset), 175, 2);
    ASSERT_THAT(over, SizeIs(2));
    EXPECT_EQ(over[0].id, fired[1].id) << "the first goes on meanwhile";
    EXPECT_NEAR(at(over[0].end), 210, kOver);
    EXPECT_NEAR(at(over[1].end), 230, kOver);
  }
}

constexpr std::uint16_t kReceive = kIdle;  // of ranks
// Eight ranks of one machine that compute for a little and wait for each other for long.
struct Ranks {
  std::uint64_t seed = 1;
  double end = 200;  // s
  // Times as long as usual that the rank computes, at a time (s).
  std::function<double(std::uint32_t rank, double t)> longer = [](std::uint32_t, double) { return 1.0; };
  // The same of how long it waits in MPI_Recv, in which it usually is for an instant.
  std::function<double(std::uint32_t rank, double t)> receives = {};
  double denied = 0;          // share of the time that they are ready to run, and not let
  std::int64_t stranger = 0;  // percent of each one's CPU, that somebody takes who is not of the job
  double rounds = 1;          // times as many in a second, each as much shorter
  Watched watched() const {
    constexpr std::uint32_t kRanks = 8;
    auto topology = std::make_shared<Topology>();
    std::vector<model::Attributes> ranks;
    for (std::uint32_t r = 0; r < kRanks; ++r)
      ranks.push_back({{"path1", "vm"}, {"path2", "rank" + std::to_string(r)}});
    topology->hierarchy = model::Hierarchy(ranks);
    topology->states.resize(kIdle);
    for (const char* name : {"MPI_Recv", "self", "MPI_Waitall"}) topology->states.push_back({name, {}});
    std::vector<model::SliceColumn> job;
    bench::Stream stream(kRanks, kStates, seconds(1), [&](const model::SliceColumn& c) { job.push_back(c); });
    std::mt19937_64 random(seed);
    while (stream.now(0) < end) {
      double last = 0;
      for (std::uint32_t r = 0; r < kRanks; ++r) {
        stream.spend(r, kSelf,
                     0.05 / rounds * longer(r, stream.now(r)) *
                         std::exp(0.3 * std::normal_distribution<double>()(random)));
        if (receives)
          stream.spend(r, kReceive,
                       0.03 / rounds * receives(r, stream.now(r)) *
                           std::exp(0.3 * std::normal_distribution<double>()(random)));
        last = std::max(last, stream.now(r));
      }
      for (std::uint32_t r = 0; r < kRanks; ++r) stream.until(r, kRemote, last + 0.3 / rounds);
    }
    stream.tell();
    for (model::SliceColumn& c : job)
      for (std::uint32_t r = 0; r < kRanks; ++r) {
        model::NodeEvidence& e = c.evidence(LeafIndex(r));
        e.sampled_ns = e.cpu_ns = seconds(1).value;
        deny(e, denied);
        if (stranger > 0)
          c.add_taker({LeafIndex(r), model::Taker::Kind::kOther, 4242, 0, static_cast<std::int32_t>(r),
                       stranger * e.sampled_ns / 100, e.sampled_ns, "python3"});
      }
    DetectorOptions o;
    o.run = "r";
    o.window.slice = seconds(1);
    o.window.slices = 64;
    return watch(o, topology, job);
  }
};

// Something hurts two of them, then two others with them.
TEST(LongVisits, WhatHurtsRanksOfOneMachineTogetherIsToldOnce) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Ranks ranks{.seed = seed};
    ranks.longer = [](std::uint32_t r, double t) {
      return (r < 2 && t >= 150) || (r >= 4 && r < 6 && t >= 153) ? 3.0 : 1.0;
    };
    const Watched w = ranks.watched();
    EXPECT_THAT(w.with(Status::kFiring), SizeIs(1)) << lines(w);
  }
}

// Twice as many ranks as CPUs. The scheduler has some share one CPU for a while, and these compute as much
// longer.
TEST(LongVisits, RanksThatShareACpuAreSlowedTogetherAndThatIsNotTold) {
  std::size_t alone = 0, apart = 0, beside = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Ranks ranks{.seed = seed, .longer = slow({2, 5}, 150, 160, 2.2), .rounds = 4};
    apart += !ranks.watched().with(Status::kFiring).empty();
    ranks.denied = 0.5;
    ranks.stranger = 20;
    beside += !ranks.watched().with(Status::kFiring).empty();
    ranks.stranger = 2;
    const Watched w = ranks.watched();
    EXPECT_THAT(w.with(Status::kFiring), IsEmpty()) << lines(w);
    ranks.longer = slow({5}, 150, 160, 2.2);
    for (const auto& a : ranks.watched().with(Status::kFiring)) {
      EXPECT_EQ(a.likely_cause, std::vector<std::string>{"/vm/rank5"});
      ++alone;
    }
  }
  EXPECT_EQ(beside, 10u) << "somebody else is on these CPUs";
  EXPECT_EQ(alone, 10u) << "it takes longer by itself";
  EXPECT_EQ(apart, 10u) << "each has a CPU";
}

// Which of them is let is not for long what it was, and how long they wait for each other goes with it.
TEST(LongVisits, HowLongRanksThatShareCpusWaitIsNotTold) {
  std::size_t apart = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Ranks ranks{.seed = seed, .receives = slow({5}, 150, 160, 6)};
    apart += ranks.watched().with(Status::kFiring).size();
    ranks.denied = 0.5;
    EXPECT_THAT(ranks.watched().with(Status::kFiring), IsEmpty());
    // While they poll they are kept waiting as well as at work.
    ranks.longer = [](std::uint32_t, double) { return 0.1; };
    EXPECT_THAT(ranks.watched().with(Status::kFiring), IsEmpty()) << "they hardly work";
  }
  EXPECT_GE(apart, 8u) << "each has a CPU";
}

// What single visits hardly tell is told by many, for it is not learned meanwhile.
TEST(LongVisits, WhatIsWeakSumsUpWhereLittleIsKnown) {
  std::size_t found = 0, others = 0;
  for (const double factor : {2.0, 2.2})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Ranks ranks{.seed = seed, .end = 90};
      ranks.longer = slow({3}, 30, 1e9, factor);
      bool hit = false;
      for (const auto& a : ranks.watched().with(Status::kFiring)) {
        const bool early = at(a.onset) < 28;
        hit = hit || !early;
        others += early;
      }
      found += hit;
    }
  EXPECT_GE(found, 37) << "of 40";
  EXPECT_EQ(others, 0u);
}

// What is told of a job of ranks, so many on a host, in slices of a second; states have these names from
// `first` on.
std::vector<alert::Alert> alerts_of(const std::vector<model::SliceColumn>& job, std::uint32_t a_host,
                                    std::uint16_t first, const std::vector<const char*>& names) {
  auto topology = std::make_shared<Topology>();
  std::vector<model::Attributes> ranks;
  for (std::uint32_t r = 0; r < job.front().leaves(); ++r)
    ranks.push_back({{"path1", "host" + std::to_string(r / a_host)}, {"path2", "rank" + std::to_string(r)}});
  topology->hierarchy = model::Hierarchy(ranks);
  topology->states.resize(first);
  for (const char* name : names) topology->states.push_back({name, {}});
  DetectorOptions o;
  o.run = "r";
  o.window.slice = seconds(1);
  o.window.slices = 64;
  return watch(o, topology, job).with(Status::kFiring);
}

// A farm: rank 0 deals out tasks, at which the others work. Deals that take longer make it wait less.
TEST(LongVisits, WhoseWaitsTakeLessWhileItsWorkTakesLongerIsNotLearned) {
  enum : std::uint16_t { kRecv = 3, kWork, kAll };
  constexpr std::uint32_t kRanks = 8;
  std::size_t found = 0, others = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<model::SliceColumn> job;
    bench::Stream stream(kRanks, kAll, seconds(1), [&](const model::SliceColumn& c) { job.push_back(c); });
    std::mt19937_64 random(seed);
    const auto spend = [&](std::uint32_t r, std::uint16_t state, double length, double deviation) {
      stream.spend(r, state, length * std::exp(deviation * std::normal_distribution<double>()(random)));
    };
    for (std::uint32_t r = 0; r < kRanks; ++r)
      while (stream.now(r) < 90) {
        const bool deals = r == 0, slow = deals && stream.now(r) >= 30;
        spend(r, kWork, slow ? 0.03 : deals ? 0.01 : 0.5, deals ? 1.2 : 0.2);
        spend(r, kRecv, slow ? 0.005 : 0.03, 1);
      }
    stream.tell();
    bool hit = false;
    for (const auto& a : alerts_of(job, kRanks / 2, kRecv, {"MPI_Recv", "compute"})) {
      const bool during = at(a.detected) >= 30;
      hit = hit || (during && a.resources == std::vector<std::string>{"/host0/rank0"});
      others += !during;
    }
    found += hit;
  }
  EXPECT_GE(found, 17u) << "of 20";
  EXPECT_EQ(others, 0u);
}

// Ranks that write a file every twenty steps, all at once; in one of these what those of the first host write
// takes longer, and the others wait for them.
struct Writers {
  std::uint32_t ranks = 16, a_host = 8;
  int hurt_step = 200;
  double times = 4;
  // Times as long as usual that all write in a round: others load the file system.
  std::vector<double> rounds = {1};

  // Tells of a run: that this was told, with those ranks; and how often else something was.
  std::pair<bool, std::size_t> told(std::uint64_t seed) const {
    enum : std::uint16_t { kBarrier = 3, kCompute1, kWrite, kAll };
    std::vector<model::SliceColumn> job;
    bench::Stream stream(ranks, kAll, seconds(1), [&](const model::SliceColumn& c) { job.push_back(c); });
    std::mt19937_64 random(seed);
    const auto varies = [&](double length) {
      return length * std::exp(0.1 * std::normal_distribution<double>()(random));
    };
    double hurt_from = 0, hurt_to = 0;
    for (int step = 1; step <= hurt_step || stream.now(0) < 200; ++step) {
      const bool writes = step % 20 == 0, hurts = step == hurt_step;
      if (hurts) hurt_from = stream.now(0);
      double last = 0;
      for (std::uint32_t r = 0; r < ranks; ++r) {
        stream.spend(r, kCompute1, varies(0.4));
        const double usual = 2.5 * rounds[static_cast<std::size_t>(step / 20) % rounds.size()];
        if (writes) stream.spend(r, kWrite, varies(hurts && r < a_host ? times * usual : usual));
        last = std::max(last, stream.now(r));
      }
      for (std::uint32_t r = 0; r < ranks; ++r) stream.until(r, kBarrier, last + 0.02);
      if (hurts) hurt_to = stream.now(0);
    }
    stream.tell();
    bool hit = false;
    std::size_t others = 0;
    for (const auto& a : alerts_of(job, a_host, kBarrier, {"MPI_Barrier", "compute", "write"})) {
      const bool during = at(a.onset) >= hurt_from - 1 && at(a.onset) <= hurt_to;
      hit = hit || (during && a.resources.size() == a_host);
      others += !during;
    }
    return {hit, others};
  }
  // Of ten runs.
  std::pair<std::size_t, std::size_t> told_of_ten() const {
    std::size_t found = 0, others = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const auto [hit, other] = told(seed);
      found += hit, others += other;
    }
    return {found, others};
  }
};

TEST(LongVisits, WhatIsDoneNowAndThenIsKnownInWhateverModeTheJobIs) {
  const auto [found, others] = Writers{}.told_of_ten();
  EXPECT_GE(found, 9u) << "of 10";
  EXPECT_EQ(others, 0u);
}

// A host of six ranks has written twelve files then, all together ninety-six.
TEST(LongVisits, WhatIsUsualOfAHostIsWhatIsOfAllUntilMoreIsKnown) {
  const auto [found, others] = Writers{.ranks = 48, .a_host = 6, .hurt_step = 60}.told_of_ten();
  EXPECT_GE(found, 9u) << "of 10";
  EXPECT_EQ(others, 0u);
}

// All writes took as long before, in rounds in which all did.
TEST(LongVisits, WhatIsDoneInRoundsIsComparedWithTheOthersOfTheRound) {
  const Writers writers{.ranks = 48, .a_host = 6, .times = 3, .rounds = {1, 3.5, 1.5, 2.5}};
  const auto [found, others] = writers.told_of_ten();
  EXPECT_GE(found, 8u) << "of 10; none if only lengths are compared";
  EXPECT_LE(others, 1u) << "of what changes with the file system";
}

// The first rank keeps a log of its own, alone; what it writes there takes longer.
TEST(LongVisits, WhoWritesAloneIsToldWhereAllWriteTogetherAtTimes) {
  enum : std::uint16_t { kBarrier = 3, kCompute1, kWrite, kAll };
  constexpr std::uint32_t kRanks = 16;
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::vector<model::SliceColumn> job;
    bench::Stream stream(kRanks, kAll, seconds(1), [&](const model::SliceColumn& c) { job.push_back(c); });
    std::mt19937_64 random(seed);
    const auto varies = [&](double length) {
      return length * std::exp(0.1 * std::normal_distribution<double>()(random));
    };
    for (int step = 1; stream.now(0) < 250; ++step) {
      double last = 0;
      for (std::uint32_t r = 0; r < kRanks; ++r) {
        stream.spend(r, kCompute1, varies(0.4));
        const bool hurts = r == 0 && stream.now(r) >= 200;
        if (step % 20 == 0) stream.spend(r, kWrite, varies(2.5));
        if (step % 20 % 4 == 2 && r == 0) stream.spend(r, kWrite, varies(hurts ? 4 : 2.5));
        last = std::max(last, stream.now(r));
      }
      for (std::uint32_t r = 0; r < kRanks; ++r) stream.until(r, kBarrier, last + 0.02);
    }
    stream.tell();
    bool hit = false;
    for (const auto& a : alerts_of(job, kRanks / 2, kBarrier, {"MPI_Barrier", "compute", "write"})) {
      const bool during = at(a.detected) >= 200;
      hit = hit || (during && a.resources == std::vector<std::string>{"/host0/rank0"});
    }
    found += hit;
  }
  EXPECT_GE(found, 9u) << "of 10";
}

TEST(LongVisits, WhatComesAgainIsToldAgain) {
  Services services;
  services.longer = [](std::uint32_t lane, double t) {
    return slow({8}, 120, 150, 6)(lane, t) * slow({8}, 200, 230, 6)(lane, t);
  };
  const Watched w = services.watched();
  EXPECT_THAT(w.with(Status::kFiring), SizeIs(2)) << lines(w);
}

TEST(LongVisits, WhatGoesOnForLongIsUsualInTheEnd) {
  Services services{.slices = 1'000};
  services.longer = slow({8}, 100, 1e9, 6);
  const Watched w = services.watched();
  ASSERT_THAT(w.with(Status::kFiring), SizeIs(1)) << lines(w);
  EXPECT_LE(at(w.alerts.back().end), 900) << "before the run ends";
}

TEST(LongVisits, QuietServicesAreQuiet) {
  for (std::uint64_t seed = 11; seed <= 15; ++seed) {
    SCOPED_TRACE(seed);
    Services services{.seed = seed, .slices = 2'000};
    EXPECT_THAT(services.watched().alerts, IsEmpty());
  }
}

TEST(LongVisits, MoreRequestsAreNoLongerOnes) {
  for (std::uint64_t seed = 21; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    Services services{.seed = seed, .slices = 1'000};
    services.load = [](double t) { return std::fmod(t, 200) > 180 ? 3.0 : 1 + 0.5 * std::sin(t / 100); };
    EXPECT_THAT(services.watched().alerts, IsEmpty());
  }
}

// Once some of them have been seen.
TEST(LongVisits, RequestsThatAreSeldomLongAreAsUsual) {
  for (std::uint64_t seed = 31; seed <= 35; ++seed) {
    SCOPED_TRACE(seed);
    Services services{.seed = seed, .slices = 2'000};
    services.rare = 20;
    std::size_t told = 0;
    for (const auto& a : services.watched().with(Status::kFiring)) told += at(a.onset) > 300;
    EXPECT_EQ(told, 0u);
  }
}

// Four ranks that ask again and again whether a message has come (polls of 2 ms) and compute for moments;
// slices of 100 ms. For a second of each eleven rank 1's polls take ten times as long, for it is not let: it
// may be so in all of them, and the others ask on.
TEST(LongVisits, HowLongAPollTakesAndMomentsOfWorkSayNothingOfACoupledJob) {
  enum : std::uint16_t { kWork = 3, kTestany, kEnd };
  auto topology = std::make_shared<Topology>();
  std::vector<model::Attributes> ranks;
  for (std::uint32_t r = 0; r < 4; ++r)
    ranks.push_back({{"path1", "node" + std::to_string(r / 2)}, {"path2", "rank" + std::to_string(r)}});
  topology->hierarchy = model::Hierarchy(ranks);
  topology->states.resize(kWork);
  for (const char* name : {"compute", "MPI_Testany"}) topology->states.push_back({name, {}});
  std::vector<model::SliceColumn> played;
  bench::Stream stream(4, kEnd, milliseconds(100), [&](const model::SliceColumn& c) { played.push_back(c); });
  std::mt19937_64 random(1);
  const auto vary = [&](double by) { return std::exp(by * std::normal_distribution<double>()(random)); };
  for (double t = 0; t < 60; t += 0.1) {
    for (std::uint32_t r = 0; r < 4; ++r)
      while (stream.now(r) < t + 0.1) {
        const bool not_let = r == 1 && t > 20 && std::fmod(t, 11) < 1;
        stream.spend(r, kWork, (not_let ? 0.0003 : 0.00002) * vary(0.2));
        stream.spend(r, kTestany, (not_let ? 0.02 : 0.002) * vary(0.2));
      }
    stream.tell();
  }
  DetectorOptions o;
  o.run = "r";
  o.window.slice = milliseconds(100);
  o.window.slices = 64;
  const Watched w = watch(o, topology, played);
  EXPECT_THAT(w.alerts, IsEmpty()) << w.alerts[0].message;
}

}  // namespace long_visits_test
}  // namespace margay::detect::test
