#include "usual_lengths.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "grid.h"
#include "vectors.h"

namespace margay::detect {
namespace {

constexpr float kLengthMemory = 256;  // slices
constexpr float kPriorExcess = 0.5f;  // mean, before any is seen
constexpr std::uint64_t kOften = 4;   // slices, after the first of as many again

}  // namespace

void UsualLengths::set_hierarchy(const model::Hierarchy& h) {
  // Inner nodes are others now: what was seen below them is not known by leaf, so that of all is kept.
  const std::vector<Lengths> before = lengths_;
  const std::vector<float> counted_before = counted_;
  std::vector<std::uint32_t> inner(h.node_count(), 0);
  std::vector<char> is_leaf(h.node_count(), 0);
  for (std::uint32_t l = 0; l < h.leaf_count(); ++l) is_leaf[h.node_of(LeafIndex(l)).value] = 1;
  const std::size_t nodes_before = parent_.size();
  const std::vector<std::uint32_t> above_before = above_;
  parent_.clear();
  path_.clear();
  for (std::uint32_t k = 0; k < h.node_count(); ++k) {
    if (is_leaf[k] && k != 0) continue;
    inner[k] = static_cast<std::uint32_t>(parent_.size());
    parent_.push_back(inner[h.nodes()[k].parent.value]);
  }
  above_.clear();
  for (std::uint32_t l = 0; l < h.leaf_count(); ++l)
    above_.push_back(inner[h[h.node_of(LeafIndex(l))].parent.value]);
  // A node that leaves had above them before goes on as that which they have now.
  lengths_.assign(parent_.size() * kinds(), {});
  counted_.assign(lengths_.size(), 0.0f);
  std::vector<char> taken(nodes_before, 0);
  const auto carry = [&](std::size_t from, std::size_t to) {
    for (std::size_t x = 0; x < kinds(); ++x) {
      Lengths& sum = lengths_[to * kinds() + x];
      const Lengths& of = before[from * kinds() + x];
      for (std::size_t b = bins_[x].first; b < bins_[x].end; ++b) sum.count[b] += of.count[b];
      counted_[to * kinds() + x] += counted_before[from * kinds() + x];
    }
  };
  for (std::size_t l = 0; l < std::min(above_before.size(), above_.size()); ++l) {
    if (std::exchange(taken[above_before[l]], 1)) continue;
    for (std::uint32_t k = above_[l];; k = parent_[k]) {
      carry(above_before[l], k);
      if (parent_[k] == k) break;
    }
  }
  tails_.assign(parent_.size() * kinds(), {});
  own_.resize(std::max(own_.size(), above_.size() * kinds()));
  believe();
}

void UsualLengths::forget() {
  own_.assign(own_.size(), {});
  lengths_.assign(lengths_.size(), {});
  counted_.assign(counted_.size(), 0.0f);
  bins_.assign(bins_.size(), {});
  learned_ = 0;
}

void UsualLengths::forget(std::uint32_t leaf) {
  if (leaf < leaves())
    std::fill_n(own_.begin() + static_cast<std::ptrdiff_t>(leaf * kinds()), kinds(), Own{});
}

bool UsualLengths::reach(std::size_t columns) {
  if (columns <= columns_) return false;
  const std::size_t leaves = std::max(above_.size(), own_.size() / std::max<std::size_t>(1, kinds()));
  lengths_ = widened(lengths_, parent_.size(), lengths_of_column_, columns_, columns);
  counted_ = widened(counted_, parent_.size(), lengths_of_column_, columns_, columns);
  own_ = widened(own_, leaves, lengths_of_column_, columns_, columns);
  bins_ = widened(bins_, 1, lengths_of_column_, columns_, columns);
  path_.clear();
  columns_ = columns, kinds_ = lengths_of_column_ * columns;
  tails_.assign(lengths_.size(), {});
  believe();
  return true;
}

// From the root down: what a node's visits say, and its parent's as so many more. Lengths of a kind fall into
// few bins: those between the shortest and the longest below the root.
void UsualLengths::believe() {
  std::vector<std::array<float, kBins>> mixed(parent_.size());
  if (of_ == Of::kBulkToo) shorter_.assign(lengths_.size(), {});
  for (std::size_t x = 0; x < kinds(); ++x) {
    const std::size_t first = bins_[x].first, end = bins_[x].end;
    if (first >= end) continue;  // there are none
    for (std::size_t k = 0; k < parent_.size(); ++k) {
      const Lengths& own = lengths_[k * kinds() + x];
      auto& mix = mixed[k];
      const bool root = parent_[k] == k;
      const float all = counted_[k * kinds() + x] + (root ? 0 : kSiblings);
      if (all <= 0) continue;
      // As parts of 1, for the children.
      const auto& theirs = mixed[parent_[k]];
      for (std::size_t b = first; b < end; ++b)
        mix[b] = (root ? own.count[b] : own.count[b] + kSiblings * theirs[b]) / all;
      float sum = 0, above = 0, excess = 0;
      Tail& t = tails_[k * kinds() + x];
      const auto edge = [](std::size_t b) { return static_cast<float>(b) / kPer + kFrom; };
      bool median = false, threshold = false;
      for (std::size_t b = first; b < end; ++b) {
        if (!median && sum + mix[b] >= 0.5f)
          median = true, t.median = edge(b) + (0.5f - sum) / std::max(mix[b], 1e-9f) / kPer;
        if (threshold) above += mix[b], excess += mix[b] * (edge(b) + 0.5f / kPer - t.threshold);
        if (!threshold && sum + mix[b] >= 1 - kTailPart) {
          threshold = true;
          const float in = (1 - kTailPart - sum) / std::max(mix[b], 1e-9f);
          t.threshold = edge(b) + in / kPer;
          above += (1 - in) * mix[b], excess += (1 - in) * mix[b] * (1 - in) / 2 / kPer;
        }
        sum += mix[b];
        if (of_ == Of::kBulkToo) shorter_[k * kinds() + x][b + 1] = sum;
      }
      for (std::size_t b = end; b < kBins && of_ == Of::kBulkToo; ++b) shorter_[k * kinds() + x][b + 1] = sum;
      t.usual = std::exp(t.median);
      const float weight = above * all;
      const bool as_parent = !root && fewest_ < kFewest;
      const float prior = as_parent ? tails_[parent_[k] * kinds() + x].excess : kPriorExcess;
      t.excess = std::max(kLeastExcess, (excess * all + kSiblings * prior) / (weight + kSiblings));
    }
  }
}

double UsualLengths::in_tail(std::size_t l, std::size_t x, float log) const {
  const Tail& t = tail(l, x);
  const Own& o = own(l, x);
  const float excess = mean_excess(o.excess, o.beyond, t.excess);
  return static_cast<double>(part(o.visits, o.beyond)) *
         std::exp(static_cast<double>(-(log - t.threshold) / excess));
}

double UsualLengths::part_of_all(std::size_t x, float log) const {
  float beyond = 0;
  for (std::size_t b = bin_of(log); b < bins_[x].end; ++b) beyond += lengths_[x].count[b];
  return static_cast<double>(beyond / std::max(counted_[x], 1.0f));
}

double UsualLengths::beyond(std::size_t l, std::size_t x, float log) const {
  if (log > tail(l, x).threshold) return in_tail(l, x, log);
  const float at = std::clamp((log - kFrom) * kPer, 0.0f, kBins - 0.001f);
  const auto b = static_cast<std::size_t>(at);
  const auto& c = shorter_[above_[l] * kinds() + x];
  const float sum = c[b] + (at - static_cast<float>(b)) * (c[b + 1] - c[b]);
  return 1 - static_cast<double>(std::min(1.0f, sum / (1 - kTailPart)) *
                                 (1 - part(own(l, x).visits, own(l, x).beyond)));
}

// Every kOften slices, as much as in all of these.
float UsualLengths::fade() {
  if (learned_ % kOften != 0) return 1;
  const float keep = 1 - static_cast<float>(kOften) / kLengthMemory;
  for (Own& o : own_)
    for (float* const sum : {&o.visits, &o.beyond, &o.excess}) *sum *= keep;
  for (std::size_t k = 0; k < lengths_.size(); ++k) {
    if (counted_[k] <= 0) continue;
    const Bins& bins = bins_[k % kinds()];
    for (std::size_t b = bins.first; b < bins.end; ++b) lengths_[k].count[b] *= keep;
    counted_[k] *= keep;
  }
  return keep;
}

void UsualLengths::find_path(std::size_t node) {
  path_.clear();
  for (std::size_t k = node;; k = parent_[k]) {
    path_.push_back(k * kinds_);
    if (parent_[k] == k) break;
  }
}

MARGAY_VECTORS void UsualLengths::add(std::span<const Visit> of_leaf) {
  if (of_leaf.empty()) return;
  const std::uint32_t leaf = of_leaf.front().leaf;
  const std::size_t node = above_[leaf] * kinds_;
  if (path_.empty() || path_.front() != node) find_path(above_[leaf]);
  const Row row = this->row(leaf);
  Own* const own = own_.data() + leaf * kinds_;
  for (const Visit& v : of_leaf) {
    if (row.known(v.kind)) {
      const float further = v.log - row.tails[v.kind].threshold;
      Own& o = own[v.kind];
      o.visits += 1;
      if (further > 0) o.beyond += 1, o.excess += further;
    }
    const std::uint16_t bin = bin_of(v.log);
    Bins& bins = bins_[v.kind];
    if (bin < bins.first) bins.first = bin;
    if (bin >= bins.end) bins.end = static_cast<std::uint16_t>(bin + 1);
    for (const std::size_t k : path_) {
      lengths_[k + v.kind].count[bin] += 1;
      counted_[k + v.kind] += 1;
    }
  }
}

void UsualLengths::end_slice() {
  if (++learned_ < 4 * kOften || learned_ % kOften == 0) believe();
}

}  // namespace margay::detect
