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

// Eighty minutes of 32 ranks; after an hour one to three of them compute a little longer, for ten minutes.
constexpr double kSeconds = 4800, kBegin = 3600, kEnd = 4200;
constexpr std::uint32_t kRanks = 32;

struct Weak {
  Case c;  // without the slices
  QuietJob job;
};
Weak weak(const std::string& kind, double share, std::uint64_t seed, DurationNs slice) {
  Weak out{{}, QuietJob(kind, kRanks, seed, slice)};
  Random random(seed + 1000);
  QuietJob::Slowed slowed{{}, kBegin + random.uniform(0, 10), kEnd + random.uniform(0, 10), share};
  for (std::uint32_t n = 1 + random.below(3); n > 0; --n) slowed.ranks.insert(random.below(kRanks));
  out.job.slow(slowed);
  Case& c = out.c;
  c.group = kind;
  c.seed = seed;
  c.slice_s = static_cast<double>(slice.value) * 1e-9;
  c.topology = out.job.topology();
  c.idle_states = out.job.idle_states();
  c.truths = {{slowed.begin_s, slowed.end_s, slowed.ranks, "weak"}};
  c.slices.resize(static_cast<std::size_t>(kSeconds / c.slice_s));
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
      "| job, slices of %g s | longer by | cases | found at the finest | false alarms | found at all levels "
      "| "
      "false alarms | median delay | Jaccard |\n|---|---|---|---|---|---|---|---|---|\n",
      static_cast<double>(slice.value) * 1e-9);
  for (const char* const kind : {"coupled", "free", "clusters"})
    for (const double share : {0.03, 0.04, 0.06}) {
      Score one, all;
      for (std::uint64_t seed = first; seed <= last; ++seed) {
        const Weak w = weak(kind, share, seed, slice);
        const auto options = without_overview(options_for(w.c));
        Heard alone(options, {}, w.c), levels(options, coarser, w.c);
        w.job.play(static_cast<std::int64_t>(w.c.slices.size()), [&](const model::SliceColumn& column) {
          alone.take(column, slice);
          levels.take(column, slice);
        });
        one.add(score(w.c, alone.alerts, tell));
        all.add(score(w.c, levels.alerts, tell));
      }
      std::printf("| %s | %.0f %% | %d | %d | %d | %d | %d | %.0f s | %.2f |\n", kind, 100 * share, one.cases,
                  one.hits, one.false_alarms, all.hits, all.false_alarms,
                  all.median_delay() * static_cast<double>(slice.value) * 1e-9, all.mean_jaccard());
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
