// Noise: a bulk-synchronous program (compute, exchange with all) on machines whose operating systems
// interrupt it. Every step is as long as the slowest core's, so that noise is amplified with the number of
// ranks.
//
// Ranges: 4 to 512 ranks on 2 or more machines; slices of 0.1 to 1 s; a step of 0.05 to 1.2 slices. On every
// core a daemon wakes every 0.5 to 5 s for 0.5 to 10 ms (log-normal, its tail is long); on every machine
// something runs every 20 to 120 s for 30 to 300 ms on one of its cores, at half of its speed (monitoring,
// log rotation).
//
// Faults: bursts of 2 to 40 ms in which a core is taken away, so many that what is computed takes 1.3 to 5
// times as long: noisy_rank: on one core; noisy_machine: on all cores of one machine (a daemon gone wild, a
// kernel thread); noisy_machines: on two to four that stand beside each other.
#include "mpi.h"

namespace margay::bench {
namespace {

struct Bulk {
  Bulk(const Machines& shape, const Plan& p, Random& random)
      : plan(p), mpi(shape, p.end_s, p.slice_s, random) {
    step = plan.slice_s * log_uniform(std::max(0.05, least_step(shape, plan, 2)), 1.2, random);
    share = random.uniform(0.02, 0.3);
    const double spread = random.uniform(0, 0.04);
    for (std::uint32_t r = 0; r < shape.ranks; ++r) of_rank.push_back(random.jitter(spread));
    barriers = random.chance(0.3);
    setup = plan.slice_s * random.uniform(1, 6);
    disturb(random);
  }

  // What is so on any machine.
  void disturb(Random& random) {
    const double wakes = log_uniform(0.5, 5, random), lasts = log_uniform(0.5e-3, 10e-3, random);
    const double runs = random.uniform(20, 120), takes = random.uniform(0.03, 0.3);
    for (std::uint32_t r = 0; r < mpi.ranks(); ++r)
      for (double t = random.exponential(wakes); t < plan.end_s; t += random.exponential(wakes)) {
        const double d = lasts * random.jitter(0.8);
        mpi.core(r).usually(t, t + d, 0);
        t += d;
      }
    for (std::uint32_t m = 0; m < mpi.shape.machines; ++m)
      for (double t = random.uniform(0, runs); t < plan.end_s; t += runs * random.jitter(0.02)) {
        const std::uint32_t r = m * mpi.shape.per_machine + random.below(mpi.shape.per_machine);
        mpi.core(r).usually(t, t + takes * random.jitter(0.3), 0.5);
      }
  }

  // Bursts that take so much of the core away as the fault's factor asks for.
  void burst(Fault& f, std::uint32_t r, double length, Random& random) {
    const double pause = length * f.share() / (1 - f.share());
    for (double t = f.begin + random.uniform(0, pause); t < f.end;) {
      const double d = std::min(length * random.jitter(0.5), f.end - t);
      mpi.core(r).slow(&f, t, t + d, 0);
      t += d + random.exponential(pause);
    }
  }

  Process rank(std::uint32_t r) {
    co_await mpi.begin(r, setup);
    for (std::uint32_t i = 1;; ++i) {
      co_await mpi.compute(r, mpi.noisy(r, step * (1 - share) * of_rank[r]));
      co_await mpi.collective(r, 0.5 * share * step * mpi.bytes_per_s());
      if (barriers && i % 10 == 0) {
        co_await mpi.compute(r, mpi.noisy(r, 0.2 * step));
        co_await mpi.collective(r, 0, kBarrier);
      }
    }
  }

  Plan plan;
  Mpi mpi;
  double step, share, setup;
  bool barriers;
  std::vector<double> of_rank;
};

}  // namespace

Recording record_noise(std::string_view kind, std::uint64_t seed, bool acts) {
  Random random(seed * 31 + 6);
  Plan drawn = plan(kind, {0.1, 1}, acts, random);
  Bulk b(some_machines(512, random), drawn, random);
  const Machines& shape = b.mpi.shape;
  const auto at = places(drawn, 1u << 20, random);
  const std::uint32_t several =
      kind == "noisy_machines" ? std::min(shape.machines / 2, 2 + random.below(3)) : 1;
  const double length = log_uniform(2e-3, 40e-3, random);
  for (std::size_t i = 0; i < b.plan.faults.size(); ++i) {
    Fault& f = b.plan.faults[i];
    if (kind == "noisy_rank") {
      f.leaves = {at[i] % shape.ranks};
    } else {
      const std::uint32_t first = at[i] % (shape.machines - several + 1);
      for (std::uint32_t m = first; m < first + several; ++m) f.leaves.merge(shape.on(m));
    }
    for (const std::uint32_t r : f.leaves) b.burst(f, r, length, random);
  }
  for (std::uint32_t r = 0; r < b.mpi.ranks(); ++r) b.mpi.world.start(b.rank(r));
  b.mpi.world.run();
  return recording_of(b.mpi, b.plan);
}

}  // namespace margay::bench
