// Workflow: a graph of tasks, run again and again with gaps. Tasks are of kinds, level by level; a task waits
// for some of the level before it, then for a free container of any worker, brings in its input from a server
// (stage_in), computes, and writes its output to the disk of its worker and back to the server (stage_out).
//
// Ranges: 2 to 6 workers of 4 to 16 containers; slices of 10 to 30 s; 3 to 7 levels of 1 to 3 tasks for each
// container (the first and last of one to four tasks); a kind of task takes 0.3 to 12 slices, of which 5 to
// 40 % is staging; tasks of a kind differ (log-normal, coefficient of variation 0.1 to 1.2, drawn anew in
// each run by 5 to 20 %); gaps of 0.5 to 4 slices between runs; a task fails and is run again in 0 to 2 % of
// cases.
//
// Faults, of one worker: slow_disk: 2 to 10 times slower (a limit on its throughput); slow_cpu: 1.5 to 5
// times; slow_network: what it brings in comes 2 to 10 times slower. A slowed visit is hurt until it ends,
// which may be long after the fault.
#include <memory>

#include "plan.h"

namespace margay::bench {
namespace {

enum TaskState : std::uint16_t { kIdle, kStageIn, kCompute, kStageOut };

struct Level {
  std::uint32_t tasks, waits_for;  // so many of the level before
  double in, compute, out;         // s, of whoever has all to itself
  std::vector<double> sizes;       // of its tasks: the same in each run, but for what is drawn anew
};

struct Workflow {
  Workflow(const Plan& p, const Machines& s, std::uint64_t of, Random& random)
      : plan(p), shape(s), seed(of), world(s.ranks, p.end_s), ready(&world), again(&world) {
    const std::uint32_t depth = 3 + random.below(5);
    for (std::uint32_t l = 0; l < depth; ++l) {
      Level level;
      const bool narrow = l == 0 || l + 1 == depth;
      level.tasks =
          narrow ? 1 + random.below(4) : static_cast<std::uint32_t>(shape.ranks * random.uniform(1, 3));
      level.waits_for = random.chance(0.4) ? 1u << 20 : 1 + random.below(3);
      const double size = plan.slice_s * log_uniform(0.3, narrow ? 3 : 12, random),
                   io = random.uniform(0.05, 0.4);
      const double in = random.uniform(0.2, 0.8);
      level.in = size * io * in, level.out = size * io * (1 - in), level.compute = size * (1 - io);
      const double cv = random.uniform(0.1, 1.2);
      for (std::uint32_t i = 0; i < level.tasks; ++i) level.sizes.push_back(random.jitter(cv));
      levels.push_back(std::move(level));
    }
    anew = random.uniform(0.05, 0.2);
    fails = random.uniform(0, 0.02);
    gap = plan.slice_s * random.uniform(0.5, 4);
    for (std::uint32_t m = 0; m < shape.machines; ++m) {
      cores.push_back(std::make_unique<Shared>(&world, shape.per_machine * random.uniform(0.8, 1), 1));
      disks.push_back(std::make_unique<Shared>(&world, shape.per_machine * random.uniform(0.3, 0.8), 1));
      links.push_back(std::make_unique<Shared>(&world, shape.per_machine * random.uniform(0.3, 0.8), 1));
    }
  }

  // How much what is visited varies, of tasks of all kinds.
  double spread() const {
    double count = 0, sum = 0, squares = 0;
    for (const Level& l : levels)
      for (const double size : l.sizes) {
        const double log = std::log((l.in + l.compute + l.out) * size);
        ++count, sum += log, squares += log * log;
      }
    return std::sqrt(std::max(0.0, squares / count - sum * sum / count / count) + anew * anew);
  }

  struct Run {
    std::vector<std::vector<std::uint32_t>> missing;  // of each level and task: how many it still waits for
    std::uint32_t left = 0;
  };

  static std::uint64_t id(std::uint32_t level, std::uint32_t task) {
    return (std::uint64_t{level} << 32) | task;
  }

