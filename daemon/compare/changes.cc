#include "margay/compare/changes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "margay/statistics/student.h"

namespace margay::compare {
namespace {

constexpr double kInterval = 0.025;     // beyond each end of an interval
constexpr double kLeastShare = 0.001;   // of a phase's time: a state that has less is not looked at
constexpr double kOneSlice = 1.0 / 12;  // the variance of where an edge lies within a slice
constexpr double kFinest = 1e-4;        // no standard error is below this part of what it is of
constexpr std::size_t kLags = 3;        // blocks apart that are still looked at for what lasts
constexpr double kTrimmed = 0.2;        // of the blocks, at each end
constexpr double kComparable = 0.1;     // of it the others have at least so much, to be compared in parts

// What some resources spent in a state, in the mean: block by block.
using Spent = std::array<double, kBlocks>;

// Location and its standard error, of values that follow each other in time.
struct Typical {
  double is = 0, error = 0, freedom = 0;
  double t() const { return error > 0 ? is / error : 0; }
  double chance() const {
    return error > 0 ? std::min(1.0, 2 * statistics::student_survival(std::fabs(t()), freedom)) : 1;
  }
};

Typical typical(const Spent& values, std::size_t n) {
  Typical out;
  const auto cut = static_cast<std::size_t>(kTrimmed * static_cast<double>(n));
  Spent sorted = values;
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n));
  const double low = sorted[cut], high = sorted[n - 1 - cut];
  const auto size = static_cast<double>(n), kept = static_cast<double>(n - 2 * cut);
  for (std::size_t k = cut; k < n - cut; ++k) out.is += sorted[k] / kept;
  Spent held{};
  double middle = 0;
  for (std::size_t k = 0; k < n; ++k) held[k] = std::clamp(values[k], low, high), middle += held[k] / size;
  const auto products = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t k = lag; k < n; ++k) sum += (held[k] - middle) * (held[k - lag] - middle);
    return sum;
  };
  double variance = products(0), neighbours = 0;
  for (std::size_t lag = 1; lag <= kLags; ++lag)
    neighbours += 2 * (1 - static_cast<double>(lag) / (kLags + 1)) * products(lag);
  variance = (variance + std::max(0.0, neighbours)) / (size - 1);
  out.error = std::sqrt(variance * size) / kept;
  out.freedom = kept - 1;
  return out;
}

// One phase of all runs, block by block.
class Phase {
 public:
  Phase(std::span<const RunInBlocks> baseline, const RunInBlocks& run, std::uint32_t phase,
        const ChangeOptions& options)
      : per_(options.per), runs_(baseline.size() + 1) {
    std::size_t i = 0;
    for (; i < baseline.size(); ++i) take(runs_[i], baseline[i], phase, options);
    take(runs_[i], run, phase, options);
    const PhaseInBlocks& p = run.phases[phase];
    blocks_ = p.blocks.size();
    seconds_ = p.seconds;
    for (const RunInBlocks& r : baseline) {
      blocks_ = std::min(blocks_, r.phases[phase].blocks.size());
      seconds_ = std::max(seconds_, r.phases[phase].seconds);
    }
    // Each stretch has two edges in each run.
    edges_ = 4 * kOneSlice * static_cast<double>(std::max<std::size_t>(p.stretches, 1)) * run.slice_seconds *
             run.slice_seconds;
  }

  std::size_t baselines() const { return runs_.size() - 1; }
  std::size_t blocks() const { return blocks_; }
  double seconds() const { return seconds_; }
  // The phase's own time, as what is spent in it.
  std::vector<Spent> time() const {
    std::vector<Spent> out;
    for (const OfRun& r : runs_) out.push_back(r.seconds);
    return out;
  }
  // What it would be in all if each block were like this one; by run, the last is the run's.
  std::vector<Spent> projected(const std::vector<Spent>& spent) const {
    std::vector<Spent> out(runs_.size());
    for (std::size_t r = 0; r < runs_.size(); ++r)
      for (std::size_t k = 0; k < blocks_; ++k)
        out[r][k] = runs_[r].work[k] > 0 ? spent[r][k] / runs_[r].work[k] * scale(r) : 0;
    return out;
  }
  // Of all blocks together.
  double whole(const std::vector<Spent>& spent, std::size_t r) const {
    double sum = 0;
    for (const double s : spent[r]) sum += s;
    return runs_[r].all_work > 0 ? sum / runs_[r].all_work * scale(r) : 0;
  }

