// Training: data-parallel steps of a neural network on GPUs. Each rank has a loader beside it that reads
// samples from the storage of its host, decodes them and keeps some batches ready; a step takes a batch, goes
// forward and backward, reduces the gradients over all, and applies them. Now and then all validate, and rank
// 0 writes a checkpoint while the others wait.
//
// Ranges: 2 to 32 hosts of 4 or 8 GPUs, or 4 to 16 hosts of one; slices of 0.1 to 1 s; a step of 0.1 to 3
// slices (batches differ by 2 to 12 %); the reduction takes 2 to 30 % of it; 2 to 16 batches are kept ready;
// loaders are 1.2 to 3 times as fast as the GPUs need.
//
// Faults: straggler: a GPU is 1.3 to 3 times slower (another tenant, a bus that fell back); throttling: the
// GPUs of a host, or one of them, become warm after a fan has failed, over 4 to 20 slices, and their clock
// goes down in steps to 1/1.3 to 1/2.5, and up again when they have cooled; input_stall: the storage of a
// host is 3 to 20 times slower, or stops, so that its ranks wait for data once the batches are used up, until
// then nothing is to be seen.
#include "mpi.h"

namespace margay::bench {
namespace {

struct Training {
  Training(const Machines& shape, const Plan& p, Random& random)
      : plan(p), mpi(shape, p.end_s, p.slice_s, random) {
    step = plan.slice_s * log_uniform(std::max(0.1, least_step(shape, plan, 6)), 3, random);
    batch_noise = random.uniform(0.02, 0.12);
    const double reduction = random.uniform(0.02, 0.3);
    gradients = reduction * step / 2 * mpi.bytes_per_s();
    work = step * (1 - reduction);
    ready = 2 + random.below(15);
    const double spare = random.uniform(1.2, 3);
    // Half of what a loader does is reading, by two threads; so many bytes that the storage of a host is used
    // up if all loaders of it were that fast.
    read = decode = step / spare;
    for (std::uint32_t m = 0; m < shape.machines; ++m)
      storage.push_back(std::make_unique<Shared>(&mpi.world, shape.per_machine, 1));
    for (std::uint32_t r = 0; r < shape.ranks; ++r) {
      batches.emplace_back(&mpi.world);
      rooms.emplace_back(&mpi.world, ready);
      read_batches.emplace_back(&mpi.world);
      of_rank.push_back(random.jitter(0.01));
    }
    validate_every = random.chance(0.5) ? 30 + random.below(100) : 0;
    save_every = random.chance(0.5) ? 40 + random.below(160) : 0;
    save = plan.slice_s * random.uniform(0.5, 3);
    setup = plan.slice_s * random.uniform(2, 8);
  }

  Process reads(std::uint32_t r) {
    for (;;) {
      co_await rooms[r].acquire();
      co_await storage[mpi.shape.machine(r)]->use(r, read * mpi.chance(r).jitter(0.15));
      read_batches[r].put(0);
    }
  }
  Process decodes(std::uint32_t r) {
    for (;;) {
      co_await read_batches[r].take();
      co_await mpi.world.sleep(decode * mpi.chance(r).jitter(0.15));
      batches[r].put(0);
    }
  }

  Process rank(std::uint32_t r) {
    co_await mpi.begin(r, setup);
    for (std::uint32_t i = 1;; ++i) {
      const double asked = mpi.world.now();
      mpi.world.enter(r, kWaitData);
      co_await batches[r].take();
      rooms[r].release();
      waited(r, asked);
      const double size = work * of_rank[r] * mpi.chance(r).jitter(batch_noise);
      co_await mpi.busy(r, mpi.noisy(r, 0.32 * size), kForward);
      co_await mpi.busy(r, mpi.noisy(r, 0.63 * size), kBackward);
      co_await mpi.collective(r, gradients);
      co_await mpi.busy(r, mpi.noisy(r, 0.05 * size), kOptimizer);
      if (validate_every > 0 && i % validate_every == 0) {
        for (int v = 0; v < 8; ++v) co_await mpi.busy(r, mpi.noisy(r, 0.3 * work), kValidate);
        co_await mpi.collective(r, 64);
      }
      if (save_every > 0 && i % save_every == 0) {
        if (r == 0) co_await mpi.busy(r, mpi.noisy(r, save), kWrite);
        co_await mpi.collective(r, 64, kBarrier);
      }
    }
  }

