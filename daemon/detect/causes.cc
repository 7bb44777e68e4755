#include "causes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "candidates.h"
#include "episode.h"
#include "state_kind.h"

namespace margay::detect {
namespace {

// What somebody is blamed for doing longer than usual.
enum Does { kWorks, kWaitsForOne, kWaitsForSeveral };
// How often he was the cause, of made-up jobs with a fault: DETECT.md has the table.
constexpr double kRight[] = {0.98, 0.75, 0.12};

Does does(const Incident& incident, const std::vector<model::StateInfo>& states) {
  if (incident.works) return kWorks;
  const bool several = incident.state < states.size() && waits_for_several(states[incident.state]);
  return several ? kWaitsForSeveral : kWaitsForOne;
}

double rounded(double probability) {
  return std::round(probability * 1e3) / 1e3;
}

}  // namespace

// How much longer than usual each leaf has been in the state since the onset; NaN where that is not known.
std::vector<double> Causes::departures_in(StateId state, const Distribution& now) const {
  std::vector<double> out(window_.leaves(), std::numeric_limits<double>::quiet_NaN());
  std::size_t column = 0;
  while (column < window_.columns() && window_.state_of(column) != state) ++column;
  if (column == window_.columns()) return out;
  for (std::uint32_t l = 0; l < window_.leaves(); ++l)
    if (now.weight(LeafIndex(l)) > 0)
      out[l] = now.share(LeafIndex(l), column) - usual_.share(LeafIndex(l), column);
  return out;
}

// Of each group; the first `blamed` of them are.
std::vector<double> Causes::departure_probabilities(const Incident& incident, const Distribution& now,
                                                    std::vector<std::vector<std::uint32_t>>& groups) const {
  const std::size_t blamed = groups.size();
  for (std::uint32_t l = 0; l < window_.leaves(); ++l)
    if (!incident.culprits.contains(l)) groups.push_back({l});
  // That their visits take longer need not show in shares.
  const double shows = incident.by_lengths ? 1 : incident.excess / 2;
  auto p = probabilities(departures_in(StateId(incident.state), now), groups, blamed, shows, min_effect_ / 8);
  // And how sure it is that those who are blamed are the cause, rather than who waits for it.
  const double sure = kRight[does(incident, topology_.states)];
  for (double& one : p) one *= sure;
  return p;
}

// No progress, and all that are blamed wait.
bool Causes::nobody_works(const Incident& incident, const model::SliceColumn& column) const {
  return incident.alert.kind == alert::Kind::kStall &&
         std::all_of(incident.culprits.begin(), incident.culprits.end(), [&](std::uint32_t l) {
           const std::uint16_t s = column.open(LeafIndex(l)).state.value;
           return s >= topology_.states.size() || !is_work(topology_.states[s]);
         });
}

// What a process or the kernel shows leaves no choice. Of those that wait while nobody gets on one is the
// cause, but not which.
void Causes::name(Incident& incident, std::vector<NodeIndex> nodes, const Distribution& now,
                  const model::SliceColumn& column) const {
  alert::Alert& a = incident.alert;
  const model::Hierarchy& h = topology_.hierarchy;
  const bool any_of_them = nobody_works(incident, column);
  if (any_of_them) {
    nodes.clear();
    for (const std::uint32_t l : incident.culprits)
      if (l < h.leaf_count()) nodes.push_back(h.node_of(LeafIndex(l)));
  }
  std::vector<std::vector<std::uint32_t>> groups;
  for (const NodeIndex n : nodes) {
    auto& leaves = groups.emplace_back();
    for (const LeafIndex l : h.leaves_below(n)) leaves.push_back(l.value);
  }
  const std::size_t blamed = groups.size();
  std::vector<double> p(blamed, 1.0);
  const bool by_share = incident.by_departure && !incident.by_stop && incident.state < Episode::kBlocked;
  if (by_share) {
    p = departure_probabilities(incident, now, groups);
  } else if (any_of_them) {
    p.assign(blamed, 1 / static_cast<double>(blamed));
  }
  a.candidates.clear();
  a.likely_cause.clear();
  std::set<std::uint32_t> likely;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const double probability = rounded(g < blamed ? p[g] : std::min(p[g], alert::kLikely));
    if (probability <= 0) continue;
    const std::string& path = g < blamed ? h[nodes[g]].path : h.path_of(LeafIndex(groups[g][0]));
    a.candidates.push_back({path, "resource", 0, probability});
    if (probability > alert::kLikely) likely.insert(groups[g].begin(), groups[g].end());
  }
  for (const std::uint32_t l : likely) a.likely_cause.push_back(h.path_of(LeafIndex(l)));
  // Of those that have a CPU that one is not let on, each took it as probably as its share of what they took.
  for (const alert::Taker& t : a.takers) {
    double all = 0;
    for (const alert::Taker& other : a.takers) all += other.resource == t.resource ? other.share : 0;
    if (all > 0) a.candidates.push_back({t.name, t.kind, t.pid, rounded(t.share / all)});
  }
  std::stable_sort(
      a.candidates.begin(), a.candidates.end(),
      [](const alert::Candidate& x, const alert::Candidate& y) { return x.probability > y.probability; });
  if (a.candidates.size() > alert::kMostCandidates) a.candidates.resize(alert::kMostCandidates);
}

}  // namespace margay::detect