  // By how much the run typically differs from the baseline: `from_each`, by block, from each of its runs.
  // Where a phase's edges lie matters for sums, of what size `size` says; what compares parts of the same
  // slices does not depend on it.
  // `between`: what the baseline's runs differ by is known of more than this measure.
  enum class Edges { kMatter, kDoNot };
  struct Between {
    double variance = 0, freedom = 0;
  };
  Typical difference(const std::vector<Spent>& from_each, double size, Edges edges,
                     const std::optional<Between>& between = {}) const {
    Typical out = typical(mean(from_each), blocks_);
    const double share = edges == Edges::kMatter && seconds_ > 0 ? size / seconds_ : 0;
    out.error = std::max(std::sqrt(out.error * out.error + edges_ * share * share), kFinest * size);
    if (from_each.size() < 2) return out;
    // What the baseline's runs differ by: of their mean and one more.
    const Between runs = between ? *between : between_runs(from_each);
    const double more = 1 + 1 / static_cast<double>(from_each.size());
    const Typical by_runs{out.is, std::sqrt(runs.variance * more), runs.freedom};
    return by_runs.chance() > out.chance() ? by_runs : out;
  }
  Between between_runs(const std::vector<Spent>& from_each) const {
    const auto n = static_cast<double>(from_each.size());
    std::vector<double> each;
    double middle = 0;
    for (const Spent& one : from_each) each.push_back(typical(one, blocks_).is), middle += each.back() / n;
    Between out{0, n - 1};
    for (const double e : each) out.variance += (e - middle) * (e - middle) / (n - 1);
    return out;
  }
  // Block by block.
  static Spent mean(std::span<const Spent> of) {
    Spent out{};
    for (const Spent& one : of)
      for (std::size_t k = 0; k < kBlocks; ++k) out[k] += one[k] / static_cast<double>(of.size());
    return out;
  }

 private:
  struct OfRun {
    Spent seconds{}, work{};
    double all_work = 0;
  };
  double scale(std::size_t r) const { return per_ == Per::kRun ? runs_[r].all_work : 1; }
  void take(OfRun& out, const RunInBlocks& run, std::uint32_t phase, const ChangeOptions& options) const {
    const std::vector<Block>& blocks = run.phases[phase].blocks;
    bool calls = options.same_work && per_ == Per::kRun;
    for (const Block& b : blocks) calls = calls && b.calls > 0;
    for (std::size_t k = 0; k < std::min(blocks.size(), kBlocks); ++k) {
      out.seconds[k] = blocks[k].seconds;
      out.work[k] = calls ? blocks[k].calls : blocks[k].seconds;
      out.all_work += out.work[k];
    }
  }

  Per per_;
  std::vector<OfRun> runs_;
  std::size_t blocks_ = 0;
  double edges_ = 0, seconds_ = 0;
};

struct Stretch {
  std::size_t first = 0, last = 0;  // of the hierarchy's order
  std::size_t size() const { return last - first; }
  bool touches(const Stretch& other) const { return first < other.last && other.first < last; }
  auto operator<=>(const Stretch&) const = default;
};

// What one state took in one phase, of any resources that follow each other in the hierarchy.
class StateSums {
 public:
  StateSums(std::span<const RunInBlocks* const> runs, std::uint32_t phase, std::size_t states,
            std::size_t state, const model::Hierarchy& hierarchy) {
    const auto order = hierarchy.leaf_order();
    leaves_ = order.size();
    for (const RunInBlocks* run : runs) {
      std::vector<Spent>& sums = sums_.emplace_back(leaves_ + 1);
      const std::vector<Block>& blocks = run->phases[phase].blocks;
      for (std::size_t i = 0; i < leaves_; ++i) {
        sums[i + 1] = sums[i];
        for (std::size_t k = 0; k < std::min(blocks.size(), kBlocks); ++k)
          sums[i + 1][k] += blocks[k].spent[order[i].value * states + state];
      }
    }
  }
  std::size_t leaves() const { return leaves_; }
  // Of these stretches of the hierarchy's order the mean of a resource; one a run.
  std::vector<Spent> mean(std::span<const Stretch> of) const {
    std::vector<Spent> out(sums_.size());
    std::size_t leaves = 0;
    for (const Stretch& s : of) {
      leaves += s.size();
      for (std::size_t r = 0; r < sums_.size(); ++r)
        for (std::size_t k = 0; k < kBlocks; ++k) out[r][k] += sums_[r][s.last][k] - sums_[r][s.first][k];
    }
    for (Spent& run : out)
      for (double& x : run) x /= static_cast<double>(std::max<std::size_t>(leaves, 1));
    return out;
  }

 private:
  std::size_t leaves_ = 0;
  std::vector<std::vector<Spent>> sums_;  // [run][leaf in order]
};

