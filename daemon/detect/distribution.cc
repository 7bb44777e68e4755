#include "margay/detect/distribution.h"

#include <algorithm>
#include <cmath>

namespace margay::detect {

void Distribution::add(const Window& window, SliceIndex slice, double weight) {
  if (sum_.size() < window.leaves()) {
    sum_.resize(window.leaves());
    weight_.resize(window.leaves(), 0.0);
  }
  for (std::uint32_t l = 0; l < window.leaves(); ++l) {
    const auto row = window.row(slice, LeafIndex(l));
    if (sum_[l].size() < row.size()) sum_[l].resize(row.size(), 0.0);
    for (std::size_t x = 0; x < row.size(); ++x) sum_[l][x] += weight * row[x];
    weight_[l] += weight * window.weight(slice, LeafIndex(l));
  }
  slices_ += weight;
}

void Distribution::add(const Distribution& o) {
  if (sum_.size() < o.sum_.size()) {
    sum_.resize(o.sum_.size());
    weight_.resize(o.sum_.size(), 0.0);
  }
  for (std::size_t l = 0; l < o.sum_.size(); ++l) {
    if (sum_[l].size() < o.sum_[l].size()) sum_[l].resize(o.sum_[l].size(), 0.0);
    for (std::size_t x = 0; x < o.sum_[l].size(); ++x) sum_[l][x] += o.sum_[l][x];
    weight_[l] += o.weight_[l];
  }
  slices_ += o.slices_;
}

void Distribution::scale(double factor) {
  for (auto& leaf : sum_)
    for (double& v : leaf) v *= factor;
  for (double& w : weight_) w *= factor;
  slices_ *= factor;
}

double Distribution::share(LeafIndex leaf, std::size_t column) const {
  if (leaf.value >= sum_.size() || column >= sum_[leaf.value].size() || weight_[leaf.value] <= 0) return 0.0;
  return sum_[leaf.value][column] / weight_[leaf.value];
}

std::vector<double> Distribution::pooled() const {
  std::vector<double> out;
  double weight = 0;
  for (std::size_t l = 0; l < sum_.size(); ++l) {
    if (out.size() < sum_[l].size()) out.resize(sum_[l].size(), 0.0);
    for (std::size_t x = 0; x < sum_[l].size(); ++x) out[x] += sum_[l][x];
    weight += weight_[l];
  }
  if (weight > 0)
    for (double& v : out) v /= weight;
  return out;
}

double distance_bits(const Distribution& a, const Distribution& b) {
  const auto term = [](double v, double m) { return v > 0 ? v * std::log2(v / m) : 0.0; };
  double sum = 0;
  std::size_t compared = 0;
  for (std::size_t l = 0; l < std::min(a.sum_.size(), b.sum_.size()); ++l) {
    if (a.weight_[l] <= 0 || b.weight_[l] <= 0) continue;
    const LeafIndex leaf(static_cast<std::uint32_t>(l));
    double bits = 0;
    for (std::size_t x = 0; x < std::max(a.sum_[l].size(), b.sum_[l].size()); ++x) {
      const double u = a.share(leaf, x), v = b.share(leaf, x), m = (u + v) / 2;
      bits += 0.5 * (term(u, m) + term(v, m));
    }
    sum += bits;
    ++compared;
  }
  return compared > 0 ? sum / static_cast<double>(compared) : 0.0;
}

double merge_loss_bits(const Distribution& a, const Distribution& b) {
  double bits = 0;
  for (std::size_t l = 0; l < std::min(a.sum_.size(), b.sum_.size()); ++l) {
    const double wa = a.weight_[l], wb = b.weight_[l];
    if (wa <= 0 || wb <= 0) continue;
    for (std::size_t x = 0; x < std::max(a.sum_[l].size(), b.sum_[l].size()); ++x) {
      const double sa = x < a.sum_[l].size() ? a.sum_[l][x] : 0.0;
      const double sb = x < b.sum_[l].size() ? b.sum_[l][x] : 0.0;
      if (sa + sb <= 0) continue;
      const double together = (sa + sb) / (wa + wb);
      if (sa > 0) bits += sa * std::log2(sa / wa / together);
      if (sb > 0) bits += sb * std::log2(sb / wb / together);
    }
  }
  return bits;
}

double total_variation(std::span<const double> row, double weight, const Distribution& mean, LeafIndex leaf) {
  if (weight <= 0 || mean.weight(leaf) <= 0) return 0.0;
  double both = 0;  // what the two have in common
  for (std::size_t x = 0; x < row.size(); ++x) both += std::min(row[x] / weight, mean.share(leaf, x));
  return std::clamp(1.0 - both, 0.0, 1.0);
}

}  // namespace margay::detect
