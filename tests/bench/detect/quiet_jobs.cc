#include "quiet_jobs.h"

#include <algorithm>

#include "chance.h"
#include "stream.h"

namespace margay::bench {
namespace {

constexpr double kHour = 3600;

struct Play {
  const std::string& kind;
  Shape shape;
  Random random;
  Stream& stream;
  std::int64_t slices;
  const QuietJob::Slowed& slowed;
  bool more() {
    stream.tell();
    return stream.told() < slices;
  }
};

enum : std::uint16_t { kCompute_ = kFirst, kIsend, kIrecv, kWaitall, kAllreduce, kBcast, kWrite, kBarrier };
const std::vector<std::string> kCoupledStates = {"compute",       "MPI_Isend", "MPI_Irecv", "MPI_Waitall",
                                                 "MPI_Allreduce", "MPI_Bcast", "write",     "MPI_Barrier"};

// Steps: compute, exchange with both neighbours, every so often a collective.
void coupled(Play& p) {
  Random& random = p.random;
  Stream& stream = p.stream;
  const std::uint32_t n = p.shape.ranks;
  const bool tails = p.kind == "tails", rare = p.kind == "rare", clock = p.kind == "clock";
  const double step = std::exp(random.uniform(std::log(0.06), std::log(0.4)));
  const double share = random.uniform(0.4, 0.8), cv = random.uniform(0.02, 0.1);
  const double tail_chance = std::exp(random.uniform(std::log(3e-5), std::log(3e-3)));
  const auto every = static_cast<std::uint64_t>(1 + random.below(4));
  const double house_every = random.uniform(30, 300);  // s, of all ranks together
  std::vector<double> speed[3], drift(n), noise(n, 1.0), near(p.shape.machines, 1.0);
  for (std::uint32_t r = 0; r < n; ++r) {
    for (auto& of : speed) of.push_back(random.jitter(0.05));
    if (p.kind == "clusters" && p.shape.cluster(r) % 2 == 1)
      for (auto& of : speed) of.back() *= 0.6;
  }
  const double noisy = p.kind == "steady" ? 0.25 : 1;
  const double deviation = noisy * random.uniform(0.01, 0.06),
               of_machines = noisy * random.uniform(0.01, 0.06);
  std::vector<Slow> rank(n, Slow(deviation, 4)), machine(p.shape.machines, Slow(of_machines, 8)),
      slowly(n, Slow(0.25, 4 * kHour));
  std::vector<Clock> clocks;
  for (std::uint32_t m = 0; m < p.shape.machines; ++m) clocks.emplace_back(random);
  const bool shared = p.kind == "shared", polling = p.kind == "polling";
  int phase = 0;
  double phase_end = p.kind == "phases" ? 30 : 1e300, checkpoint = 600, house = house_every, second = -1;
  std::vector<double> ready(n);
  for (std::uint64_t i = 0; p.more(); ++i) {
    const double t = stream.now(0);
    if (t >= second + 1) {  // what lasts changes slowly
      second = t;
      for (std::uint32_t r = 0; r < n; ++r) {
        noise[r] = rank[r].at(t, random);
        drift[r] = p.kind == "drift" ? slowly[r].at(t, random) : 1;
      }
      for (std::uint32_t m = 0; m < near.size(); ++m) near[m] = machine[m].at(t, random);
    }
    if (clock)
      for (std::uint32_t r = 0; r < n; ++r)
        stream.set_clock(r, clocks[p.shape.machine(r)].offset(t, 1200, 0.002, random));
    if (t >= phase_end) {
      phase = phase != 0 ? 0 : 1 + static_cast<int>(random.below(2));
      phase_end = t + std::exp(random.uniform(std::log(20.0), std::log(600.0)));
    }
    const double part = phase == 1 ? 0.35 * share : phase == 2 ? 0.6 * share : share;
    const double transfer = step * (phase == 1 ? 0.5 : phase == 2 ? 0.1 : 0.2);
    for (std::uint32_t r = 0; r < n; ++r) {
      double work =
          step * part * speed[phase][r] * random.jitter(cv) * noise[r] * near[p.shape.machine(r)] * drift[r];
      if (tails && random.chance(tail_chance)) work *= 1 + 1 / std::sqrt(random.uniform(0.01, 1));
      if (shared) work += preempted(random);
      work += step * p.slowed.at(r, t);
      stream.spend(r, kCompute_, work);
      stream.spend(r, kIsend, transfer * 0.15 * random.jitter(0.2));
      stream.spend(r, kIrecv, transfer * 0.05);
      ready[r] = stream.now(r);
    }
    if (rare && t >= house) {  // logs are rotated, memory is collected
      const std::uint32_t r = random.below(n);
      stream.spend(r, kCompute_, random.uniform(0.03, 0.15));
      ready[r] = stream.now(r);
      house = t + random.exponential(house_every);
    }
    double all = 0;
    for (std::uint32_t r = 0; r < n; ++r) {
      const double both = std::max({ready[r], ready[(r + 1) % n], ready[(r + n - 1) % n]});
      const double arrived = both + transfer * random.jitter(0.1);
      // Who polls waits in many short visits, more or less of them.
      const double poll = polling ? std::exp(random.uniform(std::log(2e-3), std::log(0.1))) : 0;
      while (poll > 0 && stream.now(r) < arrived - poll) {
        stream.spend(r, kWaitall, random.exponential(poll));
        stream.spend(r, kCompute_, 2e-4);
      }
      stream.until(r, kWaitall, arrived);
      all = std::max(all, stream.now(r));
    }
    if (i % every == 0)
      for (std::uint32_t r = 0; r < n; ++r)
        stream.until(r, kAllreduce, all + step * 0.03 * random.jitter(0.1));
    if (i % (10 * every) == 0)
      for (std::uint32_t r = 0; r < n; ++r) stream.spend(r, kBcast, step * 0.1 * random.jitter(0.2));
    if (rare && t >= checkpoint) {
      double last = 0;
      const double size = random.uniform(2, 5);
      for (std::uint32_t r = 0; r < n; ++r) {
        stream.spend(r, kWrite, size * random.jitter(0.15));
        last = std::max(last, stream.now(r));
      }
      for (std::uint32_t r = 0; r < n; ++r) stream.until(r, kBarrier, last + 0.001);
      checkpoint = t + 600;
    }
  }
}

// Cycles of calls that do not wait for each other.
void free_ranks(Play& p) {
  Random& random = p.random;
  Stream& stream = p.stream;
  const double cycle = std::exp(random.uniform(std::log(0.1), std::log(0.7)));
  const double mix[] = {0.5, 0.12, 0.13, 0.15, 0.1};
  const double cv = random.uniform(0.1, 0.5), own = random.uniform(0.02, 0.1);
  std::vector<Slow> rank(p.shape.ranks, Slow(own, 5)),
      machine(p.shape.machines, Slow(random.uniform(0.02, 0.1), 6));
  std::vector<double> near(p.shape.machines);
  for (double end = 1; p.more(); end += 1) {
    for (std::uint32_t m = 0; m < near.size(); ++m) near[m] = machine[m].at(end, random);
    for (std::uint32_t r = 0; r < p.shape.ranks; ++r) {
      const double noise = rank[r].at(end, random) * near[p.shape.machine(r)];
      const double longer = p.slowed.at(r, end);
      while (stream.now(r) < end)
        for (std::uint16_t s = 0; s < 5; ++s)
          stream.spend(r, kFirst + s,
                       cycle * (mix[s] + (s == 0 ? longer : 0)) * random.jitter(cv) * (s == 0 ? noise : 1));
    }
  }
}

// Workers with a queue each. The load has a day, minutes in which more is asked, and chance.
void services(Play& p) {
  Random& random = p.random;
  Stream& stream = p.stream;
  const double size = std::exp(random.uniform(std::log(0.03), std::log(0.4))),
               load = random.uniform(0.2, 0.5);
  const double cv = random.uniform(0.4, 0.9);
  Slow minutes(0.2, 120);
  double of_kind[4];
  for (double& k : of_kind) k = random.jitter(0.4);
  std::vector<double> next(p.shape.ranks);
  for (double end = 1; p.more(); end += 1) {
    const double day = 1 + 0.6 * std::sin(2 * 3.14159265 * end / (24 * kHour));
    const double rate = load / size * day * minutes.at(end, random);
    for (std::uint32_t r = 0; r < p.shape.ranks; ++r)
      while (stream.now(r) < end) {
        if (next[r] > stream.now(r) + 1e-8) {
          stream.until(r, kFirst, std::min(next[r], end + 1));
          continue;
        }
        double of = size * of_kind[r % 4] * random.jitter(cv);
        if (random.chance(0.002)) of *= 1 + 1 / std::sqrt(random.uniform(0.01, 1));
        stream.spend(r, kFirst + 1, of * 0.2 * random.jitter(0.2));
        stream.spend(r, kFirst + 2, of * 0.5 * random.jitter(0.3));
        stream.spend(r, kFirst + 3, of * 0.3 * random.jitter(0.2));
        next[r] += random.exponential(1 / rate);
        next[r] = std::max(next[r], stream.now(r) - 30);  // nobody waits longer than that
      }
  }
}

void tasks(Play& p) {
  Random& random = p.random;
  Stream& stream = p.stream;
  const double size = std::exp(random.uniform(std::log(2.0), std::log(20.0))), io = random.uniform(0.1, 0.25);
  for (double end = 1; p.more(); end += 1)
    for (std::uint32_t r = 0; r < p.shape.ranks; ++r)
      while (stream.now(r) < end) {
        stream.spend(r, kFirst, random.exponential(0.05 * size));
        stream.spend(r, kFirst + 1, size * io * random.jitter(0.4));
        double work = size * random.jitter(0.5);
        if (random.chance(0.02)) work *= 1 + 1 / std::sqrt(random.uniform(0.04, 1));
        stream.spend(r, kFirst + 2, work);
        stream.spend(r, kFirst + 3, size * io * random.jitter(0.4));
      }
}

struct Kind {
  void (*play)(Play&);
  std::vector<std::string> states;
  std::set<std::string> idle;
};

Kind kind_of(const std::string& name) {
  if (name == "free")
    return {free_ranks, {"compute", "MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Allreduce"}, {}};
  if (name == "services") return {services, {"idle", "parse", "query", "render"}, {"idle"}};
  if (name == "tasks") return {tasks, {"idle", "read", "compute", "write"}, {"idle"}};
  return {coupled, kCoupledStates, {}};
}

}  // namespace

const std::vector<std::string>& QuietJob::kinds() {
  static const std::vector<std::string> kAll = {"coupled", "tails", "phases",   "drift", "rare",   "clusters",
                                                "clock",   "free",  "services", "tasks", "shared", "polling"};
  return kAll;
}

QuietJob::QuietJob(std::string kind, std::uint32_t ranks, std::uint64_t seed, DurationNs slice)
    : kind_(std::move(kind)), ranks_(ranks), seed_(seed), slice_(slice) {
  machines_ = std::max(1u, ranks_ / (ranks_ > 1000 ? 32 : 8));
  clusters_ = machines_ >= 4 ? machines_ / (machines_ >= 64 ? 16 : 4) : 1;
  const Kind what = kind_of(kind_);
  topology_ = topology_of({ranks_, machines_, clusters_}, what.states);
  idle_ = what.idle;
}

void QuietJob::play(std::int64_t slices, const std::function<void(const model::SliceColumn&)>& each) const {
  const Kind kind = kind_of(kind_);
  std::int64_t told = 0;
  Stream stream(ranks_, static_cast<std::uint32_t>(kFirst + kind.states.size()), slice_,
                [&](const model::SliceColumn& c) {
                  if (told++ < slices) each(c);
                });
  Play play{kind_, {ranks_, machines_, clusters_}, Random(seed_), stream, slices, slowed_};
  kind.play(play);
}

}  // namespace margay::bench