// All but these, which are apart from each other.
std::vector<Stretch> rest_of(std::vector<Stretch> these, std::size_t leaves) {
  std::sort(these.begin(), these.end());
  std::vector<Stretch> out;
  std::size_t at = 0;
  for (const Stretch& s : these) {
    if (s.first > at) out.push_back({at, s.first});
    at = s.last;
  }
  if (at < leaves) out.push_back({at, leaves});
  return out;
}

class Search {
 public:
  Search(std::span<const RunInBlocks> baseline, const RunInBlocks& run, std::size_t states,
         const model::Hierarchy& hierarchy, const ChangeOptions& options)
      : baseline_(baseline), run_(run), states_(states), hierarchy_(hierarchy), options_(options) {
    for (const RunInBlocks& r : baseline) runs_.push_back(&r);
    runs_.push_back(&run);
    for (const model::Hierarchy::Node& n : hierarchy.nodes())
      if (n.leaf_count > 0 && n.leaf_count < hierarchy.leaf_count())
        nodes_.push_back({n.first_leaf, std::size_t{n.first_leaf} + n.leaf_count});
    // A node with one child is that child.
    std::sort(nodes_.begin(), nodes_.end());
    nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  }

  Changes operator()() {
    for (std::uint32_t phase = 0; phase < run_.phases.size(); ++phase) {
      ++out_.looked_at;
      for (std::size_t state = 0; state < states_; ++state)
        if (takes_time(phase, state)) out_.looked_at += 1 + nodes_.size();
    }
    for (std::uint32_t phase = 0; phase < run_.phases.size(); ++phase) look(phase);
    const auto cost = [&](const Change& c) {
      return std::max(std::fabs(c.typical), std::fabs(c.apart)) * weight(c);
    };
    for (std::vector<Change>* of : {&out_.told, &out_.machine})
      std::stable_sort(of->begin(), of->end(),
                       [&](const Change& x, const Change& y) { return cost(x) > cost(y); });
    return std::move(out_);
  }

 private:
  double weight(const Change& c) const {
    return c.resources.empty()
               ? 1
               : static_cast<double>(c.resources.size()) / static_cast<double>(hierarchy_.leaf_count());
  }

  // Whether the state has enough of the phase in any of the runs.
  bool takes_time(std::uint32_t phase, std::size_t state) const {
    return std::any_of(runs_.begin(), runs_.end(), [&](const RunInBlocks* run) {
      double sum = 0;
      for (const Block& b : run->phases[phase].blocks)
        for (std::size_t i = state; i < b.spent.size(); i += states_) sum += b.spent[i];
      const double all = run->phases[phase].seconds * static_cast<double>(hierarchy_.leaf_count());
      return all > 0 && sum >= kLeastShare * all;
    });
  }

  void look(std::uint32_t phase) {
    const Phase in(baseline_, run_, phase, options_);
    const Stretch all{0, hierarchy_.leaf_count()};
    state_ = -1;
    waits_.reset();
    if (options_.waiting >= 0)
      waits_ = std::make_unique<StateSums>(runs_, phase, states_, static_cast<std::size_t>(options_.waiting),
                                           hierarchy_);
    if (options_.per == Per::kRun) {
      Change time = measured(in, phase, -1, in.time());
      time.a = 0;
      for (const RunInBlocks& r : baseline_)
        time.a += r.phases[phase].seconds / static_cast<double>(baseline_.size());
      time.b = run_.phases[phase].seconds;
      if (sure(in, time, std::span(&all, 1))) report(time);
      out_.overall.push_back(std::move(time));
    }
    for (std::size_t state = 0; state < states_; ++state) {
      if (!takes_time(phase, state)) continue;
      state_ = static_cast<std::int32_t>(state);
      const StateSums sums(runs_, phase, states_, state, hierarchy_);
      Change whole = measured(in, phase, state_, sums.mean(std::span(&all, 1)));
      tell(in, sums, whole);
      out_.overall.push_back(std::move(whole));
    }
  }

