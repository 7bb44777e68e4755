// What coarser levels are worth: weak perturbations that last, false alarms, cost.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>

#include "chance.h"
#include "commands.h"
#include "margay/detect/levels.h"
#include "quiet_jobs.h"
#include "score.h"

namespace margay::bench {
namespace {

constexpr double kDay = 86'400;
constexpr DurationNs kFinest = milliseconds(100);
const std::vector<DurationNs> kCoarser = {seconds(1), seconds(10), seconds(60)};

// What changes, and stays so for ten minutes: ranks, or all of a machine, compute for so much of the time
// longer.
struct Change {
  const char* name;
  std::uint32_t ranks;  // at most; 0: a machine
  double share;
};
constexpr Change kChanges[] = {
    {"a rank, 5 %", 1, 0.05}, {"1 to 3 ranks, 4 %", 3, 0.04}, {"a machine, 2 %", 0, 0.02}};
constexpr double kLasts = 600, kAfter = 600, kSoon = 120;  // s
// Quiet before: at least so many slices, and s.
constexpr double kQuietSlices = 3600, kQuiet = 1200;
constexpr std::uint32_t kRanks = 32, kMachine = 8;

struct Weak {
  Case c;  // without the slices
  QuietJob job;
};
Weak weak(const std::string& kind, const Change& change, std::uint64_t seed, DurationNs slice) {
  Weak out{{}, QuietJob(kind, kRanks, seed, slice)};
  Case& c = out.c;
  c.slice_s = static_cast<double>(slice.value) * 1e-9;
  Random random(seed + 1000);
  const double begin = std::max(kQuiet, kQuietSlices * c.slice_s) + random.uniform(0, 10);
  QuietJob::Slowed slowed{{}, begin, begin + kLasts + random.uniform(0, 10), change.share};
  for (std::uint32_t n = change.ranks > 0 ? 1 + random.below(change.ranks) : 0; n > 0; --n)
    slowed.ranks.insert(random.below(kRanks));
  const std::uint32_t machine = random.below(kRanks / kMachine) * kMachine;
  for (std::uint32_t r = 0; r < (change.ranks > 0 ? 0 : kMachine); ++r) slowed.ranks.insert(machine + r);
  out.job.slow(slowed);
  c.group = kind;
  c.seed = seed;
  c.topology = out.job.topology();
  c.idle_states = out.job.idle_states();
  c.truths = {{slowed.begin_s, slowed.end_s, slowed.ranks, "weak"}};
  c.slices.resize(static_cast<std::size_t>((slowed.end_s + kAfter) / c.slice_s));
  return out;
}

detect::DetectorOptions without_overview(detect::DetectorOptions o) {
  o.window.spatiotemporal = false;  // detection does not read it
  return o;
}

// What is said of each alert, the newest; when it was detected first.
struct Heard {
  Heard(const detect::DetectorOptions& options, std::span<const DurationNs> coarser, const Case& c)
      : levels(options, coarser) {
    levels.set_topology(c.topology);
  }
  void take(const model::SliceColumn& column, DurationNs slice) {
    for (alert::Alert& a : levels.on_slice(column, slice_end(column.index, slice))) {
      const auto [at, fresh] = known.emplace(a.id, alerts.size());
      if (fresh) {
        alerts.push_back(std::move(a));
        continue;
      }
      a.detected = alerts[at->second].detected;
      alerts[at->second] = std::move(a);
    }
  }
  detect::Levels levels;
  std::map<std::string, std::size_t> known;
  std::vector<alert::Alert> alerts;
};

double now_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

}  // namespace

int levels(std::uint64_t first, std::uint64_t last, DurationNs slice, bool verbose) {
  std::function<void(const std::string&)> tell;
  if (verbose) tell = [](const std::string& line) { std::printf("    %s\n", line.c_str()); };
  std::vector<DurationNs> coarser = kCoarser;
  std::erase_if(coarser, [&](DurationNs d) { return d <= slice; });
  std::printf(
      "| job, slices of %g s | longer | cases | found | in 2 min | false alarms | median delay | Jaccard |\n"
      "|---|---|---|---|---|---|---|---|\n",
      static_cast<double>(slice.value) * 1e-9);
  for (const char* const kind : {"steady", "coupled", "phases", "free"})
    for (const Change& change : kChanges) {
      Score sum;
      for (std::uint64_t seed = first; seed <= last; ++seed) {
        const Weak w = weak(kind, change, seed, slice);
        Heard heard(without_overview(options_for(w.c)), coarser, w.c);
        w.job.play(static_cast<std::int64_t>(w.c.slices.size()),
                   [&](const model::SliceColumn& column) { heard.take(column, slice); });
        sum.add(score(w.c, heard.alerts, tell));
      }
      const double one = static_cast<double>(slice.value) * 1e-9;
      const auto soon =
          std::count_if(sum.delay.begin(), sum.delay.end(), [&](double d) { return d * one <= kSoon; });
      std::printf("| %s | %s | %d | %d | %ld | %d | %.0f s | %.2f |\n", kind, change.name, sum.cases,
                  sum.hits, soon, sum.false_alarms, sum.median_delay() * one, sum.mean_jaccard());
      std::fflush(stdout);
    }
  return 0;
}

int knob_levels(const KnobPlan& plan) {
  const auto slices =
      static_cast<std::int64_t>(plan.days * kDay * 1e9 / static_cast<double>(plan.slice.value));
  std::printf("| quiet job, %u leaves, slices of %g s, min_effect %.2g | days | knob | at the finest alone |",
              plan.leaves, static_cast<double>(plan.slice.value) * 1e-9, plan.min_effect);
  std::printf(" finest |");
  for (const DurationNs l : plan.levels) std::printf(" %g s |", static_cast<double>(l.value) * 1e-9);
  std::printf(" all, of expected |\n|---|---|---|---|---|");
  for (std::size_t i = 0; i <= plan.levels.size(); ++i) std::printf("---|");
  std::printf("\n");
  std::map<double, std::map<std::int64_t, int>> sum;  // by knob, by level; -1: at the finest alone
  double all_days = 0;
  const auto line = [&](const std::string& name, double days, double knob,
                        std::map<std::int64_t, int>& alarms) {
    std::printf("| %s | %.3g | %g | %d | %d |", name.c_str(), days, knob, alarms[-1],
                alarms[plan.slice.value]);
    int all = alarms[plan.slice.value];
    for (const DurationNs l : plan.levels) {
      std::printf(" %d |", alarms[l.value]);
      all += alarms[l.value];
    }
    std::printf(" %d of %.3g |\n", all, knob * days);
    std::fflush(stdout);
  };
  for (const std::string& kind : QuietJob::kinds()) {
    if (!plan.kind.empty() && plan.kind != kind) continue;
    std::map<double, std::map<std::int64_t, int>> alarms;
    for (std::uint64_t seed = plan.first_seed; seed <= plan.last_seed; ++seed) {
      const QuietJob job(kind, plan.leaves, seed, plan.slice);
      std::vector<std::unique_ptr<detect::Levels>> watching;
      for (const double k : plan.knobs)
        for (const bool alone : {true, false}) {
          detect::DetectorOptions o;
          o.run = "r";
          o.window.slice = plan.slice;
          o.window.slices = 64;
          o.window.spatiotemporal = false;
          o.min_effect = plan.min_effect;
          o.false_alarms_per_day = k;
          o.idle_states = job.idle_states();
          watching.push_back(std::make_unique<detect::Levels>(
              o, alone ? std::span<const DurationNs>() : std::span(plan.levels)));
          watching.back()->set_topology(job.topology());
        }
      job.play(slices, [&](const model::SliceColumn& column) {
        for (std::size_t i = 0; i < watching.size(); ++i)
          for (const auto& a : watching[i]->on_slice(column, slice_end(column.index, plan.slice))) {
            if (a.status != alert::Status::kFiring || a.kind != alert::Kind::kPerturbation) continue;
            ++alarms[plan.knobs[i / 2]][i % 2 == 0 ? -1 : a.level.value];
            if (plan.verbose && i % 2 == 1)
              std::printf("    %s seed %lu knob %g, slices of %g s, slice %ld: %s\n", kind.c_str(), seed,
                          plan.knobs[i / 2], static_cast<double>(a.level.value) * 1e-9, column.index.value,
                          a.message.c_str());
          }
      });
    }
    const double days = plan.days * static_cast<double>(plan.last_seed - plan.first_seed + 1);
    all_days += days;
    for (const double k : plan.knobs) {
      line(kind, days, k, alarms[k]);
      for (const auto& [level, n] : alarms[k]) sum[k][level] += n;
    }
  }
  for (const double k : plan.knobs) line("all", all_days, k, sum[k]);
  return 0;
}

int levels_cost(std::uint32_t leaves, std::size_t window, int slices, const std::string& kind) {
  const QuietJob job(kind, leaves, 1, kFinest);
  detect::DetectorOptions o;
  o.run = "r";
  o.window.slice = kFinest;
  o.window.slices = window;
  o.window.memory_budget_bytes = std::uint64_t{16} << 30;
  detect::Levels one(o, {}), all(o, kCoarser);
  one.set_topology(job.topology());
  all.set_topology(job.topology());
  double spent[2] = {0, 0}, lazy = 0;
  int i = 0;
  const auto fill = static_cast<int>(window);
  job.play(fill + slices, [&](const model::SliceColumn& column) {
    const TimeNs end = slice_end(column.index, kFinest);
    for (const int turn : {i % 2, 1 - i % 2}) {
      const double begin = now_ms();
      static_cast<void>((turn == 0 ? one : all).on_slice(column, end));
      // The daemon reads the partitions for its reports; the engines put off their work until then.
      const auto& shown = (turn == 0 ? one : all).detector().window();
      lazy += shown.spatiotemporal() ? 1 : 0;
      if (i >= fill) spent[turn] += now_ms() - begin;
    }
    ++i;
  });
  std::printf("| %u | %zu | %.3f ms | %.3f ms | %+.1f %% |\n", leaves, window, spent[0] / slices,
              spent[1] / slices, 100 * (spent[1] / spent[0] - 1));
  return lazy > 0 ? 0 : 1;
}

}  // namespace margay::bench
