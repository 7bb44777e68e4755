#include "score.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

namespace margay::bench {
namespace {

constexpr double kWiden = 2;  // slices

double seconds_of(TimeNs t) {
  return static_cast<double>(t.value) * 1e-9;
}

template <class... Values>
std::string text(const char* format, Values... values) {
  char out[512];
  std::snprintf(out, sizeof out, format, values...);
  return out;
}

// Leaves below any of these nodes.
std::set<std::uint32_t> leaves_of(const detect::Topology& topology, const std::vector<std::string>& nodes) {
  std::set<std::uint32_t> out;
  const auto& h = topology.hierarchy;
  for (std::uint32_t l = 0; l < h.leaf_count(); ++l) {
    const std::string& path = h.path_of(LeafIndex(l));
    for (const std::string& n : nodes)
      if (n == "/" || path == n || (path.starts_with(n) && path[n.size()] == '/')) out.insert(l);
  }
  return out;
}

double jaccard_of(const std::set<std::uint32_t>& a, const std::set<std::uint32_t>& b) {
  std::size_t both = 0;
  for (const auto l : a) both += b.contains(l);
  return static_cast<double>(both) /
         static_cast<double>(std::max<std::size_t>(1, a.size() + b.size() - both));
}

}  // namespace

void Score::add(const Score& o) {
  truths += o.truths, hits += o.hits, false_alarms += o.false_alarms, cases += o.cases;
  slices += o.slices, hours += o.hours;
  delay.insert(delay.end(), o.delay.begin(), o.delay.end());
  jaccard.insert(jaccard.end(), o.jaccard.begin(), o.jaccard.end());
}

double Score::f1() const {
  return 2.0 * hits / std::max(1, hits + truths + false_alarms);
}

double Score::median_delay() const {
  if (delay.empty()) return 0;
  auto sorted = delay;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

double Score::mean_jaccard() const {
  if (jaccard.empty()) return 0;
  return std::accumulate(jaccard.begin(), jaccard.end(), 0.0) / static_cast<double>(jaccard.size());
}

double Score::false_per_1000() const {
  return 1000 * false_alarms / std::max(1.0, slices);
}

void Score::print(const char* name) const {
  std::printf(
      "%-30s %4d cases %4d truths %4d hit %4d false  F1 %5.3f  delay %4.1f  Jaccard %5.3f  %5.2f/1000\n",
      name, cases, truths, hits, false_alarms, f1(), median_delay(), mean_jaccard(), false_per_1000());
}

detect::DetectorOptions options_for(const Case& c) {
  detect::DetectorOptions o;
  o.false_alarms_per_day = kShippedKnob;
  o.run = std::string("r");
  o.window.slice = DurationNs(std::llround(c.slice_s * 1e9));
  o.window.slices = 64;
  o.idle_states = c.idle_states;
  return o;
}

std::vector<Said> said_until(const Case& c, const detect::DetectorOptions& options, std::size_t slices) {
  detect::Detector d(options);
  d.set_topology(c.topology);
  std::vector<Said> out;
  for (std::size_t i = 0; i < std::min(slices, c.slices.size()); ++i)
    for (auto& a : d.on_slice(c.slices[i], slice_end(c.slices[i].index, options.window.slice)))
      out.push_back({i, std::move(a)});
  return out;
}

std::string acausal(const Case& c, std::size_t slices) {
  const auto options = options_for(c);
  auto whole = said_until(c, options, c.slices.size());
  std::erase_if(whole, [&](const Said& s) { return s.slice >= slices; });
  // Not only unseen: what comes later is not there.
  Case cut = c;
  cut.slices.resize(std::min(slices, cut.slices.size()));
  const auto until = said_until(cut, options, slices);
  if (until.size() != whole.size())
    return text("%s seed %lu, cut after %zu slices: %zu lines instead of %zu", c.group.c_str(), c.seed,
                slices, until.size(), whole.size());
  for (std::size_t i = 0; i < until.size(); ++i)
    if (until[i].slice != whole[i].slice || to_json(until[i].alert) != to_json(whole[i].alert))
      return text("%s seed %lu, cut after %zu slices: line %zu of slice %zu differs", c.group.c_str(), c.seed,
                  slices, i, until[i].slice);
  return "";
}

std::vector<alert::Alert> alerts_of(const Case& c, const detect::DetectorOptions& options) {
  detect::Detector d(options);
  d.set_topology(c.topology);
  std::map<std::string, std::size_t> known;
  std::vector<alert::Alert> out;
  const auto take = [&](std::vector<alert::Alert> alerts) {
    for (auto& a : alerts) {
      const auto [at, fresh] = known.emplace(a.id, out.size());
      if (fresh) {
        out.push_back(std::move(a));
        continue;
      }
      alert::Alert& before = out[at->second];
      a.detected = std::min(a.detected, before.detected);
      before = std::move(a);
    }
  };
  TimeNs end{};
  for (const auto& column : c.slices) {
    end = slice_end(column.index, options.window.slice);
    take(d.on_slice(column, end));
  }
  take(d.finish(end, end));
  return out;
}

// What was hurt, how much, and how far that is from chance.
std::string described(const Case& c, const Truth& t) {
  return text(
      "%s seed %lu: %.1f-%.1f, %zu leaves, %.1f times as long, %.0f deviations, lost %.2f (worst %.2f)",
      c.group.c_str(), c.seed, t.begin_s / c.slice_s, t.end_s / c.slice_s, t.leaves.size(), t.factor,
      t.signal, t.lost, t.most_lost);
}

Score score(const Case& c, const std::vector<alert::Alert>& alerts,
            const std::function<void(const std::string&)>& tell) {
  Score s;
  s.cases = 1;
  s.truths = static_cast<int>(c.truths.size());
  s.slices = static_cast<double>(c.slices.size());
  s.hours = s.slices * c.slice_s / 3600;
  const double slice = c.slice_s, end_of_all = s.slices * slice;
  std::vector<std::vector<const alert::Alert*>> on(c.truths.size());
  for (const auto& a : alerts) {
    const bool free = a.kind == alert::Kind::kStall || a.kind == alert::Kind::kSourceLost;
    if (a.kind != alert::Kind::kPerturbation && !free) continue;
    const double onset = seconds_of(a.onset), at = seconds_of(a.detected),
                 end = a.end ? seconds_of(*a.end) : end_of_all;
    bool hit = false;
    for (std::size_t i = 0; i < c.truths.size(); ++i) {
      const Truth& t = c.truths[i];
      const double w = kWiden * slice;
      if ((free && t.fault != "hung") || onset > t.end_s + w || end < t.begin_s - w || at < t.begin_s - w)
        continue;
      on[i].push_back(&a);
      hit = true;
    }
    if (!hit && !free) ++s.false_alarms;
    if (tell)
      tell(text("%s %s seed %lu: %.1f-%.1f (slice %.1f), %zu leaves: %s",
                hit    ? "hit  "
                : free ? "free "
                       : "FALSE",
                c.group.c_str(), c.seed, onset / slice, end / slice, at / slice, a.resources.size(),
                a.message.c_str()));
  }
  for (std::size_t i = 0; i < c.truths.size(); ++i) {
    const Truth& t = c.truths[i];
    if (on[i].empty()) {
      if (tell) tell("MISS  " + described(c, t));
      continue;
    }
    ++s.hits;
    if (tell) tell("found " + described(c, t));
    double first = seconds_of(on[i].front()->detected);
    std::vector<std::string> nodes;
    for (const auto* a : on[i]) {
      first = std::min(first, seconds_of(a->detected));
      nodes.insert(nodes.end(), a->resources.begin(), a->resources.end());
    }
    const std::set<std::uint32_t> blamed = leaves_of(*c.topology, nodes);
    double best = jaccard_of(blamed, t.leaves);
    for (const auto& other : t.alternatives) best = std::max(best, jaccard_of(blamed, other));
    s.delay.push_back((first - t.begin_s) / slice);
    s.jaccard.push_back(best);
    if (tell)
      tell(text("truth %s seed %lu: %.1f-%.1f, %zu leaves, delay %.1f, Jaccard %.2f", c.group.c_str(), c.seed,
                t.begin_s / slice, t.end_s / slice, t.leaves.size(), s.delay.back(), s.jaccard.back()));
  }
  return s;
}

}  // namespace margay::bench
