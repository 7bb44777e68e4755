// Wavefront: sweeps over a 2D grid of ranks, from one corner to the other and back, plane by plane, as the LU
// benchmark does: a rank receives from two sides, computes a block, sends to the two other sides; now and
// then the right-hand side is computed with a halo exchange, and a norm is reduced. Sends are blocking.
//
// Ranges: 4 to 512 ranks on 2 or more machines; slices of 0.1 to 1 s; 3 to 12 planes a sweep; a step (two
// sweeps and the right-hand side) of 0.3 to 3 slices; messages of 10 to 400 kB (beyond 64 kB the sender waits
// for the receiver; where machines are cut off, of 80 to 400 kB).
//
// Faults: blocked_rank: a rank stops altogether (swapped out, or stopped), for 2 to 20 slices; rupture: one
// to four neighbouring machines are cut off from the network (a switch that restarts), for 2 to 20 slices:
// their ranks wait in sends and receives, the others run on until they need them; slow_rank: its core.
#include "mpi.h"

namespace margay::bench {
namespace {

struct Wavefront {
  Wavefront(const Machines& shape, const Plan& p, bool cuts, Random& random)
      : plan(p), mpi(shape, p.end_s, p.slice_s, random) {
    columns = static_cast<std::uint32_t>(std::sqrt(shape.ranks) + 1e-9);
    while (shape.ranks % columns != 0) --columns;
    rows = shape.ranks / columns;
    planes = 3 + random.below(10);
    const double changes = 2 * planes * 5 + 6;
    step = plan.slice_s * log_uniform(std::max(0.3, least_step(shape, plan, changes)), 3.5, random);
    // The last rank begins when the first is at its plane rows + columns.
    block = 0.75 * step / (2 * (planes + rows + columns));
    rhs = 0.25 * step;
    // Who is cut off has to notice it in its sends as well.
    bytes = log_uniform(cuts ? 80e3 : 10e3, 400e3, random);
    const double spread = random.uniform(0.01, 0.05);
    for (std::uint32_t r = 0; r < shape.ranks; ++r) {
      of_rank.push_back(random.jitter(spread));
      sides.emplace_back();
      const std::uint32_t x = r % columns, y = r / columns;
      if (x > 0) sides[r].push_back(r - 1);
      if (x + 1 < columns) sides[r].push_back(r + 1);
      if (y > 0) sides[r].push_back(r - columns);
      if (y + 1 < rows) sides[r].push_back(r + columns);
    }
    reduce_every = 1 + random.below(8);
    setup = plan.slice_s * random.uniform(1, 6);
  }

  Process sweep(std::uint32_t r, bool back) {
    const std::uint32_t x = r % columns, y = r / columns;
    const std::uint32_t first_x = back ? columns - 1 : 0, first_y = back ? rows - 1 : 0;
    const std::uint32_t last_x = columns - 1 - first_x, last_y = rows - 1 - first_y;
    const std::uint32_t to_x = back ? r - 1 : r + 1, to_y = back ? r - columns : r + columns;
    const std::uint32_t from_x = back ? r + 1 : r - 1, from_y = back ? r + columns : r - columns;
    for (std::uint32_t k = 0; k < planes; ++k) {
      if (x != first_x) co_await mpi.recv(from_x, r);
      if (y != first_y) co_await mpi.recv(from_y, r);
      co_await mpi.compute(r, mpi.noisy(r, block * of_rank[r]));
      if (x != last_x) co_await mpi.send(r, to_x, bytes);
      if (y != last_y) co_await mpi.send(r, to_y, bytes);
    }
  }

  Process rank(std::uint32_t r) {
    co_await mpi.begin(r, setup);
    for (std::uint32_t i = 1;; ++i) {
      co_await mpi.compute(r, mpi.noisy(r, rhs * of_rank[r]));
      for (const std::uint32_t s : sides[r]) mpi.isend(r, s, bytes);
      co_await mpi.waitall(r, &sides[r]);
      co_await sweep(r, false);
      co_await sweep(r, true);
      if (i % reduce_every == 0) co_await mpi.collective(r, 40);
    }
  }

  Plan plan;
  Mpi mpi;
  std::uint32_t columns, rows, planes, reduce_every;
  double step, block, rhs, bytes, setup;
  std::vector<double> of_rank;
  std::vector<std::vector<std::uint32_t>> sides;
};

}  // namespace

Recording record_wavefront(std::string_view kind, std::uint64_t seed, bool acts) {
  Random random(seed * 31 + 2);
  Ranges ranges{0.1, 1};
  if (kind != "slow_rank") ranges.stops = 1, ranges.most_slices = 20;
  Plan drawn = plan(kind, ranges, acts, random);
  Wavefront w(some_machines(512, random), drawn, kind == "rupture", random);
  const Machines& shape = w.mpi.shape;
  const auto at = places(drawn, 1u << 20, random);
  const std::uint32_t cut = 1 + random.below(std::min(4u, std::max(1u, shape.machines / 3)));
  for (std::size_t i = 0; i < w.plan.faults.size(); ++i) {
    Fault& f = w.plan.faults[i];
    if (kind == "rupture") {
      const std::uint32_t first = at[i] % (shape.machines - cut + 1);
      for (std::uint32_t m = first; m < first + cut; ++m) {
        f.leaves.merge(shape.on(m));
        w.mpi.slow_card(m, &f);
      }
    } else {
      f.leaves = {at[i] % w.mpi.ranks()};
      w.mpi.slow_cores(&f);
    }
  }
  for (std::uint32_t r = 0; r < w.mpi.ranks(); ++r) w.mpi.world.start(w.rank(r));
  w.mpi.world.run();
  Recording out = recording_of(w.mpi, w.plan);
  stopped_in_a_call(out);
  return out;
}

}  // namespace margay::bench
