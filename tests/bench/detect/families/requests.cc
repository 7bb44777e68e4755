// Requests: a graph of services that call each other, as shops and ticket offices are built. A request comes
// in at the gateway; every service takes it with a free lane (a thread of its pool), works on its cores, asks
// a database, calls others one after the other and waits for them (wait_remote), and works again.
//
// Ranges: 6 to 25 services of 1 to 12 lanes and 1 to 4 cores; slices of 1 to 5 s; a service works 2 to 200 ms
// on a request (log-normal, coefficient of variation 0.3 to 1); 1 to 4 databases, used by 60 % of the
// services; calls within 0.2 to 2 ms. Arrivals are open: Poisson, with a drift of 10 to 40 % over 100 to 800
// slices (the day), and bursts of 1.5 to 2.5 times as many for 2 to 10 slices now and then in one of two
// cases. The busiest service uses 10 to 45 % of its cores. Beyond a limit requests are turned away. Requests
// take one of two to five ways through the graph.
//
// Faults: cpu_contention: the cores of a service are shared with others and 1.5 to 5 times slower;
// slow_database: one database is 2 to 10 times slower, for all that use it; retry_storm: cpu_contention of a
// service whose callers lose patience, and ask again up to twice while the first call goes on. The truth is
// what was put upon the service, not who waits for it.
#include <memory>
#include <numeric>

#include "plan.h"

namespace margay::bench {
namespace {

enum ServiceState : std::uint16_t { kIdle, kSelf, kRemote, kDatabase };

struct Service {
  std::uint32_t first = 0, lanes = 1;  // leaves
  double work = 0, query = 0;          // s of a request
  int database = -1;
  std::vector<std::pair<std::uint32_t, double>> calls;  // whom, on how many ways of all
  std::unique_ptr<Shared> cores;
  std::unique_ptr<Slots> threads;
  std::set<std::uint32_t> free;  // lanes
};

struct Requests {
  Requests(Plan p, bool impatient, Random& random)
      : plan(std::move(p)),
        arrivals(random.below(1u << 30)),
        sizes(random.below(1u << 30)),
        patience(impatient) {
    cv = random.uniform(0.3, 1);
    hop = log_uniform(0.2e-3, 2e-3, random);
    ways = 2 + random.below(4);
    const std::uint32_t count = 6 + random.below(20), stores = 1 + random.below(4);
    services.resize(count);
    for (std::uint32_t s = 0; s < count; ++s) {
      services[s].work = log_uniform(2e-3, 0.2, random);
      if (s > 0 && random.chance(0.6)) {
        services[s].database = static_cast<int>(random.below(stores));
        services[s].query = log_uniform(2e-3, 0.1, random);
      }
      // Each is called by one before it, at least.
      if (s > 0) services[random.below(std::min(s, 1 + s / 2))].calls.push_back({s, way(random)});
    }
    for (std::uint32_t s = 1; s + 2 < count; ++s)
      if (random.chance(0.3)) services[s].calls.push_back({s + 1 + random.below(count - s - 1), way(random)});
    size_of(random);
    burst = random.chance(0.5);
    day = plan.slice_s * random.uniform(100, 800);
    drift = random.uniform(0.1, 0.4);
    shift = random.uniform(0, 6.28);
    build(stores, random);
  }

  // A call is made on so many of the ways.
  double way(Random& random) const { return (1.0 + random.below(ways)) / ways; }

  // How often each is called, how long each is held, and so how many requests can come, and how many lanes
  // are needed.
  void size_of(Random& random) {
    const std::size_t n = services.size();
    std::vector<double> visits(n), held(n);
    visits[0] = 1;
    for (std::size_t s = 0; s < n; ++s)
      for (const auto& [to, often] : services[s].calls) visits[to] += visits[s] * often;
    for (std::size_t s = n; s-- > 0;) {
      held[s] = services[s].work + services[s].query;
      for (const auto& [to, often] : services[s].calls) held[s] += often * (held[to] + 2 * hop);
    }
    double busiest = 0;
    std::vector<double> cores(n);
    for (std::size_t s = 0; s < n; ++s) {
      cores[s] = 1 + random.below(4);
      busiest = std::max(busiest, visits[s] * services[s].work / cores[s]);
    }
    const double all = std::accumulate(visits.begin(), visits.end(), 0.0);
    rate = std::min(random.uniform(0.1, 0.45) / busiest, kMostVisits / (all * plan.end_s));
    limit = 8 + static_cast<std::size_t>(6 * rate * held[0]);
    std::uint32_t leaf = 0;
    for (std::size_t s = 0; s < n; ++s) {
      Service& of = services[s];
      of.first = leaf;
      of.lanes = static_cast<std::uint32_t>(std::clamp(1 + rate * visits[s] * held[s] / 0.4, 1.0, 12.0));
      leaf += of.lanes;
      capacity.push_back(cores[s]);
    }
    leaves = leaf;
  }

  void build(std::uint32_t stores, Random& random) {
    world = std::make_unique<World>(leaves, plan.end_s);
    for (std::size_t s = 0; s < services.size(); ++s) {
      Service& of = services[s];
      of.cores = std::make_unique<Shared>(world.get(), capacity[s], 1);
      of.threads = std::make_unique<Slots>(world.get(), of.lanes);
      for (std::uint32_t l = of.first; l < of.first + of.lanes; ++l)
        of.free.insert(l), world->enter(l, kIdle);
    }
    for (std::uint32_t d = 0; d < stores; ++d)
      databases.push_back(std::make_unique<Shared>(world.get(), 2 + random.below(7), 1));
  }

