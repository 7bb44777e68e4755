// Farm: rank 0 deals out tasks, the others work on them and send back what came out, as parameter sweeps, ray
// tracers and docking programs do. Who is slow gets fewer tasks, nobody waits for it but at the end of a
// generation.
//
// Ranges: 4 to 256 ranks on 2 or more machines; slices of 0.1 to 1 s; a task of 0.1 to 4 slices, log-normal
// with a coefficient of variation of 0.1 to 1; requests of 1 kB, results of 10 kB to 4 MB; the master works
// 0.02 to 0.6 of the time. Of two programs one has generations: after 4 to 20 tasks for each worker the next
// ones are made when the last has come back.
//
// Faults: slow_worker: its core; slow_master: that of rank 0, for which then all wait; slow_machine: all
// cores of one that is not the master's.
#include "mpi.h"

namespace margay::bench {
namespace {

struct Farm {
  Farm(const Machines& shape, const Plan& p, Random& random)
      : plan(p), mpi(shape, p.end_s, p.slice_s, random), requests(&mpi.world) {
    const std::uint32_t workers = shape.ranks - 1;
    task = plan.slice_s * log_uniform(std::max(0.1, least_step(shape, plan, 7)), 4, random);
    cv = random.uniform(0.1, 1);
    bytes = log_uniform(10e3, 4e6, random);
    const double load = random.uniform(0.02, 0.6);
    handle = load * task / workers;
    for (std::uint32_t r = 0; r < shape.ranks; ++r) of_rank.push_back(random.jitter(0.03));
    generation = random.chance(0.5) ? workers * (4 + random.below(17)) : 0;
    setup = plan.slice_s * random.uniform(1, 6);
  }

  Process master() {
    co_await mpi.begin(0, setup);
    std::uint64_t dealt = 0, out = mpi.ranks() - 1;  // who still has to ask, or has a task
    std::vector<std::uint32_t> idle;
    for (;;) {
      mpi.world.enter(0, kRecv);
      const auto from = static_cast<std::uint32_t>(co_await requests.take());
      --out;
      idle.push_back(from);
      co_await mpi.compute(0, mpi.noisy(0, handle));
      const bool rests = generation > 0 && dealt == generation;
      if (rests && out > 0) continue;
      if (rests) {
        dealt = 0;
        co_await mpi.compute(0, mpi.noisy(0, 0.3 * task));
      }
      while (!idle.empty() && (generation == 0 || dealt < generation)) {
        co_await mpi.send(0, idle.back(), 1e3);
        idle.pop_back();
        ++dealt, ++out;
      }
    }
  }

  Process worker(std::uint32_t r) {
    co_await mpi.begin(r, setup);
    for (;;) {
      mpi.world.enter(r, kSend);
      const double there = mpi.carry(r, 0, bytes);
      requests.put(r, there);
      co_await mpi.world.until(there);
      co_await mpi.recv(0, r);
      co_await mpi.compute(r, mpi.noisy(r, task * of_rank[r] * mpi.chance(r).jitter(cv)));
    }
  }

  Plan plan;
  Mpi mpi;
  Mailbox requests;
  double task, cv, bytes, handle, setup;
  std::uint64_t generation;
  std::vector<double> of_rank;
};

}  // namespace

Recording record_farm(std::string_view kind, std::uint64_t seed, bool acts) {
  Random random(seed * 31 + 3);
  Plan drawn = plan(kind, {0.1, 1}, acts, random);
  Farm f(some_machines(256, random), drawn, random);
  const auto at = places(drawn, 1u << 20, random);
  for (std::size_t i = 0; i < f.plan.faults.size(); ++i) {
    Fault& fault = f.plan.faults[i];
    const std::uint32_t r = 1 + at[i] % (f.mpi.ranks() - 1);
    const std::uint32_t machine = 1 + at[i] % (f.mpi.shape.machines - 1);
    fault.leaves = kind == "slow_worker"   ? std::set{r}
                   : kind == "slow_master" ? std::set{0u}
                                           : f.mpi.shape.on(machine);
    // Master and workers have no step by which they could be compared: only how long tasks take.
    fault.deviation = kind == "slow_master" ? 0.05 : f.cv;
    f.mpi.slow_cores(&fault);
  }
  f.mpi.world.start(f.master());
  for (std::uint32_t r = 1; r < f.mpi.ranks(); ++r) f.mpi.world.start(f.worker(r));
  f.mpi.world.run();
  return recording_of(f.mpi, f.plan);
}

}  // namespace margay::bench
