#include "margay/scene/temporal_bars.h"

#include <algorithm>

#include "mixture.h"
#include "shared_cuts.h"

namespace margay::scene {
namespace {

struct Overlap {
  std::uint32_t part = 0;
  bool beyond = false;  // it is of a node above
};

// The parts that hold cells of the node: of it and of those below, and of those above.
std::vector<Overlap> overlapping(const ViewData& data, std::uint32_t node) {
  std::vector<Overlap> out;
  for (const Part& part : data.parts_below(node))
    out.push_back({static_cast<std::uint32_t>(data.index_of(part)), false});
  while (node != 0) {
    node = data.nodes[node].parent;
    for (const Part& part : data.parts_of(node))
      out.push_back({static_cast<std::uint32_t>(data.index_of(part)), true});
  }
  return out;
}

std::vector<std::uint32_t> cuts_of(const ViewData& data, const std::vector<Overlap>& overlaps) {
  internal::SharedCuts cuts(data.slices());
  for (const Overlap& o : overlaps) cuts.add(data.parts[o.part].first, data.parts[o.part].last);
  std::vector<std::uint32_t> ends{0};
  cuts.ends(0, static_cast<std::uint32_t>(data.slices()), ends);
  return ends;
}

// Stacks what was mixed; `place` is where each state comes.
void stack(const ViewData& data, const internal::Mixture& mixture, const std::vector<std::uint32_t>& place,
           double least_share, Bar& bar) {
  std::vector<std::uint32_t> states = mixture.states();
  std::sort(states.begin(), states.end(),
            [&](std::uint32_t a, std::uint32_t b) { return place[a] < place[b]; });
  double at = 0, others = 0;
  std::uint32_t pooled = 0, last_pooled = 0;
  for (const std::uint32_t state : states) {
    const double share = mixture.share(state);
    if (!data.states[state].known() || !(share > 0)) continue;
    if (share < least_share) {
      others += share;
      last_pooled = state;
      ++pooled;
      continue;
    }
    bar.segments.push_back({static_cast<std::int32_t>(state), at, at + share, 1});
    at += share;
  }
  // One alone has a name.
  if (pooled == 1) bar.segments.push_back({static_cast<std::int32_t>(last_pooled), at, at + others, 1});
  if (pooled > 1) bar.segments.push_back({kOthers, at, at + others, pooled});
}

}  // namespace

std::vector<Bar> temporal_bars(const ViewData& data, const BarOptions& options) {
  if (data.empty() || options.node >= data.nodes.size()) return {};
  std::vector<Overlap> overlaps = overlapping(data, options.node);
  const std::vector<std::uint32_t> cuts = cuts_of(data, overlaps);
  std::vector<Bar> bars(cuts.size() - 1);
  std::vector<std::uint32_t> bar_of(data.slices());
  for (std::size_t i = 0; i < bars.size(); ++i) {
    bars[i].first = cuts[i];
    bars[i].last = cuts[i + 1];
    bars[i].parts = 0;
    std::fill(bar_of.begin() + cuts[i], bar_of.begin() + cuts[i + 1], static_cast<std::uint32_t>(i));
  }
  const auto bar_index = [&](const Overlap& o) { return bar_of[data.parts[o.part].first]; };
  std::stable_sort(overlaps.begin(), overlaps.end(),
                   [&](const Overlap& a, const Overlap& b) { return bar_index(a) < bar_index(b); });
  std::vector<std::uint32_t> place(data.states.size());
  const std::vector<std::uint32_t> order = states_in_order(data);
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;

  internal::Mixture mixture(data);
  const double here = static_cast<double>(data.nodes[options.node].leaf_count);
  for (std::size_t i = 0, at = 0; i < bars.size(); ++i) {
    Bar& bar = bars[i];
    mixture.clear();
    for (; at < overlaps.size() && bar_index(overlaps[at]) == i; ++at) {
      const Part& part = data.parts[overlaps[at].part];
      const double all = static_cast<double>(data.nodes[part.node].leaf_count);
      const bool beyond = overlaps[at].beyond && all != here;
      const double share = beyond ? here / all : 1;
      bar.gain += part.gain * share;
      bar.loss += part.loss * share;
      bar.pro_rata = bar.pro_rata || beyond;
      ++bar.parts;
      mixture.add(part, (beyond ? here : all) * data.seconds(part.first, part.last));
    }
    bar.known = mixture.known();
    bar.weight = mixture.weight();
    bar.mode = mixture.mode().state;
    stack(data, mixture, place, options.least_share, bar);
  }
  return bars;
}

std::vector<std::uint32_t> shared_cuts(const ViewData& data, std::uint32_t node) {
  if (data.empty() || node >= data.nodes.size()) return {};
  return cuts_of(data, overlapping(data, node));
}

}  // namespace margay::scene
