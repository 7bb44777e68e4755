#include "margay/detect/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace margay::detect {
namespace {

// So far apart, and so many times what chance makes, are the same.
constexpr double kSameVisitsBits = 0.02;
constexpr double kChance = 3;

}  // namespace

// At least so many leaves and columns; new ones are 0.
void Distribution::reach(std::size_t leaves, std::size_t columns) {
  leaves = std::max(leaves, weight_.size());
  if (columns > columns_) {
    std::vector<double> wider(leaves * columns, 0.0);
    for (std::size_t l = 0; l < weight_.size(); ++l)
      std::copy_n(sum_.data() + l * columns_, columns_, wider.data() + l * columns);
    sum_ = std::move(wider);
    visits_.resize(columns, 0.0);
    columns_ = columns;
  } else if (leaves > weight_.size()) {
    sum_.resize(leaves * columns_, 0.0);
  }
  weight_.resize(leaves, 0.0);
}

void Distribution::add(const Window& window, SliceIndex slice, double weight) {
  const Window::Rows rows = window.rows(slice);
  reach(std::max(window.leaves(), rows.weights.size()), rows.columns);
  if (rows.columns == columns_) {  // mostly: one straight run
    double* const to = sum_.data();
    const double* const from = rows.values.data();
    for (std::size_t i = 0; i < rows.values.size(); ++i) to[i] += weight * from[i];
  } else {
    for (std::size_t l = 0; l < rows.weights.size(); ++l)
      for (std::size_t x = 0; x < rows.columns; ++x)
        sum_[l * columns_ + x] += weight * rows.values[l * rows.columns + x];
  }
  for (std::size_t l = 0; l < rows.weights.size(); ++l) weight_[l] += weight * rows.weights[l];
  const std::span<const double> visits = window.visits(slice);
  for (std::size_t x = 0; x < visits.size(); ++x) visits_[x] += weight * visits[x];
  slices_ += weight;
}

void Distribution::add(const Distribution& o) {
  reach(o.leaves(), o.columns_);
  for (std::size_t l = 0; l < o.leaves(); ++l) {
    for (std::size_t x = 0; x < o.columns_; ++x) sum_[l * columns_ + x] += o.sum_[l * o.columns_ + x];
    weight_[l] += o.weight_[l];
  }
  for (std::size_t x = 0; x < o.columns_; ++x) visits_[x] += o.visits_[x];
  slices_ += o.slices_;
}

void Distribution::scale(double factor) {
  for (double& v : sum_) v *= factor;
  for (double& w : weight_) w *= factor;
  for (double& n : visits_) n *= factor;
  slices_ *= factor;
}

double Distribution::share(LeafIndex leaf, std::size_t column) const {
  if (leaf.value >= leaves() || column >= columns_ || weight_[leaf.value] <= 0) return 0.0;
  return sum_[leaf.value * columns_ + column] / weight_[leaf.value];
}

std::vector<double> Distribution::pooled() const {
  std::vector<double> out(columns_, 0.0);
  double weight = 0;
  for (std::size_t l = 0; l < leaves(); ++l) {
    for (std::size_t x = 0; x < columns_; ++x) out[x] += sum_[l * columns_ + x];
    weight += weight_[l];
  }
  if (weight > 0)
    for (double& v : out) v /= weight;
  return out;
}

double distance_bits(const Distribution& a, const Distribution& b) {
  const auto term = [](double v, double m) { return v > 0 ? v * std::log2(v / m) : 0.0; };
  const std::size_t columns = std::max(a.columns_, b.columns_);
  double sum = 0;
  std::size_t compared = 0;
  for (std::size_t l = 0; l < std::min(a.leaves(), b.leaves()); ++l) {
    if (a.weight_[l] <= 0 || b.weight_[l] <= 0) continue;
    const LeafIndex leaf(static_cast<std::uint32_t>(l));
    double bits = 0;
    for (std::size_t x = 0; x < columns; ++x) {
      const double u = a.share(leaf, x), v = b.share(leaf, x), m = (u + v) / 2;
      bits += 0.5 * (term(u, m) + term(v, m));
    }
    sum += bits;
    ++compared;
  }
  return compared > 0 ? sum / static_cast<double>(compared) : 0.0;
}

