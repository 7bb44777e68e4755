// What looking for departures costs, beside the partition update of the same slices.
//
// The update is what the daemon's window does with a new slice: both engines take it and settle. Not counted
// are turning slices into shares, which detection needs as well, and walking down for the parts. CPU time of
// the thread, slice by slice one after the other, so that whatever else the machine does hits both.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "commands.h"
#include "departures.h"
#include "margay/detect/window.h"
#include "quiet_jobs.h"

namespace margay::bench {
namespace {

double now_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// MiB that are allocated.
double allocated() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd) / (1 << 20);
}

struct Engines {
  partition::Spatiotemporal spatiotemporal;
  partition::Temporal temporal;
  std::vector<double> v, w;
};

// As the daemon's window makes them, for just the states there are.
std::optional<Engines> make(const detect::Topology& topology, std::size_t states, std::size_t window) {
  std::vector<NodeIndex> parents;
  for (const auto& node : topology.hierarchy.nodes())
    parents.push_back(parents.empty() ? partition::kNoParent : node.parent);
  auto shape = partition::TreeShape::from_parents(parents);
  if (!shape) return std::nullopt;
  partition::Spatiotemporal::Options s;
  s.tree = std::move(*shape);
  s.states = states;
  s.window = window;
  s.p = {0.1};
  s.tables = partition::Spatiotemporal::Tables::kCompact;
  s.memory_budget_bytes = std::uint64_t{16} << 30;
  partition::Temporal::Options t;
  t.leaves = topology.hierarchy.leaf_count();
  t.states = states;
  t.window = window;
  t.p = {0.1};
  t.memory_budget_bytes = std::uint64_t{16} << 30;
  auto spatiotemporal = partition::Spatiotemporal::create(std::move(s));
  auto temporal = partition::Temporal::create(std::move(t));
  if (!spatiotemporal || !temporal) return std::nullopt;
  return Engines{std::move(*spatiotemporal), std::move(*temporal), {}, {}};
}

}  // namespace

int cost(std::uint32_t leaves, std::size_t window, int slices, const std::string& kind) {
  const QuietJob job(kind, leaves, 1);
  const detect::Topology& topology = *job.topology();
  const std::size_t states = topology.states.size() - (kCompute.value + 1u);
  auto engines = make(topology, states, window);
  if (!engines) {
    std::fprintf(stderr, "detect_bench: no engines\n");
    return 1;
  }
  detect::WindowOptions o;
  o.slice = seconds(1);
  o.slices = 2;  // what detection reads of it
  o.memory_budget_bytes = std::uint64_t{16} << 30;
  detect::Window read(o);
  read.set_topology(job.topology());
  std::set<std::uint16_t> idle;
  for (std::uint16_t s = 0; s < topology.states.size(); ++s)
    if (job.idle_states().contains(topology.states[s].name)) idle.insert(s);
  detect::Departures::Options d;
  d.slice = o.slice;
  double departures_mib = -allocated();
  detect::Departures departures(d);
  departures.set_topology(job.topology());
  departures_mib += allocated();
  std::vector<double> update, look, ratio;
  const auto fill = static_cast<int>(window) + 16;
  int i = 0;
  bool good = true;
  job.play(fill + slices, [&](const model::SliceColumn& column) {
    good = good && read.push(column);
    const auto order = topology.hierarchy.leaf_order();
    engines->v.assign(order.size() * states, 0.0);
    engines->w.assign(order.size(), 1.0);
    for (std::size_t k = 0; k < order.size(); ++k)
      for (std::size_t x = 0; x < states; ++x)
        engines->v[k * states + x] =
            static_cast<double>(column.duration_ns(order[k])[kCompute.value + 1 + x]) /
            static_cast<double>(o.slice.value);
    // After a gap of idle both would find cold caches; the order changes so that neither profits.
    double spent[2] = {0, 0};
    for (const int turn : {i % 2, 1 - i % 2}) {
      const double mib = allocated(), begin = now_ms();
      if (turn == 0) {
        good = good && engines->spatiotemporal.push({engines->v, engines->w}) &&
               engines->temporal.push({engines->v, engines->w});
        engines->spatiotemporal.settle();
        engines->temporal.settle();
      } else {
        static_cast<void>(departures.on_slice(read, column, idle, detect::Departures::Look::kNormal));
      }
      spent[turn] = now_ms() - begin;
      if (turn == 1) departures_mib += allocated() - mib;
    }
    if (i++ < fill) return;
    update.push_back(spent[0]);
    look.push_back(spent[1]);
    ratio.push_back(spent[1] / spent[0]);
  });
  if (!good) return 1;
  // The median ratio, and a 95 % interval of it from drawing slices with replacement.
  std::mt19937_64 engine(1);
  std::vector<double> medians;
  for (int draw = 0; draw < 1000; ++draw) {
    std::vector<double> some(ratio.size());
    for (double& x : some) x = ratio[engine() % ratio.size()];
    medians.push_back(median(std::move(some)));
  }
  std::sort(medians.begin(), medians.end());
  std::printf("| %u | %zu | %zu | %.3f ms | %.3f ms | %.1f %% (%.1f to %.1f) | %.1f MiB |\n", leaves, window,
              states, median(update), median(look), 100 * median(ratio), 100 * medians[25],
              100 * medians[974], departures_mib);
  return 0;
}

}  // namespace margay::bench
