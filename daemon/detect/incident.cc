// What an alert says: where, which states, how strongly, and the sentence.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

#include "causes.h"
#include "departures.h"
#include "margay/detect/detector.h"
#include "margay/model/shared_value.h"
#include "margay/statistics/tail_limit.h"
#include "state_kind.h"

namespace margay::detect {
namespace {

constexpr std::int64_t kMostScored = 256;  // slices
constexpr std::size_t kMostNamed = 3;      // culprits in a sentence
constexpr double kTimesLonger = 1.2;       // from here on that a state takes longer says more than its share
constexpr double kManyTimes = 20;
// A culprit that runs in between is throttled, if the stop is not just beginning or ending.
constexpr double kWholly = 0.8;
constexpr std::int64_t kThrottledSlices = 5;

std::string last_component(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

double seconds_of(DurationNs d) {
  return static_cast<double>(d.value) * 1e-9;
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}
std::string seconds_text(DurationNs d) {
  return seconds_text(seconds_of(d));
}

}  // namespace

// If not exactly, a node of which two thirds are in it is named as a whole.
std::vector<NodeIndex> Detector::cover(const std::set<std::uint32_t>& leaves, bool exactly) const {
  std::vector<NodeIndex> out;
  const model::Hierarchy& h = topology_->hierarchy;
  if (h.leaf_count() == 0 || leaves.empty()) return out;
  std::vector<NodeIndex> pending{model::Hierarchy::kRoot};
  while (!pending.empty()) {
    const NodeIndex n = pending.back();
    pending.pop_back();
    const auto below = h.leaves_below(n);
    const auto in = static_cast<std::size_t>(
        std::count_if(below.begin(), below.end(), [&](LeafIndex l) { return leaves.contains(l.value); }));
    if (in == 0) continue;
    const bool whole =
        h[n].children.empty() ||
        (exactly ? in == below.size() : n != model::Hierarchy::kRoot && in * 3 >= below.size() * 2);
    if (whole) {
      out.push_back(n);
    } else {
      for (auto c = h[n].children.rbegin(); c != h[n].children.rend(); ++c) pending.push_back(*c);
    }
  }
  return out;
}

std::vector<std::string> Detector::paths(const std::vector<NodeIndex>& nodes) const {
  std::vector<std::string> out;
  for (const NodeIndex n : nodes) out.push_back(topology_->hierarchy[n].path);
  return out;
}

std::string Detector::common_node(const std::set<std::uint32_t>& leaves) const {
  const model::Hierarchy& h = topology_->hierarchy;
  std::optional<NodeIndex> common;
  for (const std::uint32_t l : leaves) {
    if (l >= h.leaf_count()) continue;
    NodeIndex n = h.node_of(LeafIndex(l));
    if (!common) {
      common = n;
      continue;
    }
    NodeIndex a = *common;
    while (a != n) {
      if (h[a].depth >= h[n].depth)
        a = h[a].parent;
      else
        n = h[n].parent;
    }
    common = a;
  }
  return common ? h[*common].path : "/";
}

void Detector::describe(Incident& incident, const model::SliceColumn& column) const {
  alert::Alert& a = incident.alert;
  const model::Hierarchy& h = topology_->hierarchy;
  const Distribution& phase = phases_.reference();
  a.phase = phases_.known() ? phases_.spans().back().name : "";
  a.p = window_.p();
  a.resources.clear();
  for (const std::uint32_t l : incident.culprits)
    if (l < h.leaf_count()) a.resources.push_back(h.path_of(LeafIndex(l)));
  a.node = common_node(incident.culprits);

  // The slices since the onset, against the phase: the bits that merging them into it would cost.
  const SliceIndex from = std::max({incident.first, window_.first(), window_.last() - kMostScored});
  Distribution now;
  double bits = 0;
  std::set<std::uint32_t> affected = incident.culprits;
  for (SliceIndex s = from; s <= window_.last(); ++s) now.add(window_, s);
  for (std::uint32_t l = 0; l < window_.leaves(); ++l) {
    const LeafIndex leaf(l);
    if (now.weight(leaf) <= 0 || phase.weight(leaf) <= 0) continue;
    double both = 0;
    for (std::size_t x = 0; x < window_.columns(); ++x) {
      const double q = now.share(leaf, x), r = phase.share(leaf, x);
      both += std::min(q, r);
      // Jensen-Shannon, so that a state never seen in the phase costs a finite amount.
      const double m = (q + r) / 2;
      if (q > 0) bits += now.weight(leaf) * 0.5 * q * std::log2(q / m);
      if (r > 0) bits += now.weight(leaf) * 0.5 * r * std::log2(r / m);
    }
    if (1 - both >= options_.min_effect) affected.insert(l);
  }
  a.score_bits = bits;
  a.p_value = a.false_alarms_per_day
                  ? -std::expm1(-statistics::in_a_slice(*a.false_alarms_per_day, options_.window.slice))
                  : 1e-300;
  a.affected = paths(cover(affected, false));

  a.states = changed_states(affected, now);
  a.lost_events = lost_since(incident.first);
  set_area(incident, window_.last());
  incident.lost.take(window_, incident.first, phase, incident.culprits, kinds(incident));
  a.cost_s = cost_s(incident, slice_end(column.index, options_.window.slice));
  Causes(window_, *topology_, phase, options_.min_effect)
      .name(incident, cover(incident.culprits, true), now, column);
  a.message = sentence(incident, column);
}

// The states that rose and fell most, over these leaves.
std::vector<alert::StateChange> Detector::changed_states(const std::set<std::uint32_t>& affected,
                                                         const Distribution& now) const {
  struct Change {
    std::size_t column;
    double expected, observed;
  };
  std::vector<Change> changes;
  for (std::size_t x = 0; x < window_.columns(); ++x) {
    double expected = 0, observed = 0;
    std::size_t leaves = 0;
    for (const std::uint32_t l : affected) {
      expected += phases_.reference().share(LeafIndex(l), x);
      observed += now.share(LeafIndex(l), x);
      ++leaves;
    }
    if (leaves > 0)
      changes.push_back({x, expected / static_cast<double>(leaves), observed / static_cast<double>(leaves)});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& x, const Change& y) {
    return std::abs(x.observed - x.expected) > std::abs(y.observed - y.expected);
  });
  std::vector<alert::StateChange> out;
  for (const Change& c : changes) {
    if (out.size() >= 4 || std::abs(c.observed - c.expected) < 0.01) break;
    const StateId state = window_.state_of(c.column);
    if (state.value < topology_->states.size())
      out.push_back({topology_->states[state.value].name, c.expected, c.observed});
  }
  return out;
}

void Detector::resolve(Incident& incident, TimeNs end, TimeNs watermark) const {
  alert::Alert& a = incident.alert;
  a.status = alert::Status::kResolved;
  a.end = end;
  a.detected = watermark;
  extend_area(incident, slice_of(end - DurationNs(1), options_.window.slice));
  if (a.cost_s) a.cost_s = std::min(*a.cost_s, seconds_of(end - a.onset));
}

void Detector::set_area(Incident& incident, SliceIndex last) const {
  incident.alert.area = {paths(cover(incident.culprits, true)), incident.first, 1};
  extend_area(incident, last);
}

void Detector::extend_area(Incident& incident, SliceIndex last) const {
  incident.alert.area->slices =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, last.value + 1 - incident.first.value));
}

