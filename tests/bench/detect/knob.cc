// Whether false alarms are as many as the knob says: quiet jobs of days, and every alarm is a false one.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "commands.h"
#include "departures.h"
#include "margay/detect/window.h"
#include "quiet_jobs.h"

namespace margay::bench {
namespace {

constexpr double kDay = 86'400;

// P(X <= k) of a Poisson variable.
double poisson(int k, double mean) {
  double term = std::exp(-mean), sum = term;
  for (int i = 1; i <= k; ++i) term *= mean / i, sum += term;
  return sum;
}

// The mean at which so many or fewer have this probability.
double mean_at(int k, double p) {
  double low = 0, high = 10 + 3.0 * k;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (poisson(k, middle) > p ? low : high) = middle;
  }
  return low;
}

// The exact 95 % interval of the mean of a Poisson variable that was seen to be `n`.
std::pair<double, double> interval(int n) {
  if (n > 300) return {n - 1.96 * std::sqrt(n), n + 1.96 * std::sqrt(n)};
  return {n == 0 ? 0 : mean_at(n - 1, 0.975), mean_at(n, 0.025)};
}

struct Watched {
  double knob;
  detect::Departures departures;
  std::int64_t open_since = -1;
};

// `firing`: part of the time in which an alarm is open, and nothing else is seen.
std::string cell(int alarms, double expected, double firing) {
  const auto [low, high] = interval(alarms);
  char text[128];
  std::snprintf(text, sizeof text, "%d of %.3g: %.2g (%.2g to %.2g), %.1f %%", alarms, expected,
                alarms / expected, low / expected, high / expected, 100 * firing);
  return text;
}

}  // namespace

int knob(const KnobPlan& plan) {
  const auto slices =
      static_cast<std::int64_t>(plan.days * kDay * 1e9 / static_cast<double>(plan.slice.value));
  std::printf("| quiet job, %u leaves, slices of %g s, min_effect %.2g | days |", plan.leaves,
              static_cast<double>(plan.slice.value) * 1e-9, plan.min_effect);
  for (const double k : plan.knobs)
    std::printf(" knob %g: alarms of expected, ratio (95 %%), time firing |", k);
  std::printf(" slices/s |\n|---|---|");
  for (std::size_t i = 0; i < plan.knobs.size(); ++i) std::printf("---|");
  std::printf("---|\n");
  std::vector<int> all(plan.knobs.size());
  std::vector<double> all_open(plan.knobs.size());
  double all_days = 0, all_told = 0;
  for (const std::string& kind : QuietJob::kinds()) {
    if (!plan.kind.empty() && plan.kind != kind) continue;
    std::vector<int> alarms(plan.knobs.size());
    std::vector<double> open(plan.knobs.size());  // slices
    double watched = 0, told = 0, seconds_spent = 0;
    for (std::uint64_t seed = plan.first_seed; seed <= plan.last_seed; ++seed) {
      const QuietJob job(kind, plan.leaves, seed, plan.slice);
      detect::WindowOptions o;
      o.slice = plan.slice;
      o.slices = 2;
      o.memory_budget_bytes = std::uint64_t{4} << 30;
      detect::Window window(o);
      window.set_topology(job.topology());
      std::set<std::uint16_t> idle;
      const auto& states = job.topology()->states;
      for (std::uint16_t s = 0; s < states.size(); ++s)
        if (job.idle_states().contains(states[s].name)) idle.insert(s);
      std::vector<Watched> watching;
      for (const double k : plan.knobs) {
        detect::Departures::Options d;
        d.slice = o.slice;
        d.min_effect = plan.min_effect;
        d.false_alarms_per_day = k;
        watching.push_back({k, detect::Departures(d)});
        watching.back().departures.set_topology(job.topology());
      }
      using Clock = std::chrono::steady_clock;
      const auto begin = Clock::now();
      job.play(slices, [&](const model::SliceColumn& column) {
        if (!window.push(column)) std::abort();
        for (std::size_t i = 0; i < watching.size(); ++i) {
          Watched& w = watching[i];
          const std::vector<detect::Episode> now =
              w.departures.on_slice(window, column, idle, detect::Departures::Look::kNormal);
          const detect::Episode* const e = now.empty() ? nullptr : &now.front();
          if (e != nullptr && !e->over && w.open_since < 0) {
            w.open_since = column.index.value;
            ++alarms[i];
          }
          open[i] += w.open_since >= 0;
          if (w.open_since >= 0 && (e == nullptr || e->over)) {
            if (plan.verbose && e != nullptr)
              std::printf(
                  "    %s seed %lu knob %g: %ld from %ld to %ld, %zu leaves from %u on, %s%s, excess %.2f, "
                  "%.0f nats, limit %.0f, %.3g of those allowed%s\n",
                  kind.c_str(), seed, w.knob, w.open_since, e->onset.value, e->end.value, e->leaves.size(),
                  e->leaves.empty() ? 0 : *e->leaves.begin(), states[e->state].name.c_str(),
                  e->works ? "" : " (waits)", e->excess, e->nats, e->limit,
                  std::exp(-std::max(0.0, e->rarer)), e->by_lengths ? ", by lengths" : "");
            w.open_since = -1;
          }
        }
      });
      seconds_spent += std::chrono::duration<double>(Clock::now() - begin).count();
      watched += plan.days;
      told += static_cast<double>(slices);
    }
    std::printf("| %s | %.3g |", kind.c_str(), watched);
    for (std::size_t i = 0; i < alarms.size(); ++i) {
      std::printf(" %s |", cell(alarms[i], plan.knobs[i] * watched, open[i] / told).c_str());
      all[i] += alarms[i];
      all_open[i] += open[i];
    }
    std::printf(" %.0f |\n", told / seconds_spent);
    std::fflush(stdout);
    all_days += watched, all_told += told;
  }
  std::printf("| all | %.3g |", all_days);
  for (std::size_t i = 0; i < all.size(); ++i)
    std::printf(" %s |",
                cell(all[i], plan.knobs[i] * all_days, all_open[i] / std::max(1.0, all_told)).c_str());
  std::printf(" |\n");
  return 0;
}

}  // namespace margay::bench