  Process serve(std::uint32_t s, std::uint32_t kind) {
    Service& of = services[s];
    co_await of.threads->acquire();
    const std::uint32_t lane = *of.free.begin();
    of.free.erase(of.free.begin());
    world->enter(lane, kSelf);
    const double size = sizes.jitter(cv);
    co_await of.cores->use(lane, 0.7 * of.work * size);
    if (of.database >= 0) {
      world->enter(lane, kDatabase);
      co_await databases[static_cast<std::size_t>(of.database)]->use(lane, of.query * sizes.jitter(cv));
      world->enter(lane, kSelf);
    }
    for (std::size_t c = 0; c < of.calls.size(); ++c) {
      if (kind >= of.calls[c].second * ways) continue;
      world->enter(lane, kRemote);
      co_await call(of.calls[c].first, kind);
      world->enter(lane, kSelf);
    }
    co_await of.cores->use(lane, 0.3 * of.work * size);
    world->enter(lane, kIdle);
    of.free.insert(lane);
    of.threads->release();
  }

  Process call(std::uint32_t to, std::uint32_t kind) {
    co_await world->sleep(hop);
    if (!patience) {
      co_await serve(to, kind);
    } else {
      for (int ask = 0; ask < 3; ++ask) {
        const auto answer = std::make_shared<Mailbox>(world.get());
        world->start(asked(to, kind, answer));
        // The last time it waits for as long as it takes.
        if (ask < 2) world->start(alarm(patient(to), answer));
        if (co_await answer->take() == 1) break;
      }
    }
    co_await world->sleep(hop);
  }
  Process asked(std::uint32_t to, std::uint32_t kind, std::shared_ptr<Mailbox> answer) {
    co_await serve(to, kind);
    answer->put(1);
  }
  Process alarm(double seconds, std::shared_ptr<Mailbox> answer) {
    co_await world->sleep(seconds);
    answer->put(0);
  }
  // For how long a caller waits: many times what it takes, with all that it calls.
  double patient(std::uint32_t s) const {
    const Service& of = services[s];
    double sum = 6 * (of.work + of.query);
    for (const auto& [to, often] : of.calls) sum += patient(to);
    return sum;
  }

  Process request(std::uint32_t kind) {
    ++in_flight;
    co_await serve(0, kind);
    --in_flight;
  }
  Process clients() {
    double bursts = arrivals.exponential(40 * plan.slice_s), calm = bursts;
    double more = 1;
    for (;;) {
      const double t = world->now();
      if (burst && t > bursts) {
        calm = t + plan.slice_s * arrivals.uniform(2, 10);
        bursts = calm + arrivals.exponential(60 * plan.slice_s);
        more = arrivals.uniform(1.5, 2.5);
      }
      if (t > calm) more = 1;
      const double now = rate * more * (1 + drift * std::sin(6.2832 * t / day + shift));
      co_await world->sleep(arrivals.exponential(1 / now));
      const std::uint32_t kind = arrivals.below(ways);
      if (in_flight < limit) world->start(request(kind));
    }
  }

  std::set<std::uint32_t> lanes_of(const Service& s) const {
    std::set<std::uint32_t> out;
    for (std::uint32_t l = s.first; l < s.first + s.lanes; ++l) out.insert(l);
    return out;
  }

  static constexpr double kMostVisits = 120e3;
  Plan plan;
  Random arrivals, sizes;
  bool patience, burst = false;
  double cv, hop, rate = 0, day, drift, shift;
  std::uint32_t ways, leaves = 0;
  std::size_t limit = 0, in_flight = 0;
  std::vector<double> capacity;
  std::unique_ptr<World> world;
  std::vector<Service> services;
  std::vector<std::unique_ptr<Shared>> databases;
};

}  // namespace

Recording record_requests(std::string_view kind, std::uint64_t seed, bool acts) {
  Random random(seed * 31 + 9);
  Ranges ranges{1, 5};
  ranges.least_slices = 4, ranges.least_factor = 1.5;
  if (kind == "slow_database") ranges.least_factor = 2, ranges.most_factor = 10;
  Plan drawn = plan(kind, ranges, acts, random);
  const bool impatient = random.chance(0.25);
  Requests r(drawn, kind == "retry_storm" || (kind == "clean" && impatient), random);
  const auto at = places(drawn, 1u << 20, random);
  for (std::size_t i = 0; i < r.plan.faults.size(); ++i) {
    Fault& f = r.plan.faults[i];
    const std::size_t d = at[i] % r.databases.size();
    for (std::size_t s = 0; s < r.services.size(); ++s) {
      const Service& of = r.services[s];
      if (kind == "slow_database" ? of.database == static_cast<int>(d)
                                  : s == 1 + at[i] % (r.services.size() - 1)) {
        f.leaves.merge(r.lanes_of(of));
        f.deviation = 0.2 + r.cv;
        if (kind != "slow_database") of.cores->slow(&f);
      }
    }
    if (kind == "slow_database") r.databases[d]->slow(&f);
  }
  r.world->start(r.clients());
  r.world->run();
  only_hurt(r.plan);
  Recording out;
  out.slice_s = r.plan.slice_s, out.end_s = r.plan.end_s;
  out.levels = {"application", "service", "lane"};
  for (std::size_t s = 0; s < r.services.size(); ++s)
    for (std::uint32_t l = 0; l < r.services[s].lanes; ++l)
      out.paths.push_back("/shop/service" + std::to_string(s) + "/lane" + std::to_string(l));
  out.states = {"idle", "self", "wait_remote", "db"};
  out.idle_states = {"idle"};
  out.changes = r.world->changes();
  out.faults = r.plan.faults;
  return out;
}

}  // namespace margay::bench
