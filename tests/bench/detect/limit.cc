// How well anybody could do on the made-up cases: what each fault did, by the job's own account and by the
// slices of its twin without it, whatever the detector makes of it.
//
//  - *Lost*: the share of the time of the hit leaves that the fault cost, as the generator knows it; and of
//    the leaf that it cost most.
//  - *Moved*: the total variation between what the hit leaves did during the fault and what they do meanwhile
//    in the twin, where nothing goes wrong. Means over these leaves and slices: chance moves them as well.
//  - *Signal*: how far the durations of what was hurt are from what chance alone makes of them, in
//    deviations: the square root of the sum, over all visits that were hurt, of
//    (log(took / usual) / deviation)^2. It is the likelihood ratio's (Neyman-Pearson) for one who sees every
//    visit, and knows the job to the last parameter, which leaves are hit, when, how and how much; what is
//    not known is the chance of each visit. No detector knows more.
//
// A fault is set *apart*, neither found nor missed, where it cost no leaf `min_effect` of its time and moved
// the slices by less than that: it was asked not to be told. The oracle tells by the signal: of each node
// below the root, of each stretch of eight slices, a standard normal, to which a fault adds its signal. At
// the same threshold everywhere it raises so many false alarms, and finds so many faults.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "commands.h"
#include "score.h"

namespace margay::bench {
namespace {

constexpr double kMinEffect = 0.1;
constexpr double kStretch = 8;      // slices: the shortest of most faults
constexpr double kMostFalse = 0.3;  // of 1000 slices

// What these leaves do between, as shares of the time by state.
std::vector<double> done(const Case& c, const Truth& t) {
  std::vector<double> sum;
  double all = 0;
  const auto add = [&](bool whole) {
    for (const auto& slice : c.slices) {
      const double begin = static_cast<double>(slice.index.value) * c.slice_s, end = begin + c.slice_s;
      if (whole ? begin < t.begin_s || end > t.end_s : begin >= t.end_s || end <= t.begin_s) continue;
      for (const std::uint32_t l : t.leaves) {
        const auto of = slice.duration_ns(LeafIndex(l));
        sum.resize(std::max(sum.size(), of.size()));
        for (std::size_t s = 0; s < of.size(); ++s) {
          sum[s] += static_cast<double>(of[s]);
          all += static_cast<double>(of[s]);
        }
      }
    }
  };
  add(true);
  if (all <= 0) add(false);
  for (double& s : sum) s /= std::max(all, 1.0);
  return sum;
}

double apart(std::vector<double> a, std::vector<double> b) {
  a.resize(std::max(a.size(), b.size()));
  b.resize(a.size());
  double sum = 0;
  for (std::size_t s = 0; s < a.size(); ++s) sum += std::abs(a[s] - b[s]);
  return sum / 2;
}

double beyond(double z) {
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

struct Judged {
  Truth truth;
  double slices = 0, moved = 0;
  bool found = false, apart = false;
};

// Found of all, by what lies in which part.
class Table {
 public:
  explicit Table(std::string of) : of_(std::move(of)) {}
  void add(const std::string& row, const Judged& j) {
    auto& [truths, apart, found] = rows_[row];
    ++truths;
    apart += j.apart;
    found += !j.apart && j.found;
  }
  void print() const {
    std::printf("\n| %s | truths | apart | found | missed |\n|---|---|---|---|---|\n", of_.c_str());
    for (const auto& [row, n] : rows_)
      std::printf("| %s | %d | %d | %d | %d |\n", row.c_str(), n[0], n[1], n[2], n[0] - n[1] - n[2]);
  }

 private:
  std::string of_;
  std::map<std::string, std::array<int, 3>> rows_;
};

// The part in which x lies, as "2 to 4": in order as text.
std::string part(double x, std::initializer_list<double> edges) {
  double low = 0;
  char text[64];
  for (const double high : edges) {
    std::snprintf(text, sizeof text, "%4g to %g", low, high);
    if (x < high) return text;
    low = high;
  }
  std::snprintf(text, sizeof text, "%4g or more", low);
  return text;
}

double f1_of(double found, double missed, double false_alarms) {
  return 2 * found / std::max(1.0, 2 * found + missed + false_alarms);
}

}  // namespace

int limit(std::uint64_t first, std::uint64_t last, int only) {
  std::vector<Judged> judged;
  Score all;
  double tests = 0;
  std::printf(
      "| case | slices | leaves | factor | lost, of the worst | moved | signal | "
      "|\n|---|---|---|---|---|---|---|---|\n");
  Table by_group("kind of job and fault"), by_factor("factor"), by_slices("slices"), by_leaves("leaves hit"),
      by_lost("lost"), by_signal("signal");
  for (std::size_t g = 0; g < group_count(); ++g) {
    if (only >= 0 && static_cast<std::size_t>(only) != g) continue;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
      const Case c = make_case(g, seed);
      std::vector<std::string> lines;
      const Score s =
          score(c, alerts_of(c, options_for(c)), [&](const std::string& line) { lines.push_back(line); });
      all.add(s);
      tests += static_cast<double>(c.topology->hierarchy.node_count() - 1) * s.slices / kStretch;
      for (const std::string& line : lines)
        if (line.starts_with("FALSE")) std::printf("| %s | | | | | | | |\n", line.c_str());
      if (c.truths.empty()) continue;
      const Case twin = make_case(g, seed, false);
      for (const Truth& t : c.truths) {
        Judged j{t, (t.end_s - t.begin_s) / c.slice_s, apart(done(c, t), done(twin, t)), s.hits > 0, false};
        j.apart = t.most_lost < kMinEffect && j.moved < kMinEffect;
        by_group.add(c.group, j);
        by_factor.add(part(t.factor, {1.5, 2, 3, 4}), j);
        by_slices.add(part(j.slices, {4, 8, 12, 20}), j);
        by_leaves.add(part(static_cast<double>(t.leaves.size()), {2, 5, 9, 17}), j);
        by_lost.add(part(t.lost, {0.05, 0.1, 0.15, 0.2, 0.3}), j);
        by_signal.add(part(t.signal, {4, 6, 8, 12, 16}), j);
        judged.push_back(j);
        if (j.found && !j.apart) continue;
        std::printf("| %s seed %lu, from %.1f | %.1f | %zu of %zu | %.1f | %.3f, %.3f | %.3f | %.1f | %s |\n",
                    c.group.c_str(), seed, t.begin_s / c.slice_s, j.slices, t.leaves.size(),
                    c.topology->hierarchy.leaf_count(), t.factor, t.lost, t.most_lost, j.moved, t.signal,
                    j.found   ? "apart, told"
                    : j.apart ? "apart"
                              : "missed");
      }
      std::fflush(stdout);
    }
  }
  for (const Table* t : {&by_group, &by_factor, &by_slices, &by_leaves, &by_lost, &by_signal}) t->print();