// What is slow for all (a file system) is work that the others are longer at as well: it is no progress, but
// where it is most of what they do.
LostTime::Kinds Detector::kinds(const Incident& incident) const {
  LostTime::Kinds k;
  const std::vector<double> usual = phases_.reference().pooled();
  for (std::size_t x = 0; x < window_.columns(); ++x) {
    const std::uint16_t s = window_.state_of(x).value;
    const bool known = s < topology_->states.size() && !idle_.contains(s);
    const bool work = known && is_work(topology_->states[s]);
    k.work.push_back(work);
    k.waits.push_back(known && !work);
  }
  const auto usually = [&](std::size_t x) { return x < usual.size() ? usual[x] : 0; };
  for (std::size_t x = 0; x < window_.columns() && incident.by_departure; ++x) {
    if (window_.state_of(x).value != incident.state || !k.work[x]) continue;
    for (std::size_t y = 0; y < window_.columns(); ++y)
      if (k.work[y] && usually(y) > usually(x)) k.work[x] = 0, k.waits[x] = 1;
  }
  return k;
}

// Where the others do not show it, it is the time that the blamed themselves have lost.
double Detector::cost_s(const Incident& incident, TimeNs until) const {
  const double age = seconds_of(until - incident.alert.onset), slice = seconds_of(options_.window.slice);
  const std::optional<double> by_others = incident.lost.by_others();
  // Small shifts have begun long before they are seen.
  if (incident.small) return std::round(incident.excess * age * 1e3) / 1e3;
  double lost = age;
  // Who serves requests is not waited for by all.
  if (idle_.empty() && by_others)
    lost = *by_others * slice;
  else if (incident.by_departure)
    lost = incident.excess * incident.lost.busy() * slice;
  else if (incident.by_stop && incident.sampled_ns > 0)
    lost = age * static_cast<double>(incident.stopped_ns) / static_cast<double>(incident.sampled_ns);
  return std::round(std::clamp(lost, 0.0, std::max(0.0, age)) * 1e3) / 1e3;
}