double distance_bound_bits(const Distribution& a, const Distribution& b) {
  const std::size_t both = std::min(a.columns_, b.columns_);
  double sum = 0;
  std::size_t compared = 0;
  for (std::size_t l = 0; l < std::min(a.leaves(), b.leaves()); ++l) {
    if (a.weight_[l] <= 0 || b.weight_[l] <= 0) continue;
    const double one_a = 1 / a.weight_[l], one_b = 1 / b.weight_[l];
    const double* const in_a = a.sum_.data() + l * a.columns_;
    const double* const in_b = b.sum_.data() + l * b.columns_;
    double terms = 0;
    for (std::size_t x = 0; x < both; ++x) {
      const double u = in_a[x] * one_a, v = in_b[x] * one_b;
      // A state that neither shows: 0, not 0 / 0.
      terms += (u - v) * (u - v) / std::max(u + v, std::numeric_limits<double>::min());
    }
    for (std::size_t x = both; x < a.columns_; ++x) terms += in_a[x] * one_a;
    for (std::size_t x = both; x < b.columns_; ++x) terms += in_b[x] * one_b;
    sum += terms;
    ++compared;
  }
  // Some roundings may not turn the comparison round.
  return compared > 0 ? 0.5 * sum / static_cast<double>(compared) * (1 + 1e-9) + 1e-12 : 0.0;
}

double merge_loss_bits(const Distribution& a, const Distribution& b) {
  const std::size_t columns = std::max(a.columns_, b.columns_);
  double bits = 0;
  for (std::size_t l = 0; l < std::min(a.leaves(), b.leaves()); ++l) {
    const double wa = a.weight_[l], wb = b.weight_[l];
    if (wa <= 0 || wb <= 0) continue;
    for (std::size_t x = 0; x < columns; ++x) {
      const double sa = x < a.columns_ ? a.sum_[l * a.columns_ + x] : 0.0;
      const double sb = x < b.columns_ ? b.sum_[l * b.columns_ + x] : 0.0;
      if (sa + sb <= 0) continue;
      const double together = (sa + sb) / (wa + wb);
      if (sa > 0) bits += sa * std::log2(sa / wa / together);
      if (sb > 0) bits += sb * std::log2(sb / wb / together);
    }
  }
  return bits;
}

bool same_visits(const Distribution& a, const Distribution& b) {
  return same_visits(a.visits(), b.visits());
}

double merge_loss_bits(std::span<const double> a, std::span<const double> b) {
  const auto sum = [](std::span<const double> v) { return std::accumulate(v.begin(), v.end(), 0.0); };
  const double all_a = sum(a), all_b = sum(b);
  if (all_a <= 0 || all_b <= 0) return 0;
  double bits = 0;
  for (std::size_t x = 0; x < std::max(a.size(), b.size()); ++x) {
    const double u = x < a.size() ? a[x] : 0, v = x < b.size() ? b[x] : 0, m = (u + v) / (all_a + all_b);
    bits += (u > 0 ? u * std::log2(u / all_a / m) : 0) + (v > 0 ? v * std::log2(v / all_b / m) : 0);
  }
  return bits;
}

bool same_visits(std::span<const double> a, std::span<const double> b) {
  const auto sum = [](std::span<const double> v) { return std::accumulate(v.begin(), v.end(), 0.0); };
  const double all_a = sum(a), all_b = sum(b);
  if (std::min(all_a, all_b) < kLeastVisits) return false;
  const auto term = [](double v, double m) { return v > 0 ? v * std::log2(v / m) : 0.0; };
  const auto share = [](std::span<const double> v, std::size_t x, double all) {
    return x < v.size() ? v[x] / all : 0.0;
  };
  double bits = 0, states = 0;
  for (std::size_t x = 0; x < std::max(a.size(), b.size()); ++x) {
    const double u = share(a, x, all_a), v = share(b, x, all_b), m = (u + v) / 2;
    bits += 0.5 * (term(u, m) + term(v, m));
    states += m > 0 ? 1 : 0;
  }
  // As many bits are expected of chance, where visits are drawn one by one.
  const double chance = (states - 1) * (1 / all_a + 1 / all_b) / (8 * std::numbers::ln2);
  return bits <= kSameVisitsBits + kChance * chance;
}

double total_variation(std::span<const double> row, double weight, const Distribution& mean, LeafIndex leaf) {
  if (weight <= 0 || mean.weight(leaf) <= 0) return 0.0;
  double both = 0;  // what the two have in common
  for (std::size_t x = 0; x < row.size(); ++x) both += std::min(row[x] / weight, mean.share(leaf, x));
  return std::clamp(1.0 - both, 0.0, 1.0);
}

}  // namespace margay::detect
