#include "visit_surprise.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

namespace margay::detect {
namespace {

constexpr float kMemory = 256;      // slices
constexpr float kTailPart = 0.25f;  // of visits
constexpr float kSiblings = 4;      // visits: a node's own are believed as much as its parent's after so many
constexpr float kPriorExcess = 0.5f, kLeastExcess = 0.1f;  // mean, before any is seen; never less
// Logarithms of lengths: the variance before any is seen, as if so many visits had; never less.
constexpr float kPriorVariance = 0.09f, kLeastVariance = 0.0025f;
constexpr float kWinsor = 3;  // deviations
// Alternatives to the usual length: logarithms of 1.5, 2 and 4; degrees of freedom of what is usual.
constexpr std::array<float, 3> kFactorLogs = {0.405f, 0.693f, 1.386f};
constexpr float kFreedom = 5;
const double kMostBet = std::exp(static_cast<double>(VisitSurprise::kMostOfOne));
constexpr float kFewest = 16;        // visits below the leaf's node until anything is said
constexpr float kOpenFrom = 1e-4f;   // slices
constexpr std::uint64_t kOften = 4;  // slices, after the first of as many again

// What the bet on p wins.
double bet(double p) {
  p = std::clamp(p, 1e-12, 0.99);
  const double l = std::log(p);
  return (1 - p + p * l) / (p * l * l);
}

// Of all p-values between r and 1 together, so that the expectation is 1.
double bet_not_beyond(double r) {
  r = std::clamp(r, 1e-6, 0.99);
  return (1 + (1 - r) / std::log(r)) / (1 - r);
}

}  // namespace

void VisitSurprise::set_hierarchy(const model::Hierarchy& h) {
  // Inner nodes are others now: what was seen below them is not known by leaf, so that of all is kept.
  const std::vector<Lengths> before = lengths_;
  const std::vector<float> counted_before = counted_;
  std::vector<std::uint32_t> inner(h.node_count(), 0);
  std::vector<char> is_leaf(h.node_count(), 0);
  for (std::uint32_t l = 0; l < h.leaf_count(); ++l) is_leaf[h.node_of(LeafIndex(l)).value] = 1;
  const std::size_t nodes_before = parent_.size();
  const std::vector<std::uint32_t> above_before = above_;
  parent_.clear();
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
      for (std::size_t b = 0; b < Lengths::kBins; ++b) sum.count[b] += of.count[b];
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
  spread_.assign(parent_.size() * kinds(), {});
  own_.resize(std::max(own_.size(), above_.size() * kinds()));
  believe();
}

void VisitSurprise::forget() {
  own_.assign(own_.size(), {});
  lengths_.assign(lengths_.size(), {});
  counted_.assign(counted_.size(), 0.0f);
  learned_ = 0;
  spread_.assign(spread_.size(), {});
}

void VisitSurprise::reach(std::size_t columns) {
  if (columns > columns_) {
    const auto widen = [&](auto& of, std::size_t rows) {
      std::remove_reference_t<decltype(of)> wider(rows * 2 * columns);
      for (std::size_t i = 0; i < of.size(); ++i) {
        const std::size_t kind = i % kinds(), half = kind / columns_;
        wider[i / kinds() * 2 * columns + half * columns + kind % columns_] = of[i];
      }
      of = std::move(wider);
    };
    widen(lengths_, parent_.size());
    widen(counted_, parent_.size());
    widen(own_, std::max(above_.size(), own_.size() / std::max<std::size_t>(1, kinds())));
    columns_ = columns;
    tails_.assign(lengths_.size(), {});
    spread_.assign(lengths_.size(), {});
    believe();
  }
}

bool VisitSurprise::known(std::size_t l, std::size_t kind) const {
  return !counted_.empty() && counted_[above_[l] * kinds() + kind] >= kFewest;
}

std::pair<std::size_t, std::size_t> VisitSurprise::Lengths::filled() const {
  const auto some = [](float n) { return n > 0; };
  const auto first = std::find_if(count.begin(), count.end(), some);
  const auto last = std::find_if(count.rbegin(), std::make_reverse_iterator(first), some);
  return {first - count.begin(), last.base() - count.begin()};
}

// From the root down: what a node's visits say, and its parent's as so many more. Lengths of a kind fall into
// few bins: those between the shortest and the longest below the root.
void VisitSurprise::believe() {
  std::vector<std::array<float, Lengths::kBins>> mixed(parent_.size());
  std::size_t first = 0, end = 0;
  for (std::size_t x = 0; x < kinds(); ++x)
    for (std::size_t k = 0; k < parent_.size(); ++k) {
      const Lengths& own = lengths_[k * kinds() + x];
      if (k == 0) std::tie(first, end) = own.filled();
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
      const auto edge = [](std::size_t b) { return static_cast<float>(b) / Lengths::kPer + Lengths::kFrom; };
      bool median = false, threshold = false;
      for (std::size_t b = first; b < end; ++b) {
        if (!median && sum + mix[b] >= 0.5f)
          median = true, t.median = edge(b) + (0.5f - sum) / std::max(mix[b], 1e-9f) / Lengths::kPer;
        if (threshold) above += mix[b], excess += mix[b] * (edge(b) + 0.5f / Lengths::kPer - t.threshold);
        if (!threshold && sum + mix[b] >= 1 - kTailPart) {
          threshold = true;
          const float in = (1 - kTailPart - sum) / std::max(mix[b], 1e-9f);
          t.threshold = edge(b) + in / Lengths::kPer;
          above += (1 - in) * mix[b], excess += (1 - in) * mix[b] * (1 - in) / 2 / Lengths::kPer;
        }
        sum += mix[b];
      }
      t.usual = std::exp(t.median);
      const float weight = above * all;
      t.excess = std::max(kLeastExcess, (excess * all + kSiblings * kPriorExcess) / (weight + kSiblings));
    }
}

float VisitSurprise::mean(std::size_t l, std::size_t x) const {
  return (own(l, x).log + kSiblings * tail(l, x).median) / (own(l, x).visits + kSiblings);
}

float VisitSurprise::variance(std::size_t l, std::size_t x) const {
  const Spread& of = spread_[above_[l] * kinds() + x];
  const float siblings = (of.square + kSiblings * kPriorVariance) / (of.visits + kSiblings);
  return std::max(kLeastVariance, (own(l, x).square + kSiblings * siblings) / (own(l, x).visits + kSiblings));
}

double VisitSurprise::factor_bet(std::size_t l, std::size_t x, float log) const {
  const float away = log - mean(l, x);
  // Who is no longer than usual wins next to nothing.
  if (away <= 0) return 0;
  const float scale = variance(l, x) * (1 + 1 / (own(l, x).visits + 1)) * kFreedom;
  const float usual = 1 + away * away / scale;
  float sum = 0;
  for (const float f : kFactorLogs) {
    const float ratio = usual / (1 + (away - f) * (away - f) / scale);
    sum += ratio * ratio * ratio;  // (kFreedom + 1) / 2 times
  }
  return static_cast<double>(sum) / static_cast<double>(kFactorLogs.size());
}

double VisitSurprise::tail_bet(std::size_t l, std::size_t x, float log) const {
  const Tail& t = tail(l, x);
  const Own& o = own(l, x);
  const float part = std::min(0.99f, (o.beyond + kSiblings * kTailPart) / (o.visits + kSiblings));
  const float further = log - t.threshold;
  if (further <= 0) return bet_not_beyond(static_cast<double>(part));
  const float excess = std::max(kLeastExcess, (o.excess + kSiblings * t.excess) / (o.beyond + kSiblings));
  return bet(static_cast<double>(part) * std::exp(static_cast<double>(-further / excess)));
}

double VisitSurprise::wins(std::size_t l, std::size_t x, float log) const {
  const double tail = std::min(kMostBet, tail_bet(l, x, log));
  return one_kind_ ? std::min(kMostBet, (tail + factor_bet(l, x, log)) / 2) : tail;
}

void VisitSurprise::measure(const Seen& seen, bool one_kind) {
  one_kind_ = one_kind;
  const std::size_t leaves = std::min(seen.there.size(), above_.size()), columns = seen.state_of.size();
  reach(columns);
  for (Grid* g : {&evidence_, &told_, &lost_, &ratio_}) {
    g->reach(seen.there.size(), columns);
    g->fill(0);
  }
  seen_.clear();
  for (std::uint32_t l = 0; l < std::min(leaves, seen.spent.rows()); ++l) {
    if (!seen.there[l]) continue;
    const OpenVisit &before = seen.before[l], &after = seen.after[l];
    for (std::uint32_t x = 0; x < columns; ++x) {
      const float n = seen.ended[l][x];
      if (!seen.counted[x] || (n <= 0 && seen.spent[l][x] <= 0)) continue;
      const bool is_known = known(l, x);
      const bool open = after.state == seen.state_of[x] && after.age > kOpenFrom;
      const bool was_open = before.state == seen.state_of[x] && before.age > kOpenFrom;
      const bool goes_on = open && was_open && after.age >= before.age + 0.999f;
      const Tail& usual = tail(l, x);
      float& e = evidence_[l][x];
      const auto ended = [&](float length, float visits, std::size_t kind) {
        const float log = std::log(std::max(length, 1e-6f));
        seen_.push_back({l, static_cast<std::uint32_t>(kind), log});
        if (!known(l, kind)) return 1.0;
        ratio_[l][x] = std::max(ratio_[l][x], log - tail(l, kind).median);
        lost_[l][x] += visits * std::max(0.0f, length - tail(l, kind).usual);
        return wins(l, kind, log);
      };
      const auto lasts = [&](float age, float sign) {
        if (!is_known) return;
        const float log = std::log(age);
        if (log <= usual.threshold) return;
        e += sign * static_cast<float>(std::log(std::max(1.0, wins(l, x, log))));
        lost_[l][x] += sign * std::max(0.0f, age - usual.usual);
        if (sign > 0) ratio_[l][x] = std::max(ratio_[l][x], log - usual.median);
      };
      if (was_open && (goes_on || n >= 1)) lasts(before.age, -1);
      if (open) lasts(after.age, 1);
      if (n >= 1 && !goes_on) {
        float total = std::max(0.0f, seen.spent[l][x] - (open ? std::min(1.0f, after.age) : 0.0f));
        if (was_open) total += before.age;
        const float longest = seen.longest[l][x];
        if (n >= 2 && longest > after.age * (open ? 1.001f : 0.0f) && longest < total) {
          const double one = ended(longest, 1, x),
                       others = ended((total - longest) / (n - 1), n - 1, columns_ + x);
          e += static_cast<float>(std::log((one + others) / 2));
        } else {
          e += static_cast<float>(std::log(ended(total / n, n, n > 1 ? columns_ + x : x)));
        }
      }
      if (is_known) told_[l][x] = 1;
    }
  }
}

// Every kOften slices, as much as in all of these.
void VisitSurprise::fade() {
  const float keep = 1 - static_cast<float>(kOften) / kMemory;
  for (Own& o : own_)
    for (float* const sum : {&o.visits, &o.beyond, &o.excess, &o.log, &o.square}) *sum *= keep;
  for (Spread& s : spread_) s.square *= keep, s.visits *= keep;
  for (std::size_t k = 0; k < lengths_.size(); ++k) {
    if (counted_[k] <= 0) continue;
    for (float& c : lengths_[k].count) c *= keep;
    counted_[k] *= keep;
  }
}

// A visit moves what is usual no further than one that is as far off as few are.
void VisitSurprise::learn_usual(const Visit& v) {
  const float usual = mean(v.leaf, v.kind), most = kWinsor * std::sqrt(variance(v.leaf, v.kind));
  Own& own = own_[v.leaf * kinds() + v.kind];
  const float away = std::clamp(v.log - usual, -most, most), n = own.visits + 1;
  const float square = away * away * n / (n + 1);
  own.log += usual + away;
  own.square += square;
  Spread& of = spread_[above_[v.leaf] * kinds() + v.kind];
  of.square += square, of.visits += 1;
}

void VisitSurprise::learn(const std::vector<char>& but) {
  if (learned_ % kOften == 0) fade();
  for (const Visit& v : seen_) {
    if (v.leaf < but.size() && but[v.leaf]) continue;
    if (known(v.leaf, v.kind)) {
      learn_usual(v);
      const float further = v.log - tail(v.leaf, v.kind).threshold;
      Own& own = own_[v.leaf * kinds() + v.kind];
      own.visits += 1;
      if (further > 0) own.beyond += 1, own.excess += further;
    }
    const float at =
        std::clamp((v.log - Lengths::kFrom) * Lengths::kPer, 0.0f, static_cast<float>(Lengths::kBins) - 1);
    for (std::uint32_t k = above_[v.leaf];; k = parent_[k]) {
      lengths_[k * kinds() + v.kind].count[static_cast<std::size_t>(at)] += 1;
      counted_[k * kinds() + v.kind] += 1;
      if (parent_[k] == k) break;
    }
  }
  if (++learned_ < 4 * kOften || learned_ % kOften == 0) believe();
}

}  // namespace margay::detect
