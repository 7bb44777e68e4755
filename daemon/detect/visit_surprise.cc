#include "visit_surprise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace margay::detect {
namespace {

constexpr float kSiblings = UsualLengths::kSiblings;
// Logarithms of lengths: the variance before any is seen, as if so many visits had; never less.
constexpr float kPriorVariance = 0.09f, kLeastVariance = 0.0025f;
constexpr float kWinsor = 3;  // deviations
// Alternatives to the usual length: logarithms of 1.5, 2 and 4; degrees of freedom of what is usual.
constexpr std::array<float, 3> kFactorLogs = {0.405f, 0.693f, 1.386f};
constexpr float kFreedom = 5;
const double kMostBet = std::exp(static_cast<double>(VisitSurprise::kMostOfOne));

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
  usual_.set_hierarchy(h);
  spread_.assign(usual_.nodes() * usual_.kinds(), {});
  own_.resize(std::max(own_.size(), usual_.leaves() * usual_.kinds()));
}

void VisitSurprise::forget() {
  usual_.forget();
  own_.assign(own_.size(), {});
  spread_.assign(spread_.size(), {});
}

void VisitSurprise::forget(std::uint32_t leaf) {
  usual_.forget(leaf);
  if (leaf < usual_.leaves())
    std::fill_n(own_.begin() + static_cast<std::ptrdiff_t>(leaf * usual_.kinds()), usual_.kinds(), Own{});
}

void VisitSurprise::reach(std::size_t columns) {
  const std::size_t before = usual_.columns(), rows = own_.size() / std::max<std::size_t>(1, usual_.kinds());
  if (!usual_.reach(columns)) return;
  own_ = widened(own_, std::max(rows, usual_.leaves()), kKindsOfLength, before, columns);
  spread_.assign(usual_.nodes() * usual_.kinds(), {});
}

float VisitSurprise::mean(std::size_t l, std::size_t x) const {
  return (own(l, x).log + kSiblings * usual_.tail(l, x).median) / (usual_.visits(l, x) + kSiblings);
}

float VisitSurprise::variance(std::size_t l, std::size_t x) const {
  const Spread& of = spread_[usual_.node(l) * usual_.kinds() + x];
  const float siblings = (of.square + kSiblings * kPriorVariance) / (of.visits + kSiblings);
  return std::max(kLeastVariance,
                  (own(l, x).square + kSiblings * siblings) / (usual_.visits(l, x) + kSiblings));
}

double VisitSurprise::factor_bet(std::size_t l, std::size_t x, float log) const {
  const float away = log - mean(l, x);
  // Who is no longer than usual wins next to nothing.
  if (away <= 0) return 0;
  const float scale = variance(l, x) * (1 + 1 / (usual_.visits(l, x) + 1)) * kFreedom;
  const float usual = 1 + away * away / scale;
  float sum = 0;
  for (const float f : kFactorLogs) {
    const float ratio = usual / (1 + (away - f) * (away - f) / scale);
    sum += ratio * ratio * ratio;  // (kFreedom + 1) / 2 times
  }
  return static_cast<double>(sum) / static_cast<double>(kFactorLogs.size());
}

double VisitSurprise::tail_bet(std::size_t l, std::size_t x, float log) const {
  if (log <= usual_.tail(l, x).threshold) return bet_not_beyond(static_cast<double>(usual_.part(l, x)));
  return bet(usual_.in_tail(l, x, log));
}

double VisitSurprise::wins(std::size_t l, std::size_t x, float log) const {
  const double tail = std::min(kMostBet, tail_bet(l, x, log));
  return one_kind_ ? std::min(kMostBet, (tail + factor_bet(l, x, log)) / 2) : tail;
}

void VisitSurprise::measure(const VisitsSeen& seen, bool one_kind) {
  one_kind_ = one_kind;
  const std::size_t leaves = std::min(seen.there.size(), usual_.leaves()), columns = seen.state_of.size();
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
      const bool is_known = usual_.known(l, x);
      const bool open = after.state == seen.state_of[x] && after.age > kOpenFrom;
      const bool was_open = before.state == seen.state_of[x] && before.age > kOpenFrom;
      const bool goes_on = open && was_open && after.age >= before.age + 0.999f;
      const UsualLengths::Tail& usual = usual_.tail(l, x);
      float& e = evidence_[l][x];
      const auto ended = [&](float length, float visits, std::size_t kind) {
        const float log = std::log(std::max(length, 1e-6f));
        seen_.push_back({l, static_cast<std::uint32_t>(kind), log});
        if (!usual_.known(l, kind)) return 1.0;
        ratio_[l][x] = std::max(ratio_[l][x], log - usual_.tail(l, kind).median);
        lost_[l][x] += visits * std::max(0.0f, length - usual_.tail(l, kind).usual);
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
                       others = ended((total - longest) / (n - 1), n - 1, usual_.columns() + x);
          e += static_cast<float>(std::log((one + others) / 2));
        } else {
          e += static_cast<float>(std::log(ended(total / n, n, n > 1 ? usual_.columns() + x : x)));
        }
      }
      if (is_known) told_[l][x] = 1;
    }
  }
}

// A visit moves what is usual no further than one that is as far off as few are.
void VisitSurprise::learn_usual(const UsualLengths::Visit& v) {
  const float usual = mean(v.leaf, v.kind), most = kWinsor * std::sqrt(variance(v.leaf, v.kind));
  const float away = std::clamp(v.log - usual, -most, most), n = usual_.visits(v.leaf, v.kind) + 1;
  const float square = away * away * n / (n + 1);
  Own& own = own_[v.leaf * usual_.kinds() + v.kind];
  own.log += usual + away;
  own.square += square;
  Spread& of = spread_[usual_.node(v.leaf) * usual_.kinds() + v.kind];
  of.square += square, of.visits += 1;
}

void VisitSurprise::learn(const std::vector<char>& but) {
  if (const float keep = usual_.fade(); keep < 1) {
    for (Own& o : own_) o.log *= keep, o.square *= keep;
    for (Spread& s : spread_) s.square *= keep, s.visits *= keep;
  }
  for (const UsualLengths::Visit& v : seen_) {
    if (v.leaf < but.size() && but[v.leaf]) continue;
    if (usual_.known(v.leaf, v.kind)) learn_usual(v);
    usual_.add(v);
  }
  usual_.end_slice();
}

}  // namespace margay::detect
