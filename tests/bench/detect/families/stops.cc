// Stops: a program of ranks in a ring that exchange with both neighbours, of which one stops altogether for a
// moment, goes on, and stops again when nobody expects it, as with memory errors that are put right by
// firmware, pages that are swapped in, or a virtual machine that is moved.
//
// Ranges: 4 to 128 ranks on 2 or more machines; slices of 0.1 to 1 s; a step of 0.05 to 0.8 slices, ranks
// differ by 1 to 5 %; 3 to 8 stops of 1.2 to 5 slices, 12 to 60 slices apart (log-uniform, so that no period
// is in it), the first after 30 or more, in one of six cases after 12 to 30. Of two programs one reduces
// every 1 to 8 steps; in the others only neighbours wait, and their neighbours, as far as the stop is long.
//
// Faults: one_rank: always the same; one_machine: each time any rank of one machine; any_rank: each time any.
#include "mpi.h"

namespace margay::bench {
namespace {

Plan stops(std::string_view kind, bool acts, Random& random) {
  Plan out = plan("clean", {0.1, 1}, acts, random);
  const double slices = out.end_s / out.slice_s;
  double at = random.chance(1.0 / 6) ? random.uniform(12, 30) : random.uniform(30, 60);
  const std::uint32_t most = 3 + random.below(6);
  if (kind == "clean") return out;
  while (out.faults.size() < most) {
    const double lasts = log_uniform(1.2, 5, random);
    if (at + lasts + 4 > slices) break;
    Fault& f = out.faults.emplace_back();
    f.kind = kind, f.acts = acts, f.factor = 0;
    f.begin = at * out.slice_s, f.end = (at + lasts) * out.slice_s;
    at += lasts + log_uniform(12, 60, random);
  }
  return out;
}

struct Ring {
  Ring(const Machines& shape, const Plan& p, Random& random)
      : plan(p), mpi(shape, p.end_s, p.slice_s, random) {
    step = plan.slice_s * log_uniform(std::max(0.05, least_step(shape, plan, 2.5)), 0.8, random);
    const double spread = random.uniform(0.01, 0.05);
    share = random.uniform(0.02, 0.25);
    bytes = 0.5 * share * step * mpi.bytes_per_s() / 2;
    for (std::uint32_t r = 0; r < shape.ranks; ++r) {
      of_rank.push_back(random.jitter(spread));
      ring.push_back({(r + 1) % shape.ranks, (r + shape.ranks - 1) % shape.ranks});
    }
    reduce_every = random.chance(0.5) ? 1 + random.below(8) : 0;
    setup = plan.slice_s * random.uniform(1, 6);
  }

  Process rank(std::uint32_t r) {
    co_await mpi.begin(r, setup);
    for (std::uint32_t i = 1;; ++i) {
      co_await mpi.compute(r, mpi.noisy(r, step * (1 - share) * of_rank[r]));
      for (const std::uint32_t n : ring[r]) mpi.isend(r, n, bytes);
      co_await mpi.waitall(r, &ring[r]);
      if (reduce_every > 0 && i % reduce_every == 0) {
        co_await mpi.compute(r, mpi.noisy(r, 0.02 * step));
        co_await mpi.collective(r, 64);
      }
    }
  }

  Plan plan;
  Mpi mpi;
  double step, share, bytes, setup;
  std::uint32_t reduce_every;
  std::vector<double> of_rank;
  std::vector<std::vector<std::uint32_t>> ring;
};

}  // namespace

Recording record_stops(std::string_view kind, std::uint64_t seed, bool acts) {
  Random random(seed * 31 + 8);
  const Plan drawn = stops(kind, acts, random);
  Ring g(some_machines(128, random), drawn, random);
  const Machines& shape = g.mpi.shape;
  const std::uint32_t one = random.below(shape.ranks), machine = shape.machine(one);
  for (Fault& f : g.plan.faults) {
    const std::uint32_t beside = machine * shape.per_machine + random.below(shape.per_machine);
    f.leaves = {kind == "one_rank" ? one : kind == "one_machine" ? beside : random.below(shape.ranks)};
    g.mpi.slow_cores(&f);
  }
  for (std::uint32_t r = 0; r < shape.ranks; ++r) g.mpi.world.start(g.rank(r));
  g.mpi.world.run();
  Recording out = recording_of(g.mpi, g.plan);
  stopped_in_a_call(out);
  return out;
}

}  // namespace margay::bench