// "all 32 of rack7": where that tells many leaves in fewer words than the hierarchy does; "": it does not.
std::string Detector::group_of(const std::set<std::uint32_t>& leaves) const {
  if (!topology_->attributes || topology_->attributes->size() != topology_->hierarchy.leaf_count() ||
      *leaves.rbegin() >= topology_->hierarchy.leaf_count() || cover(leaves, true).size() == 1)
    return {};
  std::vector<LeafIndex> some;
  for (const std::uint32_t l : leaves) some.emplace_back(l);
  const auto shared = model::shared_by(*topology_->attributes, some);
  if (!shared) return {};
  const bool all = shared->of == some.size();
  return (all ? "all " : std::to_string(some.size()) + " of ") + std::to_string(shared->of) + " of " +
         shared->value;
}

std::string Detector::names(const std::set<std::uint32_t>& leaves) const {
  const model::Hierarchy& h = topology_->hierarchy;
  const std::size_t n = leaves.size();
  if (n == h.leaf_count() && n > 1) return "all " + std::to_string(n) + " resources";
  if (n > kMostNamed) {
    const std::string group = group_of(leaves);
    return group.empty() ? std::to_string(n) + " resources below " + common_node(leaves) : group;
  }
  // Each by name: "rank1 on n0, rank3 on n0 and rank4 on n1".
  std::string who;
  std::size_t i = 0;
  for (const std::uint32_t l : leaves) {
    if (l >= h.leaf_count()) continue;
    const std::string& path = h.path_of(LeafIndex(l));
    const std::size_t end = path.rfind('/');
    if (i > 0) who += i + 1 == n ? " and " : ", ";
    who += last_component(path);
    if (end != std::string::npos && end > 0) who += " on " + last_component(path.substr(0, end));
    ++i;
  }
  return who;
}

// "compute takes 4.0 times as long", or "61 % of the time in MPI_Recv, usually 23 %".
std::string Detector::departs(const Incident& incident, StateId state, double excess, double times) const {
  if (state.value >= Episode::kBlocked) {
    char share[96];
    std::snprintf(share, sizeof share, "%.0f %% of the time %s", 100 * excess,
                  state.value == Episode::kDenied    ? "ready to run, but without a CPU"
                  : state.value == Episode::kStopped ? "stopped"
                                                     : "waiting for storage, more than usual");
    return share;
  }
  std::size_t column = 0;
  while (column < window_.columns() && window_.state_of(column) != state) ++column;
  if (column == window_.columns() || state.value >= topology_->states.size())
    return "behaves differently than usual";
  char text[96];
  const auto longer = [&](double by) {
    if (by < kTimesLonger)
      std::snprintf(text, sizeof text, " takes %.1f %% longer", 100 * (by - 1));
    else if (by < kManyTimes)
      std::snprintf(text, sizeof text, " takes %.1f times as long", by);
    else
      std::snprintf(text, sizeof text, " takes more than %.0f times as long", kManyTimes);
    return topology_->states[state.value].name + text;
  };
  if (times > 0) return longer(times);
  const Distribution& phase = phases_.reference();
  double now = 0, usual = 0, weight = 0, usual_weight = 0;
  for (const std::uint32_t l : incident.culprits) {
    for (SliceIndex s = std::max(incident.first, window_.first()); s <= window_.last(); ++s) {
      const auto row = window_.row(s, LeafIndex(l));
      now += column < row.size() ? row[column] : 0.0;
      weight += window_.weight(s, LeafIndex(l));
    }
    usual += phase.share(LeafIndex(l), column);
    usual_weight += phase.weight(LeafIndex(l)) > 0 ? 1 : 0;
  }
  if (weight > 0) now /= weight;
  if (usual_weight > 0) usual /= usual_weight;
  // Work may take longer while its share is nearly as ever: one that others wait for hardly waits.
  const bool by_share = now - usual >= excess / 2 || now >= kTimesLonger * usual;
  if (excess > 0 && now > excess && (!by_share || now / (now - excess) >= kTimesLonger))
    return longer(now / (now - excess));
  if (excess > 0 && !by_share) return topology_->states[state.value].name + " takes longer than usual";
  std::snprintf(text, sizeof text, "%.0f %% of the time in ", 100 * now);
  std::string out = text + topology_->states[state.value].name;
  std::snprintf(text, sizeof text, ", usually %.0f %%", 100 * usual);
  return out + text;
}

// Who runs where the culprits are not let. What was told before stands where the agent has told no more.
void Detector::take_takers(Incident& incident, StateId state) const {
  std::vector<alert::Taker>& takers = incident.alert.takers;
  if (state.value != Episode::kDenied) {
    takers.clear();
    return;
  }
  auto now = takers_.most(incident.culprits, incident.first, *topology_);
  if (!now.empty()) takers = std::move(now);
  if (!takers.empty()) incident.departs += ": " + told(takers.front());
}

