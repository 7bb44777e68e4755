#include "cases.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

#include "chance.h"

namespace margay::bench {
namespace {

struct Visit {
  std::uint16_t state;  // of the case: the run's state is kFirst later
  double begin, end;
};

std::vector<model::SliceColumn> slices_of(const std::vector<std::vector<Visit>>& visits, double slice_s,
                                          double end_s, std::size_t states) {
  const auto count = static_cast<std::int64_t>(end_s / slice_s);
  const auto width = static_cast<std::int64_t>(std::llround(slice_s * 1e9));
  const auto leaves = static_cast<std::uint32_t>(visits.size());
  std::vector<model::SliceColumn> out;
  for (std::int64_t k = 0; k < count; ++k)
    out.emplace_back(LevelIndex(0), SliceIndex(k), leaves, static_cast<std::uint32_t>(kFirst + states));
  for (std::uint32_t l = 0; l < leaves; ++l) {
    const LeafIndex leaf(l);
    for (const Visit& v : visits[l]) {
      const auto begin = static_cast<std::int64_t>(v.begin * 1e9),
                 end = static_cast<std::int64_t>(v.end * 1e9);
      const std::size_t s = kFirst + v.state;
      for (std::int64_t k = std::max<std::int64_t>(0, begin / width); k < count && k * width < end; ++k) {
        model::SliceColumn& c = out[static_cast<std::size_t>(k)];
        const std::int64_t to = (k + 1) * width;
        c.duration_ns(leaf)[s] += std::min(end, to) - std::max(begin, k * width);
        auto& longest = c.longest_ns(leaf)[s];
        if (end <= to) {
          ++c.visits(leaf)[s];
          longest = std::max(longest, end - begin);
        }
        if (end > to) {
          longest = std::max(longest, to - begin);
          c.open(leaf) = {StateId(static_cast<std::uint16_t>(s)), TimeNs(begin)};
        }
      }
    }
    for (auto& c : out) {
      std::int64_t sum = 0;
      for (const auto d : c.duration_ns(leaf)) sum += d;
      if (sum < width) c.duration_ns(leaf)[kAbsent.value] += width - sum;
    }
  }
  return out;
}

// A rank does one thing after the other.
class Line {
 public:
  void spend(std::uint16_t state, double seconds) { until(state, now_ + std::max(0.0, seconds)); }
  void until(std::uint16_t state, double t) {
    if (t <= now_) return;
    visits.push_back({state, now_, t});
    now_ = t;
  }
  double now() const { return now_; }
  std::vector<Visit> visits;

 private:
  double now_ = 0;
};

// What a fault did, by the job's own account.
class Account {
 public:
  // The leaf was at something for `took` seconds, that would have been `usual`; chance alone varies it by
  // this deviation of the logarithm.
  void slowed(std::uint32_t leaf, double usual, double took, double deviation) {
    if (took <= usual || usual <= 0) return;
    const double far = std::log(took / usual) / deviation;
    add(leaf, took - usual, far * far);
  }
  void add(std::uint32_t leaf, double seconds, double squares) {
    extra_[leaf] += seconds;
    squares_ += squares;
  }
  void tell(double begin, double end, Truth& truth) const {
    for (const std::uint32_t l : truth.leaves) {
      const auto of = extra_.find(l);
      const double lost = of == extra_.end() ? 0 : std::min(1.0, of->second / (end - begin));
      truth.lost += lost / static_cast<double>(truth.leaves.size());
      truth.most_lost = std::max(truth.most_lost, lost);
    }
    truth.signal = std::sqrt(squares_);
  }

