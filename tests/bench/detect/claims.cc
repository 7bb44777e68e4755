// What alerts say of themselves, beside the truth: what it has cost the job, and who causes it how probably.
//
// What a fault cost is known by its quiet twin, the same program by the same draws without it: by how much
// later each rank begins the same piece of work after the fault than in the twin, less what it was late
// before it, in the mean over ranks.
//
// A candidate is right if half of its leaves or more are hurt by the fault that the alert is on. Alerts on no
// fault are not asked: that is what false alarms a day are about.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "commands.h"
#include "families/families.h"
#include "score.h"

namespace margay::bench {
namespace {

// Whose ranks wait for each other, so that a run is late by what its ranks are.
constexpr std::array<std::string_view, 7> kCoupled = {"stencil", "wavefront", "training", "checkpoint",
                                                      "noise",   "unequal",   "stops"};
constexpr double kAfter = 3, kApart = 2;  // slices
constexpr std::size_t kBins = 10;

std::vector<double> begins(const Recording& r, std::size_t leaf) {
  std::vector<double> out;
  for (const Change& c : r.changes[leaf])
    if (r.states[c.state] == "compute" || r.states[c.state] == "forward") out.push_back(c.at);
  return out;
}

// By how much the run is later than its twin at `t`, in the mean over ranks.
double late(const Recording& run, const Recording& twin, double t) {
  double sum = 0, n = 0;
  for (std::size_t l = 0; l < run.changes.size(); ++l) {
    const auto mine = begins(run, l), usual = begins(twin, l);
    const auto done = static_cast<std::size_t>(std::upper_bound(mine.begin(), mine.end(), t) - mine.begin());
    if (done == 0 || done > usual.size()) continue;
    sum += mine[done - 1] - usual[done - 1], n += 1;
  }
  return n > 0 ? sum / n : 0;
}

// What was said with about the same probability; an alert counts once, however many it names so.
struct Calibration {
  std::array<double, kBins> said{}, right{}, alerts{};
  static std::size_t bin(double p) { return std::min(kBins - 1, static_cast<std::size_t>(p * kBins)); }
  void add(const Calibration& of_alert) {
    for (std::size_t b = 0; b < kBins; ++b) {
      if (of_alert.alerts[b] <= 0) continue;
      said[b] += of_alert.said[b] / of_alert.alerts[b];
      right[b] += of_alert.right[b] / of_alert.alerts[b];
      alerts[b] += 1;
    }
  }
};

struct Claims {
  std::vector<double> error, share;  // of what it cost: s, and as a share
  Calibration causes;
};

bool on(const alert::Alert& a, const Truth& t, double slice) {
  const double onset = static_cast<double>(a.onset.value) * 1e-9,
               end = a.end ? static_cast<double>(a.end->value) * 1e-9 : 1e18;
  return a.kind == alert::Kind::kPerturbation && onset <= t.end_s + kApart * slice &&
         end >= t.begin_s - kApart * slice;
}

void take_costs(const Case& c, const Recording& run, const Recording& twin,
                const std::vector<alert::Alert>& alerts, Claims& claims, bool verbose) {
  for (std::size_t i = 0; i < c.truths.size(); ++i) {
    const Truth& t = c.truths[i];
    double claimed = 0;
    bool any = false;
    for (const alert::Alert& a : alerts)
      if (a.cost_s && on(a, t, c.slice_s)) claimed += *a.cost_s, any = true;
    const double after = t.end_s + kAfter * c.slice_s;
    const bool alone = i + 1 == c.truths.size() ? after < run.end_s : after < c.truths[i + 1].begin_s;
    if (!any || !alone) continue;
    const double cost = late(run, twin, after) - late(run, twin, t.begin_s);
    claims.error.push_back(std::abs(claimed - cost));
    claims.share.push_back(std::abs(claimed - cost) / std::max(cost, c.slice_s));
    if (verbose)
      std::printf("    %s seed %lu: slices of %.2f s, fault of %.2f s, cost %.2f s, claimed %.2f s\n",
                  c.group.c_str(), c.seed, c.slice_s, t.end_s - t.begin_s, cost, claimed);
  }
}

void take_causes(const Case& c, const std::vector<alert::Alert>& alerts, Claims& claims, bool verbose) {
  const auto& h = c.topology->hierarchy;
  std::map<std::string, NodeIndex> node_of;
  for (std::uint32_t n = 0; n < h.node_count(); ++n) node_of.emplace(h[NodeIndex(n)].path, n);
  for (const alert::Alert& a : alerts) {
    if (a.kind != alert::Kind::kPerturbation) continue;
    std::set<std::uint32_t> causes;
    for (const Truth& t : c.truths) {
      if (!on(a, t, c.slice_s)) continue;
      causes.insert(t.leaves.begin(), t.leaves.end());
      for (const auto& others : t.alternatives) causes.insert(others.begin(), others.end());
    }
    if (causes.empty()) continue;
    Calibration of_alert;
    for (const alert::Candidate& candidate : a.candidates) {
      const auto node = node_of.find(candidate.name);
      if (candidate.kind != "resource" || node == node_of.end()) continue;
      const auto below = h.leaves_below(node->second);
      const auto hurt =
          std::count_if(below.begin(), below.end(), [&](LeafIndex l) { return causes.contains(l.value); });
      const std::size_t b = Calibration::bin(candidate.probability);
      of_alert.said[b] += candidate.probability, of_alert.alerts[b] += 1;
      const bool right = 2 * hurt >= static_cast<std::ptrdiff_t>(below.size());
      of_alert.right[b] += right;
      if (verbose && &candidate == &a.candidates.front())
        std::printf("    %s seed %lu: %s with %.2f, %s: %s\n", c.group.c_str(), c.seed,
                    candidate.name.c_str(), candidate.probability, right ? "right" : "wrong",
                    a.message.c_str());
    }
    claims.causes.add(of_alert);
  }
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

void print(const std::string& name, const Claims& c) {
  std::printf("%-12s %4zu costs, median error %.2f s, %.0f %% of the cost;", name.c_str(), c.error.size(),
              median(c.error), 100 * median(c.share));
  for (std::size_t b = 0; b < kBins; ++b)
    if (const double n = c.causes.alerts[b]; n > 0)
      std::printf("  %.2f: %.2f right (%.0f)", c.causes.said[b] / n, c.causes.right[b] / n, n);
  std::printf("\n");
}

}  // namespace

int claims(const FamilyPlan& plan) {
  Claims all;
  for (const Family& family : families()) {
    if (!plan.family.empty() && plan.family != family.name) continue;
    Claims of;
    const bool coupled = std::find(kCoupled.begin(), kCoupled.end(), family.name) != kCoupled.end();
    for (const std::string_view kind : family.kinds)
      for (std::uint64_t seed = plan.first_seed; seed <= plan.last_seed && kind != "clean"; ++seed) {
        if (!plan.kind.empty() && plan.kind != kind) continue;
        const Recording run = record(family, kind, seed);
        const Case c = case_of(family, kind, seed, run);
        const auto alerts = alerts_of(c, options_for(c));
        for (Claims* const to : {&of, &all}) {
          if (coupled)
            take_costs(c, run, record(family, kind, seed, false), alerts, *to, plan.verbose && to == &of);
          take_causes(c, alerts, *to, plan.verbose && to == &of);
        }
      }
    print(std::string(family.name), of);
    std::fflush(stdout);
  }
  for (std::size_t g = 0; g < group_count() && plan.family.empty() && plan.kind.empty(); ++g)
    for (std::uint64_t seed = plan.first_seed; seed <= plan.last_seed; ++seed) {
      const Case c = make_case(g, seed);
      take_causes(c, alerts_of(c, options_for(c)), all, plan.verbose);
    }
  print("all", all);
  return 0;
}

}  // namespace margay::bench