  Process manager() {
    for (;;) {
      run.missing.clear();
      run.left = 0;
      for (std::uint32_t l = 0; l < levels.size(); ++l) {
        const std::uint32_t needs = l == 0 ? 0 : std::min(levels[l].waits_for, levels[l - 1].tasks);
        run.missing.emplace_back(levels[l].tasks, needs);
        run.left += levels[l].tasks;
      }
      for (std::uint32_t i = 0; i < levels[0].tasks; ++i) ready.put(id(0, i));
      co_await again.take();
      co_await world.sleep(gap);
    }
  }

  // Task i of a level waits for tasks i, i + 1, ... of the level before, in a ring.
  void done(std::uint32_t level, std::uint32_t task) {
    if (--run.left == 0) again.put(0);
    if (level + 1 == levels.size()) return;
    const std::uint32_t before = levels[level].tasks, needs = std::min(levels[level + 1].waits_for, before);
    for (std::uint32_t i = 0; i < levels[level + 1].tasks; ++i)
      if ((task + before - i % before) % before < needs && --run.missing[level + 1][i] == 0)
        ready.put(id(level + 1, i));
  }

  Process container(std::uint32_t c) {
    Random random(seed * 1000 + c);
    const std::uint32_t worker = shape.machine(c);
    for (;;) {
      world.enter(c, kIdle);
      const std::uint64_t what = co_await ready.take();
      const auto l = static_cast<std::uint32_t>(what >> 32), task = static_cast<std::uint32_t>(what);
      const Level& level = levels[l];
      const double size = level.sizes[task] * random.jitter(anew);
      world.enter(c, kStageIn);
      co_await links[worker]->use(c, 0.7 * level.in * size);
      co_await disks[worker]->use(c, 0.3 * level.in * size);
      world.enter(c, kCompute);
      const bool failed = random.chance(fails);
      co_await cores[worker]->use(c, level.compute * size * (failed ? random.uniform(0.1, 0.9) : 1));
      if (failed) {
        ready.put(what);
        continue;
      }
      world.enter(c, kStageOut);
      co_await disks[worker]->use(c, 0.7 * level.out * size);
      co_await links[worker]->use(c, 0.3 * level.out * size);
      done(l, task);
      world.enter(c, kIdle);
      co_await world.sleep(0.3 * random.jitter(0.3));
    }
  }

  Plan plan;
  Machines shape;
  std::uint64_t seed;
  World world;
  Mailbox ready, again;
  std::vector<Level> levels;
  Run run;
  double anew, fails, gap;
  std::vector<std::unique_ptr<Shared>> cores, disks, links;
};

}  // namespace

Recording record_workflow(std::string_view kind, std::uint64_t seed, bool acts) {
  Random random(seed * 31 + 11);
  Ranges ranges{10, 30};
  ranges.least_slices = 6, ranges.least_factor = kind == "slow_cpu" ? 1.5 : 2;
  if (kind != "slow_cpu") ranges.most_factor = 10;
  Plan drawn = plan(kind, ranges, acts, random);
  const std::uint32_t workers = 2 + random.below(5), containers = 4 + random.below(13);
  Machines shape = machines_of(workers, containers, random);
  Workflow w(drawn, shape, random.below(1u << 30), random);
  const auto at = places(drawn, workers, random);
  for (std::size_t i = 0; i < w.plan.faults.size(); ++i) {
    Fault& f = w.plan.faults[i];
    f.leaves = shape.on(at[i]);
    f.deviation = w.spread();
    (kind == "slow_disk" ? w.disks : kind == "slow_cpu" ? w.cores : w.links)[at[i]]->slow(&f);
  }
  w.world.start(w.manager());
  for (std::uint32_t c = 0; c < shape.ranks; ++c) w.world.start(w.container(c));
  w.world.run();
  only_hurt(w.plan);
  Recording out;
  out.slice_s = w.plan.slice_s, out.end_s = w.plan.end_s;
  out.levels = {"platform", "worker", "container"};
  for (std::uint32_t c = 0; c < shape.ranks; ++c)
    out.paths.push_back("/flow/worker" + std::to_string(shape.machine(c)) + "/container" +
                        std::to_string(c % containers));
  out.states = {"idle", "stage_in", "compute", "stage_out"};
  out.idle_states = {"idle"};
  out.changes = w.world.changes();
  out.faults = w.plan.faults;
  return out;
}

}  // namespace margay::bench
