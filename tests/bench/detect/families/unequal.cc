// Unequal: ranks that are not alike. Half of the machines are of a newer kind; rank 0 gathers results every
// some steps and writes them to its disk; ranks exchange with both neighbours in a ring, and reduce.
//
// Ranges: 4 to 256 ranks on 2 or more machines; slices of 0.1 to 1 s; a step of 0.1 to 1.5 slices; newer
// machines are 1.3 to 2.2 times as fast, and of two programs one gives them as much more to do; ranks differ
// by 1 to 10 %; rank 0 writes every 3 to 40 steps for 0.1 to 2 steps, while the others go on until they need
// it.
//
// Faults: slow_rank: the core of one that is not rank 0; slow_machine: all cores of one; slow_disk: rank 0's
// writes take 1.5 to 8 times as long.
#include "mpi.h"

namespace margay::bench {
namespace {

struct Unequal {
  Unequal(const Machines& shape, const Plan& p, Random& random)
      : plan(p), mpi(shape, p.end_s, p.slice_s, random), disk(1, 0) {
    step = plan.slice_s * log_uniform(std::max(0.1, least_step(shape, plan, 2.5)), 1.5, random);
    const double newer = random.uniform(1.3, 2.2), spread = random.uniform(0.01, 0.1);
    const bool balanced = random.chance(0.5), mixed = random.chance(0.3);
    for (std::uint32_t r = 0; r < shape.ranks; ++r) {
      const std::uint32_t m = shape.machine(r);
      const bool fast = mixed ? m % 2 == 1 : m >= shape.machines / 2;
      of_rank.push_back(random.jitter(spread) / (fast && !balanced ? newer : 1));
      ring.push_back({(r + 1) % shape.ranks, (r + shape.ranks - 1) % shape.ranks});
    }
    share = random.uniform(0.03, 0.25);
    bytes = 0.5 * share * step * mpi.bytes_per_s() / 2;
    write_every = 3 + random.below(38);
    write = step * log_uniform(0.1, 2, random);
    reduce_every = 1 + random.below(12);
    setup = plan.slice_s * random.uniform(1, 6);
  }

  Process rank(std::uint32_t r) {
    co_await mpi.begin(r, setup);
    for (std::uint32_t i = 1;; ++i) {
      co_await mpi.compute(r, mpi.noisy(r, step * (1 - share) * of_rank[r]));
      if (i % write_every == 0) {
        if (r == 0) {
          co_await mpi.compute(r, mpi.noisy(r, 0.05 * step));
          mpi.world.enter(0, kWrite);
          const double written = disk.carry(mpi.world.now(), write * mpi.chance(0).jitter(0.15), {0});
          co_await mpi.world.until(written);
        } else {
          mpi.carry(r, 0, 0.1 * bytes);
        }
      }
      for (const std::uint32_t n : ring[r]) mpi.isend(r, n, bytes);
      co_await mpi.waitall(r, &ring[r]);
      if (i % reduce_every == 0) co_await mpi.collective(r, 64);
    }
  }

  Plan plan;
  Mpi mpi;
  Wire disk;  // in seconds of writing
  double step, share, bytes, write, setup;
  std::uint32_t write_every, reduce_every;
  std::vector<double> of_rank;
  std::vector<std::vector<std::uint32_t>> ring;
};

}  // namespace

Recording record_unequal(std::string_view kind, std::uint64_t seed, bool acts) {
  Random random(seed * 31 + 7);
  Ranges ranges{0.1, 1};
  if (kind == "slow_disk") ranges.least_slices = 4, ranges.least_factor = 1.5, ranges.most_factor = 8;
  Plan drawn = plan(kind, ranges, acts, random);
  Unequal u(some_machines(256, random), drawn, random);
  const Machines& shape = u.mpi.shape;
  const auto at = places(drawn, 1u << 20, random);
  for (std::size_t i = 0; i < u.plan.faults.size(); ++i) {
    Fault& f = u.plan.faults[i];
    if (kind == "slow_disk") {
      f.leaves = {0};
      u.disk.slow(&f);
      continue;
    }
    const std::uint32_t r = 1 + at[i] % (shape.ranks - 1);
    f.leaves = kind == "slow_rank" ? std::set{r} : shape.on(shape.machine(r));
    u.mpi.slow_cores(&f);
  }
  for (std::uint32_t r = 0; r < shape.ranks; ++r) u.mpi.world.start(u.rank(r));
  u.mpi.world.run();
  return recording_of(u.mpi, u.plan);
}

}  // namespace margay::bench
