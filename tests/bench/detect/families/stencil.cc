// Stencil: ranks on a 2D or 3D grid exchange halos with their neighbours each step and reduce a residual now
// and then, as solvers of heat, fluids or waves do.
//
// Ranges: 4 to 512 ranks on 2 or more machines; slices of 0.1 to 1 s; a step of 0.05 to 1.5 slices (as many
// as a run can have); 2 to 25 % of it are transfers between machines; ranks differ by 1 to 6 %; an allreduce
// every 1 to 10 steps; of two programs one has a longer step every 20 to 60 (output of norms, a new mesh).
//
// Faults: slow_link: what goes between two neighbouring machines goes so much slower that a step takes 1.3 to
// 5 times as long (a link that fell back to a lower speed, or that loses packets), of ten one is broken;
// slow_rank: its core (another process on it); slow_machine: all of its cores (DVFS, a power cap).
// Who is at both ends of a slow link cannot be told from who is at one.
#include "mpi.h"

namespace margay::bench {
namespace {

struct Stencil {
  Stencil(const Machines& shape, const Plan& p, Random& random)
      : plan(p), mpi(shape, p.end_s, p.slice_s, random) {
    dimensions = shape.ranks >= 8 && random.chance(0.5) ? 3 : 2;
    periodic = random.chance(0.5);
    lay_out();
    step = plan.slice_s * log_uniform(std::max(0.05, least_step(shape, plan, 2.5)), 1.5, random);
    const double share = random.uniform(0.02, 0.25);
    std::size_t most = 1;
    for (std::uint32_t r = 0; r < shape.ranks; ++r) {
      std::size_t outside = 0;
      for (const std::uint32_t n : neighbours[r]) outside += shape.machine(n) != shape.machine(r);
      most = std::max(most, outside);
    }
    bytes = share * step * mpi.bytes_per_s() / static_cast<double>(most * shape.per_machine);
    work = step * (1 - share);
    const double spread = random.uniform(0.01, 0.06);
    for (std::uint32_t r = 0; r < shape.ranks; ++r) of_rank.push_back(random.jitter(spread));
    reduce_every = 1 + random.below(10);
    long_every = random.chance(0.5) ? 20 + random.below(40) : 0;
    setup = plan.slice_s * random.uniform(1, 6);
  }

  void lay_out() {
    const std::uint32_t n = mpi.ranks();
    std::uint32_t size[3] = {1, 1, 1}, left = n;
    for (int d = 0; d < dimensions; ++d) {
      const double ideal = std::pow(left, 1.0 / (dimensions - d)) + 1e-9;
      size[d] = static_cast<std::uint32_t>(ideal);
      while (left % size[d] != 0) --size[d];
      left /= size[d];
    }
    size[dimensions - 1] *= left;
    neighbours.resize(n);
    const std::uint32_t stride[3] = {1, size[0], size[0] * size[1]};
    for (std::uint32_t r = 0; r < n; ++r)
      for (int d = 0; d < dimensions; ++d)
        for (const std::uint32_t by : {1u, size[d] - 1}) {
          const std::uint32_t at = r / stride[d] % size[d], to = (at + by) % size[d];
          const bool wraps = by == 1 ? to < at : to > at;
          if (size[d] > 1 && (periodic || !wraps))
            neighbours[r].push_back(r - at * stride[d] + to * stride[d]);
        }
  }

  Process rank(std::uint32_t r) {
    co_await mpi.begin(r, setup);
    for (std::uint32_t i = 1;; ++i) {
      const double longer = long_every > 0 && i % long_every == 0 ? 2.5 : 1;
      co_await mpi.compute(r, mpi.noisy(r, work * of_rank[r] * longer));
      for (const std::uint32_t n : neighbours[r]) mpi.isend(r, n, bytes);
      co_await mpi.waitall(r, &neighbours[r]);
      if (i % reduce_every == 0) {
        co_await mpi.compute(r, 0.01 * work);
        co_await mpi.collective(r, 64);
      }
    }
  }

  // Between two machines that exchange.
  void slow_link(Fault& f, std::uint32_t pick) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
    for (std::uint32_t r = 0; r < mpi.ranks(); ++r)
      for (const std::uint32_t n : neighbours[r]) {
        const std::pair of(mpi.shape.machine(r), mpi.shape.machine(n));
        if (of.first < of.second && std::find(links.begin(), links.end(), of) == links.end())
          links.push_back(of);
      }
    const auto [a, b] = links[pick % links.size()];
    std::set<std::uint32_t> ends[2];
    double over = 0;
    for (std::uint32_t r = 0; r < mpi.ranks(); ++r)
      for (const std::uint32_t n : neighbours[r])
        if (mpi.shape.machine(r) == a && mpi.shape.machine(n) == b) {
          over += bytes;
          ends[0].insert(r), ends[1].insert(n);
        }
    if (f.factor > 0) f.factor = 1 + (f.factor - 1) * step / (over / mpi.bytes_per_s());
    f.leaves = ends[0];
    f.leaves.insert(ends[1].begin(), ends[1].end());
    std::set<std::uint32_t> both = mpi.shape.on(a);
    both.merge(mpi.shape.on(b));
    f.alternatives = {ends[0], ends[1], mpi.shape.on(a), mpi.shape.on(b), both};
    mpi.slow_link(a, b, &f);
  }

  Plan plan;
  Mpi mpi;
  int dimensions;
  bool periodic;
  double step, work, bytes, setup;
  std::uint32_t reduce_every, long_every;
  std::vector<double> of_rank;
  std::vector<std::vector<std::uint32_t>> neighbours;
};

}  // namespace

Recording record_stencil(std::string_view kind, std::uint64_t seed, bool acts) {
  Random random(seed * 31 + 1);
  Ranges ranges{0.1, 1};
  if (kind == "slow_link") ranges.stops = 0.1;
  Plan drawn = plan(kind, ranges, acts, random);
  Stencil s(some_machines(512, random), drawn, random);
  const auto at = places(drawn, 1u << 20, random);
  for (std::size_t i = 0; i < s.plan.faults.size(); ++i) {
    Fault& f = s.plan.faults[i];
    if (kind == "slow_link") {
      s.slow_link(f, at[i]);
      continue;
    }
    const std::uint32_t r = at[i] % s.mpi.ranks();
    f.leaves = kind == "slow_rank" ? std::set{r} : s.mpi.shape.on(s.mpi.shape.machine(r));
    s.mpi.slow_cores(&f);
  }
  for (std::uint32_t r = 0; r < s.mpi.ranks(); ++r) s.mpi.world.start(s.rank(r));
  s.mpi.world.run();
  return recording_of(s.mpi, s.plan);
}

}  // namespace margay::bench