  Change measured(const Phase& in, std::uint32_t phase, std::int32_t state,
                  const std::vector<Spent>& spent) const {
    Change out;
    out.phase = phase, out.state = state;
    const std::size_t baselines = in.baselines();
    for (std::size_t r = 0; r < baselines; ++r) out.a += in.whole(spent, r) / static_cast<double>(baselines);
    out.b = in.whole(spent, baselines);
    if (in.blocks() < 2) return out;
    const std::vector<Spent> u = in.projected(spent);
    std::vector<Spent> from_each(baselines);
    for (std::size_t r = 0; r < baselines; ++r)
      for (std::size_t k = 0; k < in.blocks(); ++k) from_each[r][k] = u[baselines][k] - u[r][k];
    const Spent before = Phase::mean(std::span(u).first(baselines));
    const Typical d = in.difference(from_each, std::max(out.a, out.b), Phase::Edges::kMatter);
    const double half = statistics::student_quantile(kInterval, d.freedom) * d.error;
    out.known = true;
    out.typical = d.is, out.of = typical(before, in.blocks()).is;
    out.low = d.is - half, out.high = d.is + half;
    out.chance = d.chance();
    out.least_told = statistics::student_quantile(limit() / 2, d.freedom) * d.error;
    return out;
  }

  // `waiting`: what of it may come from more waiting for a CPU.
  bool matters(const Phase& in, double change, double a, double b, double waiting) const {
    if (state_ != options_.waiting) change = std::max(0.0, std::fabs(change) - std::fabs(waiting));
    const double phase = options_.per == Per::kRun ? in.seconds() : 1;
    const double known = baseline_.size() >= ChangeOptions::kManyRuns ? 0.25 : 1;
    return std::fabs(change) >= known * options_.least_of_phase * phase &&
           std::fabs(change) >= known * options_.least_of_itself * std::max(a, b);
  }
  // By how much more, or less, these waited for a CPU: what a change of so much may have come from.
  double more_waiting(const Phase& in, std::span<const Stretch> of) const {
    if (!waits_ || in.blocks() < 2) return 0;
    return measured(in, 0, options_.waiting, waits_->mean(of)).typical;
  }
  double limit() const {
    return options_.false_alarm / static_cast<double>(std::max<std::uint64_t>(out_.looked_at, 1));
  }
  bool sure(const Phase& in, const Change& c, std::span<const Stretch> of) const {
    return c.known && c.chance < limit() && matters(in, c.typical, c.a, c.b, more_waiting(in, of));
  }

  // By how much these differ from the others, by block, from each run of the baseline. `these_spent`,
  // `others`: means of theirs.
  static std::vector<Spent> blocks_apart(const Phase& in, const std::vector<Spent>& these_spent,
                                         const std::vector<Spent>& others) {
    const std::vector<Spent> s = in.projected(these_spent), o = in.projected(others);
    const std::size_t run = in.baselines();
    std::vector<Spent> out(run);
    for (std::size_t r = 0; r < run; ++r)
      for (std::size_t k = 0; k < in.blocks(); ++k)
        // What slows all by the same part slows these by as much.
        out[r][k] = o[r][k] > kComparable * s[r][k] ? s[run][k] - s[r][k] * o[run][k] / o[r][k]
                                                    : (s[run][k] - s[r][k]) - (o[run][k] - o[r][k]);
    return out;
  }
  struct Apart {
    Typical from_others;
    bool matters = false;
  };
  Apart apart(const Phase& in, const StateSums& sums, std::span<const Stretch> these,
              std::span<const Stretch> others) const {
    const std::vector<Spent> spent = sums.mean(these);
    double a = 0;
    for (std::size_t r = 0; r < in.baselines(); ++r)
      a += in.whole(spent, r) / static_cast<double>(in.baselines());
    const double b = in.whole(spent, in.baselines());
    Apart out;
    out.from_others = in.difference(blocks_apart(in, spent, sums.mean(others)), std::max(a, b),
                                    Phase::Edges::kDoNot, between_);
    out.matters = matters(in, out.from_others.is, a, b, 0);
    return out;
  }

  // Of a node that is set apart, the node within it that is so from the rest of it, in the same direction.
  const Stretch* part_of(const Phase& in, const StateSums& sums, const Stretch& whole,
                         double direction) const {
    const Stretch* best = nullptr;
    Typical strongest;
    for (const Stretch& node : nodes_) {
      if (node.first < whole.first || node.last > whole.last || node.size() == whole.size()) continue;
      std::vector<Stretch> others;
      if (node.first > whole.first) others.push_back({whole.first, node.first});
      if (node.last < whole.last) others.push_back({node.last, whole.last});
      const auto [d, matters] = apart(in, sums, std::span(&node, 1), others);
      if (matters && d.is * direction > 0 && d.chance() < limit() &&
          (best == nullptr || d.t() * direction > strongest.t() * direction))
        best = &node, strongest = d;
    }
    return best;
  }

