// Queues: workers on several hosts take jobs from queues and work on them: fetch (from the broker), compute
// (on the cores of the host), io (on its disk), and for some kinds of jobs a lock in a database that one may
// hold at a time (lock: they wait for it; commit: they hold it).
//
// Ranges: 2 to 8 hosts of 2 to 16 workers; slices of 1 to 5 s; 2 to 5 kinds of jobs, each of 0.1 to 6 slices
// (log-normal, coefficient of variation 0.2 to 1), of which 10 to 60 % is io; workers take any kind, or in
// one of two cases each but one. Jobs come one by one (Poisson), and every 15 to 80 slices a batch of one
// kind, of 1 to 6 for each worker; workers are busy 25 to 65 % of the time without the batches. Every second
// kind commits for 0.5 to 5 % of its job.
//
// Faults: slow_host: the cores of a host are 1.5 to 5 times slower (steal of a virtual machine, a neighbour);
// slow_disk: its disk is 2 to 10 times slower, or stops; held_lock: somebody else holds the lock and does not
// let go (a transaction that was left open).
#include <memory>

#include "plan.h"

namespace margay::bench {
namespace {

enum WorkerState : std::uint16_t { kIdle, kFetch, kCompute, kIo, kLock, kCommit };

struct Kind {
  double compute, io, commit, cv, share;
};

struct Queues {
  Queues(const Plan& p, const Machines& s, Random& random)
      : plan(p), shape(s), world(s.ranks, p.end_s), lock(&world, 1), jobs(random.below(1u << 30)) {
    const std::uint32_t count = 2 + random.below(4);
    double mean = 0, shares = 0;
    for (std::uint32_t k = 0; k < count; ++k) {
      const double size = plan.slice_s * log_uniform(0.1, 6, random), io = random.uniform(0.1, 0.6);
      const double commit = k % 2 == 1 ? random.uniform(0.005, 0.05) : 0;
      kinds.push_back(
          {size * (1 - io), size * io, size * commit, random.uniform(0.2, 1), random.uniform(0.2, 1)});
      mean += size * kinds.back().share;
      shares += kinds.back().share;
      boxes.emplace_back(&world);
    }
    for (Kind& k : kinds) k.share /= shares;
    // One lock for all: it may not be what limits the whole.
    double commits = 0;
    for (const Kind& k : kinds) commits += k.share * k.commit;
    rate = random.uniform(0.25, 0.65) * shape.ranks / (mean / shares);
    const double most = std::min(0.4 / std::max(1e-9, commits), 60e3 / plan.end_s);
    rate = std::min(rate, most);
    own = random.chance(0.5);
    every = plan.slice_s * random.uniform(15, 80);
    batch = random.uniform(1, 6);
    for (std::uint32_t m = 0; m < shape.machines; ++m) {
      cores.push_back(std::make_unique<Shared>(&world, shape.per_machine * random.uniform(0.6, 1), 1));
      disks.push_back(std::make_unique<Shared>(&world, shape.per_machine * random.uniform(0.4, 0.8), 1));
    }
  }

  Process producer() {
    for (;;) {
      co_await world.sleep(jobs.exponential(1 / rate));
      double at = jobs.uniform();
      std::uint32_t k = 0;
      while (k + 1 < kinds.size() && at > kinds[k].share) at -= kinds[k++].share;
      put(k);
    }
  }
  Process batches() {
    for (;;) {
      co_await world.sleep(every * jobs.jitter(0.3));
      const std::uint32_t k = jobs.below(static_cast<std::uint32_t>(kinds.size()));
      for (double i = 0; i < batch * shape.ranks * jobs.uniform(0.7, 1.3); ++i) put(k);
    }
  }
  void put(std::uint32_t kind) {
    Mailbox& to = boxes[own ? kind : 0];
    if (to.size() < 20u * shape.ranks) to.put(kind);
  }

