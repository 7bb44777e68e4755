// Checkpoint: a program with phases (a solver that mostly computes, an analysis that transposes:
// MPI_Alltoall) that writes its state to a parallel file system now and then, all ranks at once, each through
// the client of its machine.
//
// Ranges: 4 to 256 ranks on 2 or more machines; slices of 0.1 to 1 s; a step of 0.1 to 1.5 slices; a
// checkpoint every 8 to 40 slices that takes 0.7 to 5; the file system is shared with other jobs that take 0
// to 60 % of it; of three programs two have phases of 15 to 60 steps.
//
// Faults: brownout: what one to a quarter of the machines write goes 2 to 10 times slower, or not at all (a
// storage server behind them fails over), of which nothing is to be seen until they write: it is taken for
// what lies between its first and its last slow write; slow_rank: a core; slow_machine: all cores of one
// (DVFS).
#include "mpi.h"

namespace margay::bench {
namespace {

struct Writers {
  Writers(const Machines& shape, const Plan& p, Random& random)
      : plan(p), mpi(shape, p.end_s, p.slice_s, random) {
    step = plan.slice_s * log_uniform(std::max(0.1, least_step(shape, plan, 4.5)), 1.5, random);
    every = std::max(1u, static_cast<std::uint32_t>(plan.slice_s * random.uniform(8, 40) / step));
    phase = random.chance(2.0 / 3) ? 15 + random.below(46) : 0;
    share = random.uniform(0.05, 0.3);
    const double spread = random.uniform(0.01, 0.06);
    for (std::uint32_t r = 0; r < shape.ranks; ++r) of_rank.push_back(random.jitter(spread));
    // In seconds of a client that one rank has alone; the servers are as fast as all clients, or half as
    // fast.
    const double takes = plan.slice_s * random.uniform(0.7, 5);
    for (std::uint32_t m = 0; m < shape.machines; ++m)
      clients.push_back(std::make_unique<Shared>(&mpi.world, 1, 1));
    piece = takes / (2.0 * kPieces * shape.per_machine);
    servers = std::make_unique<Shared>(&mpi.world, shape.machines * random.uniform(0.5, 1), 1);
    for (double t = 0; t < plan.end_s;) {
      const double lasts = plan.slice_s * random.exponential(15);
      servers->usually(t, t + lasts, 1 - random.uniform(0, 0.6));
      t += lasts;
    }
    setup = plan.slice_s * random.uniform(1, 6);
  }

  Process rank(std::uint32_t r) {
    co_await mpi.begin(r, setup);
    Shared* const client = clients[mpi.shape.machine(r)].get();
    for (std::uint32_t i = 1;; ++i) {
      const bool transposes = phase > 0 && i / phase % 2 == 1;
      const double part = transposes ? 0.5 : 1 - share;
      co_await mpi.compute(r, mpi.noisy(r, step * part * of_rank[r]));
      if (transposes)
        co_await mpi.collective(r, 0.25 * step * mpi.bytes_per_s(), kAlltoall);
      else
        co_await mpi.collective(r, 0.5 * share * step * mpi.bytes_per_s());
      if (i % every != 0) continue;
      mpi.world.enter(r, kWrite);
      for (int k = 0; k < kPieces; ++k) {
        co_await client->use(r, piece * mpi.chance(r).jitter(0.1));
        co_await servers->use(r, piece);
      }
      co_await mpi.collective(r, 0, kBarrier);
    }
  }

  static constexpr int kPieces = 4;
  Plan plan;
  Mpi mpi;
  double step, share, piece, setup;
  std::uint32_t every, phase;
  std::vector<double> of_rank;
  std::vector<std::unique_ptr<Shared>> clients;
  std::unique_ptr<Shared> servers;
};

}  // namespace

Recording record_checkpoint(std::string_view kind, std::uint64_t seed, bool acts) {
  Random random(seed * 31 + 5);
  Ranges ranges{0.1, 1};
  if (kind == "brownout")
    ranges.least_slices = 8, ranges.least_factor = 2, ranges.most_factor = 10, ranges.stops = 0.2;
  Plan drawn = plan(kind, ranges, acts, random);
  Writers w(some_machines(256, random), drawn, random);
  const Machines& shape = w.mpi.shape;
  const auto at = places(drawn, 1u << 20, random);
  const std::uint32_t several = 1 + random.below(std::max(1u, shape.machines / 4));
  for (std::size_t i = 0; i < w.plan.faults.size(); ++i) {
    Fault& f = w.plan.faults[i];
    const std::uint32_t r = at[i] % shape.ranks;
    if (kind == "brownout") {
      const std::uint32_t first = at[i] % (shape.machines - several + 1);
      for (std::uint32_t m = first; m < first + several; ++m) {
        f.leaves.merge(shape.on(m));
        w.clients[m]->slow(&f);
      }
    } else {
      f.leaves = kind == "slow_rank" ? std::set{r} : shape.on(shape.machine(r));
      w.mpi.slow_cores(&f);
    }
  }
  for (std::uint32_t r = 0; r < w.mpi.ranks(); ++r) w.mpi.world.start(w.rank(r));
  w.mpi.world.run();
  return recording_of(w.mpi, w.plan);
}

}  // namespace margay::bench
