#include "support/partition_bruteforce.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace margay::support {
namespace {

std::vector<std::size_t> leaf_nodes(const Parents& parents) {
  std::vector<bool> inner(parents.size(), false);
  for (const int p : parents) {
    if (p >= 0) inner[static_cast<std::size_t>(p)] = true;
  }
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < parents.size(); ++k) {
    if (!inner[k]) out.push_back(k);
  }
  return out;
}

Covers::Best judge(const std::vector<double>& pic, const std::vector<std::size_t>& parts, double price) {
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  Covers::Best best{kLowest, kLowest, std::numeric_limits<std::size_t>::max()};
  for (std::size_t c = 0; c < pic.size(); ++c) {
    best.pic = std::max(best.pic, pic[c]);
    best.priced = std::max(best.priced, pic[c] - price * static_cast<double>(parts[c]));
  }
  for (std::size_t c = 0; c < pic.size(); ++c) {
    if (pic[c] - price * static_cast<double>(parts[c]) >= best.priced - price / 16) {
      best.parts = std::min(best.parts, parts[c]);
    }
  }
  return best;
}

}  // namespace

Measure measure_area(const Cells& cells, const std::vector<std::size_t>& leaves, std::size_t first,
                     std::size_t last) {
  Measure m;
  double weight = 0, total = 0;
  for (const std::size_t s : leaves) {
    for (std::size_t t = first; t <= last; ++t) weight += cells.weight(s, t);
  }
  for (std::size_t x = 0; x < cells.states; ++x) {
    double sum = 0, information = 0;
    for (const std::size_t s : leaves) {
      for (std::size_t t = first; t <= last; ++t) {
        const double v = cells.value(s, t, x);
        sum += v;
        if (v > 0) information += v * std::log2(v / cells.weight(s, t));
      }
    }
    total += sum;
    m.loss += information - (sum > 0 ? sum * std::log2(sum / weight) : 0.0);
  }
  m.gain = (weight > 0 ? total * std::log2(weight) : 0.0) - m.loss;
  return m;
}

Measure measure_interval(const Cells& cells, std::size_t first, std::size_t last) {
  Measure sum;
  for (std::size_t s = 0; s < cells.leaves; ++s) {
    const Measure one = measure_area(cells, {s}, first, last);
    sum.loss += one.loss;
    sum.gain += one.gain;
  }
  return sum;
}

std::vector<std::size_t> leaves_below(const Parents& parents, std::size_t node) {
  std::vector<std::size_t> out;
  const auto leaves = leaf_nodes(parents);
  for (std::size_t s = 0; s < leaves.size(); ++s) {
    for (int k = static_cast<int>(leaves[s]); k >= 0; k = parents[static_cast<std::size_t>(k)]) {
      if (static_cast<std::size_t>(k) == node) out.push_back(s);
    }
  }
  return out;
}

Covers::Covers(const Parents& parents, std::size_t slices) : parents_(parents), slices_(slices) {
  const std::size_t cells = leaf_nodes(parents).size() * slices;
  full_ = (std::uint32_t{1} << cells) - 1;
  for (std::size_t k = 0; k < parents.size(); ++k) {
    for (std::size_t i = 0; i < slices; ++i) {
      for (std::size_t j = i; j < slices; ++j) {
        std::uint32_t mask = 0;
        for (const std::size_t s : leaves_below(parents, k)) {
          for (std::size_t t = i; t <= j; ++t) mask |= std::uint32_t{1} << (s * slices + t);
        }
        // Of nodes with the same leaves (a chain) one will do: the area is the same.
        bool known = false;
        for (const Rectangle& r : rectangles_) known = known || r.mask == mask;
        if (!known) rectangles_.push_back({k, i, j, mask});
      }
    }
  }
  begin_.push_back(0);
  std::vector<std::uint16_t> chosen;
  extend(0, chosen);
}

void Covers::extend(std::uint32_t covered, std::vector<std::uint16_t>& chosen) {
  if (covered == full_) {
    members_.insert(members_.end(), chosen.begin(), chosen.end());
    begin_.push_back(members_.size());
    return;
  }
  const std::uint32_t next = ~covered & (covered + 1);  // the lowest cell not covered
  for (std::size_t r = 0; r < rectangles_.size(); ++r) {
    if ((rectangles_[r].mask & next) == 0 || (rectangles_[r].mask & covered) != 0) continue;
    chosen.push_back(static_cast<std::uint16_t>(r));
    extend(covered | rectangles_[r].mask, chosen);
    chosen.pop_back();
  }
}

Covers::Best Covers::best(const Cells& cells, double p, double price) const {
  std::vector<double> value(rectangles_.size());
  for (std::size_t r = 0; r < rectangles_.size(); ++r) {
    const Rectangle& area = rectangles_[r];
    value[r] = measure_area(cells, leaves_below(parents_, area.node), area.first, area.last).pic(p);
  }
  std::vector<double> pic(count(), 0.0);
  std::vector<std::size_t> parts(count());
  for (std::size_t c = 0; c < count(); ++c) {
    parts[c] = begin_[c + 1] - begin_[c];
    for (std::size_t m = begin_[c]; m < begin_[c + 1]; ++m) pic[c] += value[members_[m]];
  }
  return judge(pic, parts, price);
}

Covers::Best best_composition(const Cells& cells, double p, double price) {
  const std::size_t n = cells.slices;
  std::vector<double> value(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) value[i * n + j] = measure_interval(cells, i, j).pic(p);
  }
  // Bit t of `cuts`: a cut after slice t.
  const std::size_t all = std::size_t{1} << (n - 1);
  std::vector<double> pic(all, 0.0);
  std::vector<std::size_t> parts(all, 1);
  for (std::size_t cuts = 0; cuts < all; ++cuts) {
    std::size_t first = 0;
    for (std::size_t t = 0; t + 1 < n; ++t) {
      if ((cuts >> t & 1) == 0) continue;
      pic[cuts] += value[first * n + t];
      first = t + 1;
      ++parts[cuts];
    }
    pic[cuts] += value[first * n + n - 1];
  }
  return judge(pic, parts, price);
}

double priced_optimum(const Parents& parents, const Cells& cells, double p, double price) {
  const std::size_t n = cells.slices;
  std::vector<std::vector<double>> best(parents.size(), std::vector<double>(n * n));
  for (std::size_t k = parents.size(); k-- > 0;) {
    const auto leaves = leaves_below(parents, k);
    for (std::size_t length = 1; length <= n; ++length) {
      for (std::size_t i = 0; i + length <= n; ++i) {
        const std::size_t j = i + length - 1;
        double& top = best[k][i * n + j];
        top = measure_area(cells, leaves, i, j).pic(p) - price;
        double split = 0;
        bool inner = false;
        for (std::size_t c = k + 1; c < parents.size(); ++c) {
          if (parents[c] != static_cast<int>(k)) continue;
          inner = true;
          split += best[c][i * n + j];
        }
        if (inner) top = std::max(top, split);
        for (std::size_t m = i; m < j; ++m)
          top = std::max(top, best[k][i * n + m] + best[k][(m + 1) * n + j]);
      }
    }
  }
  return best[0][n - 1];
}

}  // namespace margay::support