  // A stall of the storage costs its ranks what they wait for data.
  void waited(std::uint32_t r, double since) {
    const double now = mpi.world.now();
    for (Fault* const f : stalls)
      if (f->acts && now - since > 0.02 * step && now > f->begin && since < f->end + step)
        f->hurt(r, since, now, now - since);
  }

  // The clock follows the temperature.
  void throttle(Fault& f, double warm_s) {
    const double tick = plan.slice_s / 2, deep = 1 - f.share(), until = f.end;
    double slower = 0;
    for (double t = f.begin; t < until || slower > 0.03; t += tick) {
      const double goal = t < until ? deep : 0;
      slower += (goal - slower) * (1 - std::exp(-tick / warm_s));
      const double share = 1 - std::round(slower * 100) / 100;
      f.end = t + tick;
      for (const std::uint32_t r : f.leaves) mpi.core(r).slow(&f, t, t + tick, share);
    }
  }

  Plan plan;
  Mpi mpi;
  double step, work, batch_noise, gradients, read, decode, save, setup;
  std::size_t ready;
  std::uint32_t validate_every, save_every;
  std::vector<std::unique_ptr<Shared>> storage;
  std::vector<double> of_rank;
  std::deque<Mailbox> batches, read_batches;
  std::deque<Slots> rooms;
  std::vector<Fault*> stalls;
};

Machines hosts(Random& random) {
  if (random.chance(0.2)) return machines_of(4 + random.below(13), 1, random);
  const std::uint32_t gpus = random.chance(0.5) ? 4 : 8;
  return machines_of(2u << random.below(5), gpus, random);
}

}  // namespace

Recording record_training(std::string_view kind, std::uint64_t seed, bool acts) {
  Random random(seed * 31 + 4);
  Ranges ranges{0.1, 1};
  if (kind == "straggler") ranges.most_factor = 3;
  if (kind == "throttling") ranges.most_factor = 2.5, ranges.least_slices = 8;
  if (kind == "input_stall")
    ranges.least_factor = 3, ranges.most_factor = 20, ranges.least_slices = 5, ranges.stops = 0.2;
  Plan drawn = plan(kind, ranges, acts, random);
  Training t(hosts(random), drawn, random);
  const Machines& shape = t.mpi.shape;
  const auto at = places(drawn, 1u << 20, random);
  const bool whole = random.chance(0.5);
  const double warm_s = t.plan.slice_s * random.uniform(2, 10);
  for (std::size_t i = 0; i < t.plan.faults.size(); ++i) {
    Fault& f = t.plan.faults[i];
    const std::uint32_t r = at[i] % shape.ranks, m = shape.machine(r);
    f.leaves = kind == "input_stall" || (kind == "throttling" && whole) ? shape.on(m) : std::set{r};
    if (kind == "straggler") t.mpi.slow_cores(&f);
    if (kind == "throttling") t.throttle(f, warm_s);
    if (kind == "input_stall") t.storage[m]->slow_untold(f), t.stalls.push_back(&f);
  }
  for (std::uint32_t r = 0; r < shape.ranks; ++r) {
    t.mpi.world.start(t.reads(r));
    t.mpi.world.start(t.decodes(r));
    t.mpi.world.start(t.rank(r));
  }
  t.mpi.world.run();
  return recording_of(t.mpi, t.plan);
}

}  // namespace margay::bench