// " for 55 % of the time, usually 8 %": what the others waited for in this slice; "": no longer than usual.
std::string Detector::others_wait(const Incident& incident, const model::SliceColumn& column) const {
  const Distribution& phase = phases_.reference();
  std::vector<std::size_t> waits;  // columns: what is work is told by names, once
  for (std::size_t x = 0; x < window_.columns(); ++x) {
    const StateId state = window_.state_of(x);
    if (state.value < topology_->states.size() && !is_work(topology_->states[state.value]))
      waits.push_back(x);
  }
  double now = 0, weight = 0, usual = 0, usual_weight = 0;
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    if (incident.culprits.contains(l) || !(phase.weight(LeafIndex(l)) > 0)) continue;
    const auto row = window_.row(window_.last(), LeafIndex(l));
    weight += window_.weight(window_.last(), LeafIndex(l));
    usual_weight += 1;
    for (const std::size_t x : waits) {
      now += x < row.size() ? row[x] : 0.0;
      usual += phase.share(LeafIndex(l), x);
    }
  }
  if (!(weight > 0)) return {};
  now /= weight, usual /= usual_weight;
  // Twice of what matters of a phase: it is one slice, and slices differ.
  if (now - usual < 2 * options_.min_effect) return {};
  char text[96];
  std::snprintf(text, sizeof text, " for %.0f %% of the time, usually %.0f %%", 100 * now, 100 * usual);
  return text;
}

// What the others do at the end of the slice; while they work, whether they waited in it. Of what is over how
// they waited last: its end is known some slices later, when they work again.
std::string Detector::meanwhile(Incident& incident, const model::SliceColumn& column) const {
  std::map<std::uint16_t, std::size_t> states;
  std::size_t others = 0;
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const auto& open = column.open(LeafIndex(l));
    if (incident.culprits.contains(l) || open.state == kAbsent) continue;
    ++others;
    ++states[open.state.value];
  }
  if (states.empty()) return {};
  const auto most = std::max_element(states.begin(), states.end(),
                                     [](const auto& x, const auto& y) { return x.second < y.second; });
  const bool known = most->first < topology_->states.size();
  const std::string name = known ? topology_->states[most->first].name : std::string("?");
  const std::string all = others == 1 ? "; the other one" : "; the other " + std::to_string(others);
  if (!known || is_work(topology_->states[most->first])) {
    const std::string wait = others_wait(incident, column);
    if (wait.empty())
      return incident.over && !incident.others_waited.empty() ? incident.others_waited
                                                              : all + (others == 1 ? " goes on" : " go on");
    return incident.others_waited = all + (others == 1 ? " waits" : " wait") + wait;
  }
  if (most->second == others)
    return incident.others_waited = all + (others == 1 ? " waits in " : " wait in ") + name;
  return incident.others_waited = "; " + std::to_string(most->second) + " of" + all.substr(1) +
                                  (most->second == 1 ? " waits in " : " wait in ") + name;
}

std::string Detector::sentence(Incident& incident, const model::SliceColumn& column) const {
  const TimeNs now = slice_end(column.index, options_.window.slice);
  const std::string who = names(incident.culprits);
  const std::size_t n = incident.culprits.size();
  std::string meanwhile = this->meanwhile(incident, column);
  const std::string lost = seconds_text(incident.alert.cost_s.value_or(0));
  if (lost != seconds_text(0.0)) meanwhile += "; " + lost + " lost so far";
  const DurationNs age = now - incident.alert.onset;
  const std::string seen_in =
      options_.coarser ? " (seen in slices of " + seconds_text(options_.window.slice) + ")" : "";
  const bool throttled =
      static_cast<double>(incident.stopped_ns) < kWholly * static_cast<double>(incident.sampled_ns);
  if (incident.by_stop && throttled && age >= options_.window.slice * kThrottledSlices) {
    char share[48];
    std::snprintf(share, sizeof share, " stopped for %.0f %% of the time, for ",
                  100 * static_cast<double>(incident.stopped_ns) / static_cast<double>(incident.sampled_ns));
    return who + (n == 1 ? " is" : " are") + share + seconds_text(age) + meanwhile;
  }
  if (incident.by_stop)
    return who + (n == 1 ? " has" : " have") + " been stopped for " + seconds_text(age) + meanwhile;
  if (incident.by_departure)
    return who + ": " + incident.departs + ", for " + seconds_text(age) + seen_in +
           (incident.lasts ? "; it counts as usual from now on, and only what comes on top of it is reported"
                           : meanwhile);
  const auto& open = column.open(LeafIndex(*incident.culprits.begin()));
  const std::string state = open.state.value < topology_->states.size()
                                ? topology_->states[open.state.value].name
                                : std::string("?");
  return "no progress for " + seconds_text(age) + ": " + who + (n == 1 ? " is" : " are") + " in " + state +
         (open.state == kCompute ? " but hardly runs" : "") + meanwhile;
}

}  // namespace margay::detect