  Change of_some(const Phase& in, const StateSums& sums, std::uint32_t phase, std::int32_t state,
                 std::span<const Stretch> some) const {
    Change out = measured(in, phase, state, sums.mean(some));
    for (const Stretch& s : some)
      for (std::size_t i = s.first; i < s.last; ++i)
        out.resources.push_back(hierarchy_.leaf_order()[i].value);
    std::sort(out.resources.begin(), out.resources.end());
    return out;
  }

  void tell(const Phase& in, const StateSums& sums, const Change& whole) {
    if (in.blocks() < 2) return;
    look_at_runs(in, sums);
    std::vector<Stretch> more, less, taken;
    std::size_t leaves = 0;
    double chance_more = 1, chance_less = 1;
    while (taken.size() < ChangeOptions::kMostApart && 2 * leaves < sums.leaves()) {
      const Stretch* best = nullptr;
      Typical strongest;
      for (const Stretch& node : nodes_) {
        if (std::any_of(taken.begin(), taken.end(), [&](const Stretch& t) { return t.touches(node); }))
          continue;
        std::vector<Stretch> without = taken;
        without.push_back(node);
        const std::vector<Stretch> others = rest_of(std::move(without), sums.leaves());
        if (others.empty()) continue;
        const auto [d, matters] = apart(in, sums, std::span(&node, 1), others);
        if (matters && (best == nullptr || std::fabs(d.t()) > std::fabs(strongest.t())))
          best = &node, strongest = d;
      }
      if (best == nullptr || !(strongest.chance() < limit())) break;
      // Where a part of it is what sets it apart, that part is told.
      while (const Stretch* part = part_of(in, sums, *best, strongest.is)) best = part;
      taken.push_back(*best);
      leaves += best->size();
      (strongest.is > 0 ? more : less).push_back(*best);
      double& chance = strongest.is > 0 ? chance_more : chance_less;
      chance = std::min(chance, strongest.chance());
    }
    if (taken.empty()) {
      const Stretch all{0, sums.leaves()};
      if (sure(in, whole, std::span(&all, 1))) report(whole);
      return;
    }
    const std::vector<Stretch> rest = rest_of(taken, sums.leaves());
    std::optional<Change> others;
    if (!rest.empty()) others = of_some(in, sums, whole.phase, whole.state, rest);
    const bool others_changed = others && sure(in, *others, rest);
    for (const auto& [some, chance] : {std::pair(more, chance_more), std::pair(less, chance_less)}) {
      if (some.empty()) continue;
      Change c = of_some(in, sums, whole.phase, whole.state, some);
      // Where only the others changed, they are reported.
      if (others_changed && !matters(in, c.typical, c.a, c.b, 0)) continue;
      c.chance = std::min(c.chance, chance);
      if (!rest.empty()) c.apart = apart(in, sums, some, rest).from_others.is;
      report(std::move(c));
    }
    if (others_changed) report(std::move(*others));
  }

  // How much resources are set apart from the others in runs that are equal: what one of few runs tells of
  // one resource is little, of all of them it is much.
  void look_at_runs(const Phase& in, const StateSums& sums) {
    between_.reset();
    if (in.baselines() < 2 || sums.leaves() < 3) return;
    Phase::Between pool;
    for (std::size_t i = 0; i < sums.leaves(); ++i) {
      const Stretch one{i, i + 1};
      const std::vector<Stretch> others = rest_of({one}, sums.leaves());
      pool.variance +=
          in.between_runs(blocks_apart(in, sums.mean(std::span(&one, 1)), sums.mean(others))).variance;
    }
    const auto n = static_cast<double>(sums.leaves());
    // They are apart from each other, so that one of them is no news.
    pool.variance /= n - 1;
    pool.freedom = static_cast<double>(in.baselines() - 1) * (n - 1);
    between_ = pool;
  }

  void report(Change c) {
    (c.state >= 0 && c.state == options_.waiting ? out_.machine : out_.told).push_back(std::move(c));
  }

  std::span<const RunInBlocks> baseline_;
  const RunInBlocks& run_;
  std::size_t states_;
  const model::Hierarchy& hierarchy_;
  const ChangeOptions& options_;
  std::vector<const RunInBlocks*> runs_;
  std::vector<Stretch> nodes_;
  std::unique_ptr<StateSums> waits_;  // of the phase that is looked at
  std::int32_t state_ = -1;           // that is looked at
  std::optional<Phase::Between> between_;
  Changes out_;
};

}  // namespace

Changes changes(std::span<const RunInBlocks> baseline, const RunInBlocks& run, std::size_t states,
                const model::Hierarchy& hierarchy, const ChangeOptions& options) {
  return Search(baseline, run, states, hierarchy, options)();
}

}  // namespace margay::compare
