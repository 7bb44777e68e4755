#include "blame.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "contrast.h"

namespace margay::detect {
namespace {

constexpr float kPartOfLongest = 0.5f;  // of the logarithm of times as long, to be blamed with the longest
constexpr float kWorkFirst = 0.3f;      // of the evidence of waits: as much of work is the cause
constexpr float kWhole = 3;             // nats that a node tells more than its parts

}  // namespace

Blamed blame_lengths(const SurpriseSums& sums, const NodeItems& items, const Columns& columns, float cost,
                     float least) {
  Blamed out;
  const std::size_t width = columns.work.size();
  // All states, and those that are work.
  std::vector<char> work = columns.work;
  std::fill_n(work.begin(), Contrast::kMachine, 0);
  const std::array<std::vector<char>, 2> among = {std::vector<char>(width, 1), work};
  std::array<float, 2> most{};
  for (std::size_t i = 0; i < items.size(); ++i)
    for (const std::size_t k : {0, 1}) most[k] = std::max(most[k], sums.of(i, among[k]).score);
  const bool by_work = most[1] >= kWorkFirst * most[0];
  std::vector<SurpriseSums::Score> scores(items.size());
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
    if (scores[i].ratio < kPartOfLongest * longest) continue;
    for (const LeafIndex l : items.below(i)) out.leaves.insert(l.value);
    lost = std::max<double>(lost, scores[i].effect);
  }
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
