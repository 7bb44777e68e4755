// detect_bench cases [FIRST LAST [GROUP]]   made-up cases of these seeds: F1, delay, localisation, false
// alarms detect_bench quiet RANKS SLICES KNOB      a quiet job of 1 s slices: false alarms a day, beside the
// knob detect_bench cost LEAVES WINDOW [SLICES]  of a slice: looking for departures beside the partition
// update
//
// The rules of a hit: the alert's [onset, end] overlaps the true interval widened by two slices, and it began
// to fire no earlier than two slices before it. Several alerts on one truth count once; an alert on no truth
// is a false alarm. Stalls are free, and count on a hung rank.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "cases.h"
#include "departures.h"
#include "margay/detect/detector.h"

namespace {

using namespace margay;
using bench::Case;
using bench::Truth;

bool verbose = false;

struct Score {
  int truths = 0, hits = 0, false_alarms = 0, cases = 0;
  double slices = 0, hours = 0;
  std::vector<double> delay, jaccard;
  void add(const Score& o) {
    truths += o.truths, hits += o.hits, false_alarms += o.false_alarms, cases += o.cases;
    slices += o.slices, hours += o.hours;
    delay.insert(delay.end(), o.delay.begin(), o.delay.end());
    jaccard.insert(jaccard.end(), o.jaccard.begin(), o.jaccard.end());
  }
  void print(const char* name) const {
    auto sorted = delay;
    std::sort(sorted.begin(), sorted.end());
    double mean = 0;
    for (const double j : jaccard) mean += j / static_cast<double>(jaccard.size());
    std::printf(
        "%-30s %4d cases %4d truths %4d hit %4d false  F1 %5.3f  delay %4.1f  Jaccard %5.3f  %5.2f/1000\n",
        name, cases, truths, hits, false_alarms, 2.0 * hits / std::max(1, hits + truths + false_alarms),
        sorted.empty() ? 0 : sorted[sorted.size() / 2], mean, 1000 * false_alarms / std::max(1.0, slices));
  }
};

std::vector<alert::Alert> alerts_of(const Case& c) {
  detect::DetectorOptions o;
  o.run = "r";
  o.window.slice = DurationNs(static_cast<std::int64_t>(c.slice_s * 1e9 + 0.5));
  o.window.slices = 64;
  o.idle_states = c.idle_states;
  detect::Detector d(o);
  d.set_topology(c.topology);
  std::map<std::string, alert::Alert> last;
  std::vector<std::string> order;
  const auto take = [&](const std::vector<alert::Alert>& alerts) {
    for (const auto& a : alerts) {
      const auto known = last.find(a.id);
      const TimeNs first = known == last.end() ? a.detected : std::min(a.detected, known->second.detected);
      if (known == last.end()) order.push_back(a.id);
      last[a.id] = a;
      last[a.id].detected = first;
    }
  };
  TimeNs end{};
  for (const auto& column : c.slices) {
    end = slice_end(column.index, o.window.slice);
    take(d.on_slice(column, end));
  }
  take(d.finish(end, end));
  std::vector<alert::Alert> out;
  for (const auto& id : order) out.push_back(last[id]);
  return out;
}

Score score(const Case& c, const std::vector<alert::Alert>& alerts) {
  Score s;
  s.cases = 1;
  s.truths = static_cast<int>(c.truths.size());
  s.slices = static_cast<double>(c.slices.size());
  std::map<std::string, std::uint32_t> leaf_of;
  for (std::uint32_t l = 0; l < c.topology->hierarchy.leaf_count(); ++l)
    leaf_of[c.topology->hierarchy.path_of(LeafIndex(l))] = l;
  std::vector<std::vector<const alert::Alert*>> on(c.truths.size());
  for (const auto& a : alerts) {
    const bool stall = a.kind == alert::Kind::kStall;
    if (a.kind != alert::Kind::kPerturbation && !stall) continue;
    const double onset = static_cast<double>(a.onset.value) * 1e-9,
                 at = static_cast<double>(a.detected.value) * 1e-9,
                 end = static_cast<double>(a.end->value) * 1e-9;
    bool hit = false;
    for (std::size_t i = 0; i < c.truths.size(); ++i) {
      const Truth& t = c.truths[i];
      const double w = 2 * c.slice_s;
      if ((stall && t.fault != "hung") || onset > t.end_s + w || end < t.begin_s - w || at < t.begin_s - w)
        continue;
      on[i].push_back(&a);
      hit = true;
    }
    if (!hit && !stall) ++s.false_alarms;
    if (verbose)
      std::printf("    %s %s seed %lu: %.1f-%.1f (slice %.1f), %zu leaves: %s\n",
                  hit     ? "hit  "
                  : stall ? "free"
                          : "FALSE",
                  c.group.c_str(), c.seed, onset / c.slice_s, end / c.slice_s, at / c.slice_s,
                  a.resources.size(), a.message.c_str());
  }
  for (std::size_t i = 0; i < c.truths.size(); ++i) {
    const Truth& t = c.truths[i];
    if (on[i].empty()) {
      if (verbose)
        std::printf("    MISS  %s seed %lu: %.1f-%.1f, %zu leaves\n", c.group.c_str(), c.seed,
                    t.begin_s / c.slice_s, t.end_s / c.slice_s, t.leaves.size());
      continue;
    }
    ++s.hits;
    double first = 1e300;
    std::set<std::uint32_t> blamed;
    for (const auto* a : on[i]) {
      first = std::min(first, static_cast<double>(a->detected.value) * 1e-9);
      for (const auto& r : a->resources) blamed.insert(leaf_of[r]);
    }
    std::size_t both = 0;
    for (const auto l : blamed) both += t.leaves.contains(l);
    s.delay.push_back((first - t.begin_s) / c.slice_s);
    s.jaccard.push_back(static_cast<double>(both) /
                        static_cast<double>(blamed.size() + t.leaves.size() - both));
    if (verbose)
      std::printf("    truth %s seed %lu: %.1f-%.1f, %zu leaves, delay %.1f, Jaccard %.2f\n", c.group.c_str(),
                  c.seed, t.begin_s / c.slice_s, t.end_s / c.slice_s, t.leaves.size(), s.delay.back(),
                  s.jaccard.back());
  }
  return s;
}

int cases(std::uint64_t first, std::uint64_t last, int only) {
  Score all;
  std::map<std::string, Score> by_job;
  for (std::size_t g = 0; g < bench::group_count(); ++g) {
    if (only >= 0 && static_cast<std::size_t>(only) != g) continue;
    Score group;
    std::string name;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
      const Case c = bench::make_case(g, seed);
      name = c.group;
      group.add(score(c, alerts_of(c)));
    }
    group.print(name.c_str());
    std::fflush(stdout);
    by_job[name.substr(0, name.find(' '))].add(group);
    all.add(group);
  }
  for (const auto& [name, s] : by_job) s.print(("[" + name + "]").c_str());
  all.print("all");
  return 0;
}