 private:
  std::map<std::uint32_t, double> extra_;  // seconds
  double squares_ = 0;
};

struct Fault {
  std::string kind;  // "" for none
  double begin = 0, end = 0, factor = 1;
  std::set<std::uint32_t> leaves;
  bool acts = true;  // false: all is drawn as if it did, and nobody is hurt
  bool hurts(std::uint32_t r) const { return acts && leaves.contains(r); }
  bool hits(std::uint32_t r, double t) const { return t >= begin && t < end && hurts(r); }
};

std::set<std::uint32_t> some_leaves(const Shape& shape, const std::string& kind, Random& random) {
  std::set<std::uint32_t> out;
  const std::uint32_t pick = random.below(shape.ranks);
  for (std::uint32_t r = 0; r < shape.ranks; ++r) {
    const bool cluster = kind == "slow_cluster" && shape.cluster(r) == shape.cluster(pick);
    const bool machine = (kind == "slow_machine" || kind == "slow_disk" || kind == "busy_machine") &&
                         shape.machine(r) == shape.machine(pick);
    if (cluster || machine || r == pick) out.insert(r);
  }
  if (kind == "contention") {  // of several machines, most of their ranks
    out.clear();
    const std::uint32_t first = random.below(shape.machines);
    for (std::uint32_t r = 0; r < shape.ranks; ++r) {
      const std::uint32_t m = (shape.machine(r) + shape.machines - first) % shape.machines;
      if ((m == 0 || (shape.machines > 4 && (m == 2 || m == 3))) && random.chance(0.85)) out.insert(r);
    }
  }
  return out;
}

Fault some_fault(const std::string& kind, const Shape& shape, double slice, double end, Random& random) {
  Fault f;
  f.kind = kind;
  if (kind.empty()) return f;
  f.leaves = some_leaves(shape, kind, random);
  f.begin = random.uniform(0.35, 0.6) * end;
  const double slices = kind == "contention" ? random.uniform(3, 12)
                        : kind == "stop"     ? random.uniform(2, 8)
                                             : random.uniform(8, 40);
  f.end = kind == "hung" ? end : f.begin + slices * slice;
  f.factor = kind == "slow_disk"    ? random.uniform(3, 8)
             : kind == "contention" ? random.uniform(2, 4)
             : kind == "stop"       ? 1
                                    : random.uniform(1.6, 4);
  return f;
}

struct Job {
  Shape shape;
  std::vector<std::string> states;
  std::vector<std::vector<Visit>> visits;
  std::set<std::string> idle;
  Account account;
};

// Iterations: compute, exchange with both neighbours, every so often a collective.
Job coupled(const Fault& fault, const std::string& trait, double slice, double end, Random& random,
            Shape shape) {
  Job job{shape, {"compute", "MPI_Sendrecv", "MPI_Allreduce", "MPI_Init", "write"}, {}, {}, {}};
  const std::uint32_t n = shape.ranks;
  std::vector<Line> lines(n);
  const double spread = trait == "differ" ? 0.25 : 0.05;
  std::vector<double> speed, speed_b;
  for (std::uint32_t r = 0; r < n; ++r) {
    speed.push_back(random.jitter(spread));
    speed_b.push_back(random.jitter(spread * 1.5));
    if (trait == "clusters" && shape.cluster(r) % 2 == 1) speed[r] *= 0.6;
  }
  std::vector<Slow> rank(n, Slow(random.uniform(0.01, 0.06), 4 * slice)),
      machine(shape.machines, Slow(random.uniform(0.01, 0.06), 8 * slice));
  const double step = slice * std::exp(random.uniform(std::log(0.08), std::log(0.8)));
  const double share = random.uniform(0.4, 0.8);
  const double phase_s = random.uniform(25, 45) * slice;
  const auto every = static_cast<std::uint64_t>(1 + random.below(4));
  const double cv = random.uniform(0.02, 0.1);
  const bool writes = fault.kind == "slow_disk" || random.chance(0.2);
  double checkpoint = trait == "rare" ? 40 * slice : 1e300;
  for (std::uint32_t r = 0; r < n; ++r) lines[r].spend(3, slice * random.uniform(0.5, 1.2));
  for (std::uint64_t i = 0;; ++i) {
    const double t = lines[0].now();
    if (t > end) break;
    const bool b = trait == "phases" && static_cast<std::int64_t>(t / phase_s) % 2 == 1;
    std::vector<double> ready(n), transfer(n);
    for (std::uint32_t r = 0; r < n; ++r) {
      double work = step * (b ? 0.35 * share : share) * (b ? speed_b : speed)[r] * random.jitter(cv) *
                    rank[r].at(t, random) * machine[shape.machine(r)].at(t, random);
      if (trait == "tails" && random.chance(0.003)) work *= 1 + 1 / std::sqrt(random.uniform(0.01, 1));
      if (trait == "shared") work += slice * preempted(random);
      if (trait == "drift" && r % 7 == 0) work *= 1 + 0.4 * t / end;
      if (trait == "single" && static_cast<std::int64_t>(t / (20 * slice)) % 3 == 2)
        work *= r == 0 ? 1.5 : 0.3;
      transfer[r] = step * (b ? 0.5 : 0.2) * random.jitter(0.1);
      const double began = lines[r].now();
      double left = work, at = began;
      // What lies inside the fault goes slower; a stop is time in which nothing goes on.
      const bool slow = fault.kind.starts_with("slow_") && fault.kind != "slow_disk";
      if (slow && fault.hurts(r)) {
        const double before = std::clamp(fault.begin - at, 0.0, left);
        at += before, left -= before;
        if (left > 0 && at < fault.end) {
          const double during = std::min(left, (fault.end - at) / fault.factor);
          at += during * fault.factor, left -= during;
        }
        at += left;
      } else {
        at += work;
      }
      if (fault.kind == "stop" && fault.hurts(r) && began < fault.end && at > fault.begin)
        at = fault.end + std::max(0.0, at - fault.begin);
      lines[r].until(0, at);
      job.account.slowed(r, work, at - began, cv);
      if (writes && i % 3 == 0) {
        const double usual = step * 0.15 * random.jitter(0.2);
        const double took = usual * (fault.kind == "slow_disk" && fault.hits(r, at) ? fault.factor : 1);
        lines[r].spend(4, took);
        job.account.slowed(r, usual, took, 0.2);
      }
      if (fault.kind == "contention" && fault.hits(r, at)) {
        job.account.slowed(r, transfer[r], transfer[r] * (1 + 3 * fault.factor), 0.1);
        transfer[r] *= 1 + 3 * fault.factor;
      }
      ready[r] = lines[r].now();
    }
    double all = 0;
    for (std::uint32_t r = 0; r < n; ++r) {
      const double both = std::max({ready[r], ready[(r + 1) % n], ready[(r + n - 1) % n]});
      // Who polls waits in many short visits, more or less of them.
      const double poll =
          trait == "polling" ? slice * std::exp(random.uniform(std::log(2e-3), std::log(0.1))) : 0;
      while (poll > 0 && lines[r].now() < both + transfer[r] - poll) {
        lines[r].spend(1, random.exponential(poll));
        lines[r].spend(0, slice * 2e-4);
      }
      lines[r].until(1, both + transfer[r]);
      all = std::max(all, lines[r].now());
    }
    if (t >= checkpoint) {
      const double size = slice * random.uniform(2, 5);
      for (std::uint32_t r = 0; r < n; ++r) {
        lines[r].spend(4, size * random.jitter(0.15));
        all = std::max(all, lines[r].now());
      }
      for (std::uint32_t r = 0; r < n; ++r) lines[r].until(2, all + slice * 0.001);
      checkpoint = t + 40 * slice;
    }
    if (i % every == 0)
      for (std::uint32_t r = 0; r < n; ++r) lines[r].until(2, all + step * 0.03 * random.jitter(0.1));
  }
  for (auto& l : lines) job.visits.push_back(std::move(l.visits));
  return job;
}

// Cycles of calls that do not wait for each other.
Job free_ranks(const Fault& fault, const std::string& trait, double slice, double end, Random& random,
               Shape shape) {
  Job job{shape, {"compute", "MPI_Init", "MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Allreduce"}, {}, {}, {}};
  const double cycle = slice * std::exp(random.uniform(std::log(0.1), std::log(0.7)));
  const double mix_a[] = {0.5, 0, 0.12, 0.13, 0.15, 0.1}, mix_b[] = {0.25, 0, 0.25, 0.1, 0.1, 0.3};
  std::vector<Slow> machine(shape.machines, Slow(random.uniform(0.02, 0.1), 6 * slice));
  std::vector<double> edges{0};
  while (edges.back() < end) edges.push_back(edges.back() + slice * random.uniform(25, 45));
  const double cv = random.uniform(0.1, trait == "tails" ? 0.9 : 0.4), own = random.uniform(0.02, 0.1);
  const auto play = [&](std::uint32_t r, const Fault& what, Random& chance) {
    Line line;
    Slow rank(own, 5 * slice), near = machine[shape.machine(r)];
    Random machines(chance.below(1) + 1000 * shape.machine(r) + 1);
    double tilt[6];
    for (double& x : tilt) x = trait == "differ" ? chance.jitter(0.3) : chance.jitter(0.03);
    line.spend(1, slice * chance.uniform(0.3, 1.5));
    while (line.now() < end) {
      const double t = line.now();
      const auto phase = std::upper_bound(edges.begin(), edges.end(), t) - edges.begin();
      const double* const mix = trait == "phases" && phase % 2 == 0 ? mix_b : mix_a;
      for (const std::uint16_t s : {0, 2, 3, 4, 5}) {
        double d = cycle * mix[s] * tilt[s] * chance.jitter(cv);
        if (s == 0) d *= rank.at(line.now(), chance) * near.at(line.now(), machines);
        if (trait == "drift" && s == 0 && r % 9 == 0) d *= 1 + 0.5 * t / end;
        const double usual = d;
        if (what.hits(r, line.now())) {
          if (what.kind == "contention" && (s == 2 || s == 4)) d *= what.factor;
          if (what.kind.starts_with("slow_") && s == 0) d *= what.factor;
          if (what.kind == "stop" && s == 0) d += what.end - line.now();
          if (what.kind == "hung" && s == 3) d = end + 1;
        }
        job.account.slowed(r, usual, d, cv);
        line.spend(s, d);
      }
    }
    job.visits[r] = std::move(line.visits);
  };
  job.visits.resize(shape.ranks);
  Fault strikes = fault;
  strikes.acts = true;
  for (std::uint32_t r = 0; r < shape.ranks; ++r) {
    // Who comes later draws what is left: so much as if the fault had acted.
    Random as_if = random;
    play(r, strikes, random);
    if (!fault.acts && fault.leaves.contains(r)) play(r, fault, as_if);
  }
  return job;
}

// Workers that take requests: each its own queue, or one for all. Idle is declared.
Job service(const Fault& fault, const std::string& trait, double slice, double end, Random& random,
            Shape shape) {
  Job job{shape, {"idle", "parse", "query", "render"}, {}, {"idle"}, {}};
  const double size = slice * std::exp(random.uniform(std::log(0.05), std::log(0.6)));
  const double load = random.uniform(0.25, 0.6);
  const bool shared = random.chance(0.5);
  Slow rate(trait == "surge" ? 0.5 : 0.15, 20 * slice);
  // Kinds of workers, every fourth alike.
  double kind_size[4] = {1, 1, 1, 1};
  std::uint32_t kind[4] = {0, 0, 0, 0};
  if (trait == "kinds")
    for (std::size_t k = 0; k < 4; ++k) kind_size[k] = random.uniform(0.2, 1.2), kind[k] = random.below(3);
  std::vector<Line> lines(shape.ranks);
  const double cv = trait == "tails" ? 1.0 : 0.5;
  const auto serve = [&](std::uint32_t r) {
    const double parts[] = {0, 0.2, 0.5, 0.3};
    const double of = size * random.jitter(cv) * kind_size[r % 4];
    double extra = 0, far = 0, squares = 0;
    for (std::uint16_t s = 1; s < 4; ++s) {
      double d = of * parts[(s + kind[r % 4]) % 3 + 1] * random.jitter(0.2);
      if (fault.hits(r, lines[r].now()) && (fault.kind != "slow_disk" ? s != 2 : s == 2)) {
        const double log = std::log(fault.factor);
        extra += d * (fault.factor - 1), far += log, squares += log * log;
        d *= fault.factor;
      }
      lines[r].spend(s, d);
    }
    // The size of the request is chance as well, and the same in all its parts.
    const double in_common = cv * cv / (0.2 * 0.2 + 3 * cv * cv);
    if (extra > 0) job.account.add(r, extra, (squares - in_common * far * far) / (0.2 * 0.2));
  };
  for (double t = 0; t < end;) {
    const double all = static_cast<double>(shape.ranks) * load / size;
    t += random.exponential(1 / (all * rate.at(t, random)));
    std::uint32_t r = random.below(shape.ranks);
    if (shared)
      for (int i = 0; i < 8; ++i) {
        const std::uint32_t other = random.below(shape.ranks);
        if (lines[other].now() < lines[r].now()) r = other;
      }
    lines[r].until(0, t);
    serve(r);
  }
  for (auto& l : lines) {
    l.until(0, end);
    job.visits.push_back(std::move(l.visits));
  }
  return job;
}

// A bag of tasks: read, compute, write; a barrier between levels of the workflow.
Job tasks(const Fault& fault, const std::string& trait, double slice, double end, Random& random,
          Shape shape) {
  Job job{shape, {"idle", "read", "compute", "write"}, {}, {"idle"}, {}};
  const double size = slice * std::exp(random.uniform(std::log(0.8), std::log(8.0)));
  std::vector<Line> lines(shape.ranks);
  const double cv = trait == "tails" ? 0.9 : 0.4;
  const double io = random.uniform(0.15, 0.3);
  double level = 0;
  double kinds[4];  // of tasks: one after the other in a level
  for (double& k : kinds) k = random.uniform(0.2, 1.5);
  while (level < end) {
    const auto count = static_cast<std::size_t>(shape.ranks * random.uniform(2, 8));
    using Free = std::pair<double, std::uint32_t>;
    std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
    for (std::uint32_t r = 0; r < shape.ranks; ++r) free.emplace(lines[r].now(), r);
    double last = level;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t r = free.top().second;
      free.pop();
      for (const std::uint16_t s : {1, 2, 3}) {
        double left = size * (s == 2 ? 1 - 2 * io : io) * random.jitter(cv) *
                      (trait == "kinds" ? kinds[i * 4 / count] : 1);
        const bool hit = fault.hurts(r) && (fault.kind == "slow_disk" ? s != 2 : s == 2);
        const double usual = left, began = lines[r].now();
        double at = began;
        if (hit) {
          const double before = std::clamp(fault.begin - at, 0.0, left);
          at += before, left -= before;
          const double during = std::clamp((fault.end - at) / fault.factor, 0.0, left);
          at += during * fault.factor, left -= during;
        }
        lines[r].until(s, at + left);
        if (hit) job.account.slowed(r, usual, at + left - began, cv);
      }
      last = std::max(last, lines[r].now());
      free.emplace(lines[r].now() + slice * 0.01, r);
      lines[r].spend(0, slice * 0.01);
    }
    level = last;
    // The next level begins when the last task of this one has ended, for most of the workflow.
    if (random.chance(0.5))
      for (auto& l : lines) l.until(0, level);
  }
  for (auto& l : lines) job.visits.push_back(std::move(l.visits));
  return job;
}

struct Group {
  const char* job;
  const char* fault;
  const char* trait;
};
constexpr Group kGroups[] = {
    {"coupled", "slow_rank", ""},
    {"coupled", "slow_machine", "differ"},
    {"coupled", "slow_cluster", ""},
    {"coupled", "slow_disk", ""},
    {"coupled", "stop", ""},
    {"coupled", "contention", ""},
    {"coupled", "slow_machine", "phases"},
    {"coupled", "", "phases"},
    {"coupled", "", "tails"},
    {"coupled", "", "drift"},
    {"coupled", "", "differ"},
    {"free", "slow_rank", ""},
    {"free", "contention", ""},
    {"free", "hung", ""},
    {"free", "slow_machine", "phases"},
    {"free", "stop", "differ"},
    {"free", "", "phases"},
    {"free", "", "tails"},
    {"free", "", "drift"},
    {"service", "busy_machine", ""},
    {"service", "busy_machine", "surge"},
    {"service", "slow_disk", ""},
    {"service", "", "surge"},
    {"service", "", "tails"},
    {"coupled", "slow_machine", "short"},
    {"coupled", "slow_machine", "few"},
    {"coupled", "slow_rank", "few"},
    {"coupled", "stop", "few"},
    {"coupled", "slow_machine", "ragged"},
    {"coupled", "", "short"},
    {"coupled", "", "few"},
    {"coupled", "", "single"},
    {"coupled", "", "ragged"},
    {"free", "slow_machine", "short"},
    {"free", "", "short"},
    {"free", "", "ragged"},
    {"service", "busy_machine", "kinds"},
    {"service", "slow_disk", "short"},
    {"service", "", "kinds"},
    {"service", "", "short"},
    {"tasks", "slow_disk", "kinds"},
    {"tasks", "", "kinds"},
    {"tasks", "slow_disk", ""},
    {"tasks", "busy_machine", ""},
    {"tasks", "", "tails"},
    {"coupled", "slow_machine", "rare"},
    {"coupled", "", "rare"},
    {"coupled", "slow_rank", "clusters"},
    {"coupled", "", "clusters"},
    {"coupled", "slow_rank", "clock"},
    {"coupled", "", "clock"},
    {"coupled", "slow_machine", "shared"},
    {"coupled", "", "shared"},
    {"coupled", "slow_machine", "polling"},
    {"coupled", "", "polling"},
};

}  // namespace

