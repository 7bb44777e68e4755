#include "report_partition.h"

#include <algorithm>

namespace margay::daemon {
namespace {

struct Sums {
  double known = 0, cells = 0;
  std::vector<std::pair<double, std::uint32_t>> states;  // that it has, largest first
};

// `scratch`: by column.
Sums sums_of(const PartitionContext& context, const partition::Part& part, std::vector<double>& scratch) {
  const detect::Window& window = context.window;
  const auto leaves = context.hierarchy.leaves_below(
      part.node == partition::kAllLeaves ? model::Hierarchy::kRoot : part.node);
  scratch.assign(window.columns(), 0.0);
  Sums out;
  out.cells =
      static_cast<double>(leaves.size()) * static_cast<double>(part.last.value - part.first.value + 1);
  for (SliceIndex s = part.first; s <= part.last; ++s)
    for (const LeafIndex leaf : leaves) {
      const auto row = window.row(s, leaf);
      for (std::size_t x = 0; x < row.size(); ++x) scratch[x] += row[x];
      out.known += window.weight(s, leaf);
    }
  for (std::size_t x = 0; x < scratch.size(); ++x)
    if (scratch[x] > 0) out.states.emplace_back(scratch[x] / window.scale(), context.states[x]);
  std::sort(out.states.begin(), out.states.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  return out;
}

void clear_parts(wire::PartitionView& out) {
  out.clear_parts();
  out.clear_part_gain();
  out.clear_part_loss();
  out.clear_part_known();
  out.clear_part_states();
  out.clear_share_state();
  out.clear_share();
}

}  // namespace

void add_partition(const PartitionContext& context, const std::optional<partition::Partition>& p,
                   wire::PartitionView* out) {
  if (!p || p->parts.empty()) return;
  out->set_p(p->p);
  out->set_gain(p->gain);
  out->set_loss(p->loss);
  out->set_part_count(static_cast<std::uint32_t>(p->parts.size()));
  SliceIndex first = p->parts.front().first;
  for (const auto& part : p->parts) first = std::min(first, part.first);
  out->set_first_slice(first.value);
  if (p->parts.size() > kMostPictureParts) return;
  std::vector<double> scratch;
  for (const auto& part : p->parts) {
    const std::uint32_t node = part.node == partition::kAllLeaves ? 0 : part.node.value;
    const Sums sums = sums_of(context, part, scratch);
    if (node >= context.nodes ||
        static_cast<std::size_t>(out->share_size()) + sums.states.size() > kMostPictureShares)
      return clear_parts(*out);
    out->add_parts(node);
    out->add_parts(static_cast<std::uint32_t>(part.first.value - first.value));
    out->add_parts(static_cast<std::uint32_t>(part.last.value - first.value));
    out->add_part_gain(static_cast<float>(part.gain));
    out->add_part_loss(static_cast<float>(part.loss));
    out->add_part_known(static_cast<float>(std::clamp(sums.known / sums.cells, 0.0, 1.0)));
    out->add_part_states(static_cast<std::uint32_t>(sums.states.size()));
    for (const auto& [sum, state] : sums.states) {
      out->add_share_state(state);
      out->add_share(static_cast<float>(sum / sums.cells));
    }
  }
}

}  // namespace margay::daemon