  Process worker(std::uint32_t w) {
    Random random(seed + w);
    const std::size_t from = own ? w % boxes.size() : 0;
    const std::uint32_t host = shape.machine(w);
    for (;;) {
      world.enter(w, kIdle);
      const Kind k = kinds[co_await boxes[from].take()];
      world.enter(w, kFetch);
      co_await world.sleep(0.003 * random.jitter(0.5));
      const double size = random.jitter(k.cv);
      world.enter(w, kIo);
      co_await disks[host]->use(w, 0.6 * k.io * size * random.jitter(0.1));
      world.enter(w, kCompute);
      co_await cores[host]->use(w, k.compute * size * random.jitter(0.1));
      world.enter(w, kIo);
      co_await disks[host]->use(w, 0.4 * k.io * size * random.jitter(0.1));
      if (k.commit <= 0) continue;
      world.enter(w, kLock);
      const double asked = world.now();
      co_await lock.acquire();
      for (Fault* const f : held)
        if (f->acts && asked < f->end && world.now() > f->begin)
          f->hurt(w, asked, world.now(), world.now() - asked);
      world.enter(w, kCommit);
      co_await world.sleep(k.commit * random.jitter(0.3));
      lock.release();
    }
  }

  // How much what is visited varies, of jobs of all kinds.
  double spread() const {
    double sum = 0, squares = 0, cv = 0;
    for (const Kind& k : kinds) {
      const double log = std::log(k.compute + k.io);
      sum += k.share * log, squares += k.share * log * log, cv += k.share * k.cv * k.cv;
    }
    return std::sqrt(squares - sum * sum + cv);
  }

  Process holds(Fault* f) {
    co_await world.until(f->begin);
    co_await lock.acquire();
    co_await world.until(f->end);
    lock.release();
  }

  Plan plan;
  Machines shape;
  World world;
  Slots lock;
  Random jobs;
  std::uint64_t seed = 0;
  std::vector<Kind> kinds;
  std::deque<Mailbox> boxes;
  double rate = 0, every = 0, batch = 0;
  bool own = false;
  std::vector<std::unique_ptr<Shared>> cores, disks;
  std::vector<Fault*> held;
};

}  // namespace

Recording record_queues(std::string_view kind, std::uint64_t seed, bool acts) {
  Random random(seed * 31 + 10);
  Ranges ranges{1, 5};
  ranges.least_slices = 4, ranges.least_factor = 1.5;
  if (kind == "slow_disk") ranges.least_factor = 2, ranges.most_factor = 10, ranges.stops = 0.2;
  if (kind == "held_lock") ranges.stops = 1, ranges.most_slices = 40;
  Plan drawn = plan(kind, ranges, acts, random);
  const std::uint32_t hosts = 2 + random.below(7);
  Machines shape = machines_of(hosts, 2 + random.below(15), random);
  Queues q(drawn, shape, random);
  q.seed = random.below(1u << 30);
  const auto at = places(drawn, 1u << 20, random);
  for (std::size_t i = 0; i < q.plan.faults.size(); ++i) {
    Fault& f = q.plan.faults[i];
    const std::uint32_t host = at[i] % hosts;
    f.leaves = shape.on(host);
    f.deviation = q.spread();
    if (kind == "slow_host") q.cores[host]->slow(&f);
    if (kind == "slow_disk") q.disks[host]->slow(&f);
    if (kind == "held_lock") {
      for (std::uint32_t w = 0; w < shape.ranks; ++w) f.leaves.insert(w);
      q.held.push_back(&f);
      if (acts) q.world.start(q.holds(&f));
    }
  }
  q.world.start(q.producer());
  q.world.start(q.batches());
  for (std::uint32_t w = 0; w < shape.ranks; ++w) q.world.start(q.worker(w));
  q.world.run();
  only_hurt(q.plan);
  Recording out;
  out.slice_s = q.plan.slice_s, out.end_s = q.plan.end_s;
  out.levels = {"cluster", "host", "worker"};
  for (std::uint32_t w = 0; w < shape.ranks; ++w)
    out.paths.push_back("/jobs/host" + std::to_string(shape.machine(w)) + "/worker" +
                        std::to_string(w % shape.per_machine));
  out.states = {"idle", "fetch", "compute", "io", "lock", "commit"};
  out.idle_states = {"idle"};
  out.changes = q.world.changes();
  out.faults = q.plan.faults;
  return out;
}

}  // namespace margay::bench