int quiet(std::uint32_t ranks, std::int64_t slices, double knob, std::uint64_t seed) {
  for (const bool coupled : {true, false}) {
    bench::QuietJob job(ranks, seed, coupled);
    detect::DetectorOptions o;
    o.run = "r";
    o.window.slice = seconds(1);
    o.window.slices = 16;
    o.false_alarms_per_day = knob;
    o.min_effect = 0.05;
    detect::Detector d(o);
    d.set_topology(job.topology());
    int alarms = 0;
    for (std::int64_t i = 0; i < slices; ++i) {
      const auto& column = job.next();
      for (const auto& a : d.on_slice(column, slice_end(column.index, o.window.slice)))
        alarms += a.status == alert::Status::kFiring && a.kind == alert::Kind::kPerturbation;
    }
    const double days = static_cast<double>(slices) / 86'400;
    std::printf("quiet, %u ranks, %s noise: %.2f days, %d false alarms, %.1f a day; knob %.0f\n", ranks,
                coupled ? "common" : "own", days, alarms, alarms / days, knob);
    std::fflush(stdout);
  }
  return 0;
}

// Of the same slices, one after the other: the window with its partitions, and looking for departures.
int cost(std::uint32_t leaves, std::size_t window, int slices) {
  using Clock = std::chrono::steady_clock;
  bench::QuietJob job(leaves, 1, true);
  detect::WindowOptions o;
  o.slice = seconds(1);
  o.slices = window;
  o.memory_budget_bytes = std::uint64_t{16} << 30;
  detect::Window w(o);
  detect::Departures::Options d;
  d.slice = o.slice;
  detect::Departures departures(d);
  w.set_topology(job.topology());
  departures.set_topology(job.topology());
  std::vector<double> push, look;
  const auto fill = static_cast<int>(window) + 16;
  for (int i = 0; i < fill + slices; ++i) {
    const auto& column = job.next();
    const auto begin = Clock::now();
    const auto ok = w.push(column);
    const auto optimum = w.spatiotemporal();  // what the push put off
    const auto cuts = w.temporal();
    const auto pushed = Clock::now();
    static_cast<void>(departures.on_slice(w, column, {}, detect::Departures::Look::kNormal));
    const auto looked = Clock::now();
    if (!ok || !optimum || !cuts) std::printf("no partition\n");
    if (i < fill) continue;
    push.push_back(std::chrono::duration<double, std::milli>(pushed - begin).count());
    look.push_back(std::chrono::duration<double, std::milli>(looked - pushed).count());
  }
  const auto middle = [](std::vector<double>& v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  const double a = middle(push), b = middle(look);
  std::printf(
      "%u leaves, 4 states, window of %zu: partition %.3f ms, departures %.3f ms (medians), %.0f %%\n",
      leaves, window, a, b, 100 * b / a);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[argc - 1], "-v") == 0) {
    verbose = true;
    --argc;
  }
  const auto number = [&](int i, long otherwise) { return argc > i ? std::atol(argv[i]) : otherwise; };
  const std::string what = argc > 1 ? argv[1] : "cases";
  if (what == "cases")
    return cases(static_cast<std::uint64_t>(number(2, 1)), static_cast<std::uint64_t>(number(3, 4)),
                 static_cast<int>(number(4, -1)));
  if (what == "quiet")
    return quiet(static_cast<std::uint32_t>(number(2, 64)), number(3, 86'400),
                 static_cast<double>(number(4, 1)), static_cast<std::uint64_t>(number(5, 1)));
  if (what == "cost")
    return cost(static_cast<std::uint32_t>(number(2, 64)), static_cast<std::size_t>(number(3, 256)),
                static_cast<int>(number(4, 50)));
  return 1;
}
