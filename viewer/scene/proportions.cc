#include <algorithm>

#include "margay/scene/view_data.h"
#include "mixture.h"

namespace margay::scene {

namespace {

// How many leaves of ascending ranges are within others.
class Counted {
 public:
  Counted(std::span<const LeafRange> ranges, std::uint64_t leaves) {
    for (const LeafRange& r : ranges) {
      const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{r.first} + r.count, leaves);
      if (r.first >= end) continue;
      begins_.push_back(r.first);
      ends_.push_back(end);
      before_.push_back(total_);
      total_ += end - r.first;
    }
  }
  std::uint64_t total() const { return total_; }
  std::uint64_t within(std::uint64_t from, std::uint64_t to) const { return before(to) - before(from); }

 private:
  // Below this leaf.
  std::uint64_t before(std::uint64_t leaf) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), leaf) - begins_.begin();
    if (after == 0) return 0;
    const auto at = static_cast<std::size_t>(after - 1);
    return before_[at] + std::min(leaf, ends_[at]) - begins_[at];
  }
  std::vector<std::uint64_t> begins_, ends_, before_;
  std::uint64_t total_ = 0;
};

}  // namespace

Proportions proportions(const ViewData& data, std::span<const LeafRange> leaf_ranges, std::size_t first,
                        std::size_t last) {
  Proportions out;
  out.shares.assign(data.states.size(), 0);
  last = std::min(last, data.slices());
  const Counted counted(leaf_ranges, data.leaves());
  if (first >= last || counted.total() == 0) return out;
  internal::Mixture mixture(data);
  for (std::uint32_t n = 0; n < data.nodes.size();) {
    const Node& node = data.nodes[n];
    const std::uint64_t here =
        counted.within(node.first_leaf, std::uint64_t{node.first_leaf} + node.leaf_count);
    if (here == 0) {
      n = node.end;
      continue;
    }
    const double leaves = static_cast<double>(here);
    for (const Part& part : data.parts_of(n)) {
      const std::size_t begin = std::max<std::size_t>(part.first, first);
      const std::size_t end = std::min<std::size_t>(part.last, last);
      if (begin >= end) continue;
      const double area = leaves * data.seconds(begin, end);
      const double of = static_cast<double>(node.leaf_count) * data.seconds(part.first, part.last);
      const bool whole = here == node.leaf_count && begin == part.first && end == part.last;
      out.pro_rata = out.pro_rata || !whole;
      out.gain += whole ? part.gain : part.gain * (area / of);
      out.loss += whole ? part.loss : part.loss * (area / of);
      ++out.parts;
      mixture.add(part, area);
    }
    ++n;
  }
  for (const std::uint32_t state : mixture.states()) out.shares[state] = mixture.share(state);
  out.known = mixture.known();
  out.unknown = 1 - out.known;
  const internal::Mode mode = mixture.mode();
  out.mode = mode.state;
  out.strength = mode.strength;
  out.leaf_seconds = mixture.area();
  return out;
}

Proportions proportions(const ViewData& data, std::uint32_t first_leaf, std::uint32_t leaf_count,
                        std::size_t first, std::size_t last) {
  const LeafRange leaves{first_leaf, leaf_count};
  return proportions(data, std::span(&leaves, 1), first, last);
}

Proportions proportions(const ViewData& data, std::uint32_t node, std::size_t first, std::size_t last) {
  if (node >= data.nodes.size()) return proportions(data, 0, 0, first, last);
  return proportions(data, data.nodes[node].first_leaf, data.nodes[node].leaf_count, first, last);
}

std::vector<std::uint32_t> states_in_order(const ViewData& data) {
  const auto rank = [&](std::uint32_t state) {
    switch (data.states[state].family) {
      case wire::FAMILY_COMPUTE:
        return -1;
      case wire::FAMILY_UNKNOWN:
        return 1000;
      case wire::FAMILY_ABSENT:
        return 1001;
      case wire::FAMILY_OTHER:
        return 100;  // after those that have a meaning
      default:
        return static_cast<int>(data.states[state].family);
    }
  };
  std::vector<std::uint32_t> order(data.states.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    const int names = data.states[a].name.compare(data.states[b].name);
    return names != 0 ? names < 0 : a < b;
  });
  return order;
}

}  // namespace margay::scene