std::size_t group_count() {
  return std::size(kGroups);
}

Case make_case(std::size_t group, std::uint64_t seed, bool hurt) {
  const Group& g = kGroups[group];
  Random random(seed * 1000 + group);
  Case out;
  out.group = std::string(g.job) + " " + (*g.fault ? g.fault : "clean") + (*g.trait ? " " : "") + g.trait;
  out.seed = seed;
  constexpr double kSlices[] = {0.25, 0.3, 1};
  out.slice_s = kSlices[random.below(3)];
  const std::string trait = g.trait;
  const double end = out.slice_s * (trait == "short" ? random.uniform(35, 70) : random.uniform(120, 360));
  Shape shape;
  if (random.chance(0.3)) shape = {32, 4, 1};
  if (random.chance(0.2)) shape = {16, 4, 2};
  if (trait == "few") {
    shape = {4, 4, 1};
    if (random.chance(0.6)) shape = {8, 4, 1};
    if (random.chance(0.3)) shape = {8, 2, 1};
    if (random.chance(0.3)) shape = {12, 3, 1};
  }
  if (std::string(g.fault) == "slow_cluster" || trait == "clusters") shape = {64, 16, 4};
  Fault fault = some_fault(g.fault, shape, out.slice_s, end, random);
  fault.acts = hurt;
  const std::string job_kind = g.job;
  Job job = (job_kind == "coupled"   ? coupled
             : job_kind == "free"    ? free_ranks
             : job_kind == "service" ? service
                                     : tasks)(fault, g.trait, out.slice_s, end, random, shape);
  // Resources that begin later than the job, or end before it.
  if (trait == "ragged")
    for (auto& visits : job.visits) {
      const double join = random.uniform(0, 4) * out.slice_s,
                   leave = end - random.exponential(4) * out.slice_s;
      std::erase_if(visits, [&](const Visit& v) { return v.end < join || v.begin > leave; });
    }
  // Machines whose clocks are put right now and then: what is said twice is squeezed, what is left out grows.
  if (trait == "clock") {
    std::vector<Clock> clocks;
    for (std::uint32_t m = 0; m < shape.machines; ++m) clocks.emplace_back(random);
    for (std::uint32_t r = 0; r < shape.ranks; ++r) {
      double told = 0;
      for (Visit& v : job.visits[r]) {
        const double offset =
            clocks[shape.machine(r)].offset(v.end, 60 * out.slice_s, 0.01 * out.slice_s, random);
        v.begin = told;
        told = v.end = std::max(told, v.end + offset);
      }
    }
  }
  out.topology = topology_of(shape, job.states);
  out.idle_states = job.idle;
  out.slices = slices_of(job.visits, out.slice_s, end, job.states.size());
  if (!fault.kind.empty()) {
    Truth truth{fault.begin, std::min(fault.end, end), fault.leaves, fault.kind, fault.factor};
    job.account.tell(truth.begin_s, truth.end_s, truth);
    out.truths.push_back(std::move(truth));
  }
  return out;
}

}  // namespace margay::bench
