#include "blame.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "episode.h"

namespace margay::detect {
namespace {

// Beyond so many deviations more of them say nothing more. Who works longer is the cause if this is as
// strong as the waiting of others, or nearly.
constexpr float kMostDeviations = 30, kWorkBefore = 0.3f;
// A leaf that has been in a state for so many slices since the onset could show that it takes longer; a node
// is told by two leaves that are blamed, and one in so many that could show it.
constexpr float kCouldShow = 0.5f;
constexpr std::uint32_t kFewestOfNode = 2, kFewOfNode = 4;
// Who keeps storage busy takes CPU time from others, too: so many times as much.
constexpr float kStorageFirst = 2;
constexpr float kWhole = 3;          // nats
constexpr int kRounds = 4;           // until who goes with whom is settled
constexpr float kNoLongerWaits = 6;  // deviations

// The leaf that does most more among what is work, or is not: the most of it, in usual deviations.
struct Strongest {
  std::size_t leaf = 0;
  float weight = -1;
};

std::array<Strongest, 2> strongest_of(const Since& since, const NodeMeans& means, const Columns& columns) {
  std::array<Strongest, 2> out;
  const std::size_t cells = since.departure.columns(), width = columns.work.size();
  for (std::size_t l = 0; l < since.departure.rows(); ++l) {
    std::array<float, 2> amount{}, deviations{};
    for (std::size_t c = 0; c < cells; ++c) {
      const float d = since.departure[l][c] / since.slices;
      if (d <= 0) continue;
      const bool work = columns.work[c % width] != 0;
      amount[work] = std::max(amount[work], d);
      deviations[work] = std::max(deviations[work], d / means.deviation(l, c, since.slices));
    }
    for (const std::size_t work : {0, 1}) {
      const float weight = std::min(deviations[work], kMostDeviations) * amount[work];
      if (weight > out[work].weight) out[work] = {l, weight};
    }
  }
  return out;
}

// Where of a node's leaves those that could show it do, it is the node's matter, and the others' turn has not
// come.
void blame_whole_node(const Since& since, const NodeItems& items, std::size_t x,
                      std::set<std::uint32_t>& leaves) {
  const std::size_t excess_at = Contrast::kExcess * since.time_in.columns() + x;
  float all = 0, longer = 0;
  for (const std::uint32_t l : leaves) all += since.time_in[l][x], longer += since.departure[l][excess_at];
  if (all <= 0 || longer <= 0) return;
  const float part = longer / all;
  const std::size_t before = leaves.size();
  for (const std::uint32_t i : items.upwards()) {
    const auto below = items.below(i);
    std::uint32_t could = 0, do_so = 0, blamed = 0;
    for (const LeafIndex leaf : below) {
      const std::uint32_t l = leaf.value;
      blamed += leaves.contains(l);
      if (since.time_in[l][x] < kCouldShow) continue;
      could += 1;
      do_so += since.departure[l][excess_at] >= kBelongs * part * since.time_in[l][x];
    }
    if (blamed < kFewestOfNode || blamed * 3 < before * 2) continue;
    if (could * kFewOfNode < below.size() || do_so * 3 < could * 2) continue;
    for (const LeafIndex leaf : below) leaves.insert(leaf.value);
    return;
  }
}

// Who waits so much less than usual, while others wait longer, that they may wait for him; by leaf, none if
// nobody does.
std::set<std::uint32_t> no_longer_wait(const Since& since, const NodeMeans& means, const Columns& columns,
                                       float longer) {
  const std::size_t leaves = since.departure.rows(), width = columns.work.size();
  std::vector<float> less(leaves, 0.0f);
  std::size_t surest = 0;
  float most = 0;
  for (std::size_t l = 0; l < leaves; ++l) {
    float variance = 0;
    for (std::size_t x = Contrast::kMachine; x < width; ++x) {
      if (columns.work[x]) continue;
      const std::size_t c = Contrast::kShare * width + x;
      const float deviation = means.deviation(l, c, since.slices);
      less[l] -= since.departure[l][c] / since.slices;
      variance += deviation * deviation;
    }
    const float deviations = variance > 0 ? less[l] / std::sqrt(variance) : 0;
    if (deviations > most) most = deviations, surest = l;
  }
  std::set<std::uint32_t> out;
  if (most < kNoLongerWaits || less[surest] < kBelongs * longer) return out;
  for (std::uint32_t l = 0; l < leaves; ++l)
    if (less[l] >= kBelongs * less[surest]) out.insert(l);
  return out;
}

}  // namespace

Blamed blame_departures(const Since& since, const NodeMeans& means, const NodeItems& items,
                        const Columns& columns) {
  Blamed out;
  const std::size_t leaves = since.departure.rows(), cells = since.departure.columns();
  const std::size_t width = columns.work.size();
  const float one = 1 / since.slices;
  const auto strongest = strongest_of(since, means, columns);
  const bool by_work = strongest[1].weight >= kWorkBefore * strongest[0].weight;
  std::vector<std::uint32_t> members{static_cast<std::uint32_t>(strongest[by_work].leaf)};
  const auto taken = [&](std::size_t l) {
    const float* const d = since.departure[l];
    return std::max(d[Contrast::kDenied] + d[Contrast::kStopped], kStorageFirst * d[Contrast::kBlocked]) *
           one;
  };
  std::uint32_t robbed = 0;
  for (std::uint32_t l = 1; l < leaves; ++l)
    if (taken(l) > taken(robbed)) robbed = l;
  const bool by_machine = leaves > 0 && taken(robbed) >= kTaken;
  if (by_machine) members = {robbed};
  // Who goes the way of the strongest goes with it; their mean is the way.
  const auto set_way = [&] {
    out.way.assign(cells, 0.0f);
    for (const std::uint32_t l : members)
      for (std::size_t c = 0; c < cells; ++c)
        if (by_machine ? c < Contrast::kMachine : !by_work || columns.work[c % width])
          out.way[c] += since.departure[l][c] * one / static_cast<float>(members.size());
    // What becomes less is no way to go, for it says not why.
    for (float& v : out.way) v = std::max(v, 0.0f);
  };
  for (int round = 0; round < kRounds; ++round) {
    set_way();
    float length = 0;
    for (const float v : out.way) length += v * v;
    std::vector<std::uint32_t> next;
    for (std::uint32_t l = 0; l < leaves; ++l) {
      float along = 0;
      for (std::size_t c = 0; c < cells; ++c) along += out.way[c] * since.departure[l][c] * one;
      if (along >= kBelongs * length && length > 0) next.push_back(l);
    }
    if (next.empty() || next == members) break;
    members = std::move(next);
  }
  set_way();
  out.everybody =
      leaves >= kLeastLeaves && members.size() * 3 > leaves * 2 && !(by_machine && since.taken_by_others);
  out.leaves = {members.begin(), members.end()};
  out.works = by_work || by_machine;
  const auto longest =
      static_cast<std::size_t>(std::max_element(out.way.begin(), out.way.end()) - out.way.begin());
  const std::size_t column = out.way.empty() ? 0 : longest % width;
  if (by_work && !by_machine && !out.everybody) blame_whole_node(since, items, column, out.leaves);
  out.excess = out.way[(column < Contrast::kMachine ? Contrast::kShare : Contrast::kExcess) * width + column];
  out.state = columns.state_of[column];
  out.depart = out.leaves;
  if (out.works || out.everybody) return out;
  std::set<std::uint32_t> causes =
      no_longer_wait(since, means, columns, out.way.empty() ? 0 : out.way[longest]);
  if (causes.empty() || causes.size() > out.leaves.size()) return out;
  out.leaves = std::move(causes);
  out.works = true;
  // In the work that they were at most.
  float most = 0;
  for (std::size_t x = Contrast::kMachine; x < width; ++x) {
    float in = 0;
    for (const std::uint32_t l : out.leaves) in += since.time_in[l][x];
    if (columns.work[x] && in > most) most = in, out.state = columns.state_of[x];
  }
  return out;
}

Blamed blame_lengths(const StretchSums& sums, const NodeItems& items, const Columns& columns, float cost,
                     float least, double least_effect) {
  Blamed out;
  const std::size_t width = columns.work.size();
  // All states, and those that are work.
  std::vector<char> work = columns.work;
  std::fill_n(work.begin(), Contrast::kMachine, 0);
  const std::array<std::vector<char>, 2> among = {std::vector<char>(width, 1), work};
  std::array<float, 2> most{};
  for (std::size_t i = 0; i < items.size(); ++i)
    for (const std::size_t k : {0, 1})
      // Work that takes next to no time explains nobody's waits, however much longer it takes than ever.
      if (const auto s = sums.of(i, among[k]); k == 0 || static_cast<double>(s.effect) >= least_effect)
        most[k] = std::max(most[k], s.score);
  const bool by_work = most[1] >= kWorkBefore * most[0];
  std::vector<StretchSums::Score> scores(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) scores[i] = sums.of(i, among[by_work]);
  least = std::min(least, most[by_work]);
  // best(node) = max(score - cost, sum over its children, 0).
  std::vector<float> best(items.size()), children(items.size());
  // A whole node has to tell more than its parts do: one of them alone makes it loud.
  const auto whole = [&](std::size_t i) {
    const float gain = scores[i].score - cost;
    return gain > children[i] + kWhole || children[i] <= 0 ? gain : 0;
  };
  const auto settle = [&](std::size_t i) {
    best[i] = std::max({whole(i), children[i], 0.0f});
    if (items.parent(i) != NodeItems::kNone) children[items.parent(i)] += best[i];
  };
  for (std::size_t l = 0; l < items.leaves(); ++l) settle(l);
  for (const std::uint32_t i : items.upwards()) settle(i);
  // From the top down: the largest that are better than their parts.
  std::vector<char> inside(items.size());
  std::vector<std::uint32_t> areas;
  const auto choose = [&](std::uint32_t i) {
    const std::uint32_t p = items.parent(i);
    inside[i] = p != NodeItems::kNone && inside[p];
    if (inside[i] || best[i] <= 0 || whole(i) <= children[i]) return;
    inside[i] = 1;
    if (scores[i].score >= least) areas.push_back(i);
  };
  for (auto i = items.upwards().rbegin(); i != items.upwards().rend(); ++i) choose(*i);
  for (std::uint32_t l = 0; l < items.leaves(); ++l) choose(l);
  if (areas.empty()) {
    for (std::uint32_t i = 0; i < items.size(); ++i)
      if (areas.empty() || scores[i].score > scores[areas[0]].score) areas.assign(1, i);
  }
  double longest = 0;
  for (const std::uint32_t i : areas) longest = std::max<double>(longest, scores[i].ratio);
  double lost = 0;
  for (const std::uint32_t i : areas) {
    if (scores[i].ratio < kBelongs * longest) continue;
    for (const LeafIndex l : items.below(i)) out.leaves.insert(l.value);
    lost = std::max<double>(lost, scores[i].effect);
  }
  out.everybody = items.leaves() >= kLeastLeaves && out.leaves.size() * 3 > items.leaves() * 2;
  out.works = by_work;
  out.log_ratio = longest;
  out.excess = lost;
  // The state with the most evidence.
  float strongest = 0;
  for (std::size_t x = 0; x < width; ++x) {
    if (!among[by_work][x]) continue;
    std::vector<char> one(width, 0);
    one[x] = 1;
    for (const std::uint32_t i : areas) {
      const float s = sums.of(i, one).score;
      if (s > strongest) strongest = s, out.state = columns.state_of[x];
    }
  }
  return out;
}

}  // namespace margay::detect