  double set_apart = 0, found = 0;
  for (const Judged& j : judged) set_apart += j.apart, found += !j.apart && j.found;
  const double truths = static_cast<double>(judged.size()), rest = truths - set_apart;
  std::printf("\nall: F1 %.3f (%d found of %d, %d false alarms, %.2f of 1000 slices)\n", all.f1(), all.hits,
              all.truths, all.false_alarms, all.false_per_1000());
  std::printf("without the %.0f apart: F1 %.3f (%.0f found of %.0f)\n", set_apart,
              f1_of(found, rest - found, all.false_alarms), found, rest);
  for (const bool with_apart : {true, false}) {
    double best = 0, best_z = 0, best_found = 0, best_false = 0;
    for (double z = 2; z < 8; z += 0.01) {
      const double false_alarms = tests * beyond(z);
      if (1000 * false_alarms > kMostFalse * all.slices) continue;
      double told = 0;
      for (const Judged& j : judged)
        if (with_apart || !j.apart) told += beyond(z - j.truth.signal);
      const double f1 = f1_of(told, (with_apart ? truths : rest) - told, false_alarms);
      if (f1 > best) best = f1, best_z = z, best_found = told, best_false = false_alarms;
    }
    std::printf("the oracle, %s: F1 %.3f (%.1f found of %.0f, %.1f false alarms, threshold %.2f)\n",
                with_apart ? "all" : "without those apart", best, best_found, with_apart ? truths : rest,
                best_false, best_z);
  }
  return 0;
}

}  // namespace margay::bench
