#include "visit_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "margay/statistics/normal.h"

namespace margay::detect {
namespace {

constexpr float kLeastLength = 1e-6f;
constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr float kTells = 0.25f;     // of the variance, the visit before has to explain
constexpr float kMostApart = 3;     // from the median, the visit before is believed to be
constexpr double kOpenScore = 0.7;  // above which a visit that goes on tells
constexpr double kBoth = 1.6;       // deviation of the sum of two scores of one leaf and slice

}  // namespace

void VisitScores::set_hierarchy(const model::Hierarchy& h) {
  usual_.set_hierarchy(h);
}

void VisitScores::forget() {
  usual_.forget();
  std::fill(pairs_.begin(), pairs_.end(), Pair{});
}

void VisitScores::forget(std::uint32_t leaf) {
  usual_.forget(leaf);
}

void VisitScores::reach(std::size_t columns) {
  const std::size_t before = usual_.columns();
  if (usual_.reach(columns)) {
    std::vector<Pair> pairs(columns * columns);
    for (std::size_t i = 0; i < pairs_.size(); ++i) pairs[i / before * columns + i % before] = pairs_[i];
    pairs_ = std::move(pairs);
  }
  for (Grid* g : {&last_, &last_at_}) g->reach(usual_.leaves(), usual_.columns());
  open_.resize(usual_.leaves());
}

double VisitScores::score_of(std::size_t l, std::size_t x, float log) const {
  return std::clamp<double>(statistics::normal_quantile(usual_.beyond(l, x, log)), kLeastScore, kMostScore);
}

float VisitScores::before(std::size_t l, std::size_t y, float length, bool over) const {
  if (!std::isnan(now_[y]) && length < 1) return now_[y];
  // It ended in the slice in which this one began, or in the one before that.
  const float from = slice_ - length - (over ? 1 : 0) - 0.01f;
  return last_at_[l][y] > 0 && last_at_[l][y] >= from ? last_[l][y] : kUnknown;
}

float VisitScores::told_before(std::size_t l, std::size_t x, float length, bool over) const {
  float best = kUnknown, most = kTells;
  for (std::size_t y = 0; y < usual_.columns(); ++y) {
    const Pair& p = pairs_[x * usual_.columns() + y];
    if (y == x || p.n < UsualLengths::kFewest || p.both <= 0) continue;  // so nor are squares 0
    const float told = p.both * p.both / (p.later * p.before);
    if (told <= most) continue;
    const float deviation = before(l, y, length, over);
    if (std::isnan(deviation)) continue;
    most = told;
    best = p.both / p.before * deviation;
  }
  return best;
}

VisitScores::Ended VisitScores::ended(const VisitsSeen& seen, std::uint32_t l, std::uint32_t x) {
  const OpenVisit &before = seen.before[l], &after = seen.after[l];
  Ended e;
  e.n = seen.ended[l][x];
  e.open = after.state == seen.state_of[x] && after.age > kOpenFrom;
  e.was_open = before.state == seen.state_of[x] && before.age > kOpenFrom;
  e.goes_on = e.open && e.was_open && after.age >= before.age + 0.999f;
  if (e.n < 1 || e.goes_on) return e;
  e.total = std::max(0.0f, seen.spent[l][x] - (e.open ? std::min(1.0f, after.age) : 0.0f));
  if (e.was_open) e.total += before.age;
  return e;
}

double VisitScores::of_several(std::uint32_t l, std::uint32_t x, std::size_t kind, float length,
                               float visits) {
  const float log = std::log(std::max(length, kLeastLength));
  seen_.push_back({l, static_cast<std::uint32_t>(kind), log});
  if (!usual_.known(l, kind)) return 0;
  ratio_[l][x] = std::max(ratio_[l][x], log - usual_.tail(l, kind).median);
  lost_[l][x] += visits * std::max(0.0f, length - std::exp(usual_.tail(l, kind).median));
  return score_of(l, kind, log);
}

// Given the one before, where that tells anything.
double VisitScores::of_single(std::uint32_t l, std::uint32_t x, float length, bool over, float* lost) {
  const float log = std::log(std::max(length, kLeastLength)), told = told_before(l, x, length, over);
  const auto given = static_cast<std::uint32_t>(kind(kGiven, x));
  if (over) {
    seen_.push_back({l, x, log});
    if (!std::isnan(told)) seen_.push_back({l, given, log - told});
  }
  const bool by_given = !std::isnan(told) && usual_.known(l, given);
  const std::size_t kind = by_given ? given : x;
  if (!usual_.known(l, kind)) return 0;
  const float shift = by_given ? told : 0, usual = usual_.tail(l, kind).median + shift;
  *lost = std::max(0.0f, length - std::exp(usual));
  double score = score_of(l, kind, log - shift);
  if (by_given && usual_.known(l, x)) score = std::max(score, std::min(0.0, score_of(l, x, log)));
  if (over || score > kOpenScore) ratio_[l][x] = std::max(ratio_[l][x], log - usual);
  return score;
}

double VisitScores::of_ended(const VisitsSeen& seen, std::uint32_t l, std::uint32_t x, const Ended& e) {
  const float longest = seen.longest[l][x];
  if (e.n >= 2 && longest > seen.after[l].age * (e.open ? 1.001f : 0.0f) && longest < e.total) {
    const double one = of_several(l, x, x, longest, 1),
                 others = of_several(l, x, kind(kOthers, x), (e.total - longest) / (e.n - 1), e.n - 1);
    return (one + others) / kBoth;
  }
  if (e.n >= 2) return of_several(l, x, kind(kOthers, x), e.total / e.n, e.n);
  float lost = 0;
  const double score = of_single(l, x, e.total, true, &lost);
  lost_[l][x] += lost;
  if (std::isnan(now_[x])) return score;
  for (std::uint32_t y = 0; y < usual_.columns(); ++y)
    if (const float d = y == x ? kUnknown : before(l, y, e.total, true); !std::isnan(d))
      pairs_seen_.push_back({l, x * usual_.columns() + y, d, now_[x]});
  return score;
}

void VisitScores::measure_leaf(const VisitsSeen& seen, std::uint32_t l) {
  const auto columns = static_cast<std::uint32_t>(seen.state_of.size());
  std::fill(now_.begin(), now_.end(), kUnknown);
  for (std::uint32_t x = 0; x < columns; ++x) {
    if (!seen.counted[x] || seen.ended[l][x] < 1 || !usual_.known(l, x)) continue;
    const Ended e = ended(seen, l, x);
    const float median = usual_.tail(l, e.n > 1 ? kind(kOthers, x) : x).median;
    if (e.total > 0) now_[x] = std::clamp(std::log(e.total / e.n) - median, -kMostApart, kMostApart);
  }
  Open open;
  for (std::uint32_t x = 0; x < columns; ++x) {
    const Ended e = ended(seen, l, x);
    if (!seen.counted[x] || (e.n <= 0 && seen.spent[l][x] <= 0)) continue;
    const bool is_known = usual_.known(l, x);
    if (e.was_open && (e.goes_on || e.n >= 1)) {
      score_[l][x] -= open_[l].score, lost_[l][x] -= open_[l].lost;
      count_[l][x] -= open_[l].score > 0 ? 1 : 0;
    }
    if (e.open && is_known) {
      float lost = 0;
      const double score = of_single(l, x, seen.after[l].age, false, &lost);
      if (score > kOpenScore) {
        open = {static_cast<float>(score), lost};
        score_[l][x] += open.score, lost_[l][x] += lost, count_[l][x] += 1;
      }
    }
    if (e.n >= 1 && !e.goes_on) {
      score_[l][x] += static_cast<float>(of_ended(seen, l, x, e));
      count_[l][x] += is_known ? 1 : 0;
    }
    if (is_known) told_[l][x] = 1;
  }
  open_[l] = open;
  for (std::uint32_t x = 0; x < columns; ++x)
    if (!std::isnan(now_[x])) last_[l][x] = now_[x], last_at_[l][x] = slice_;
}

void VisitScores::measure(const VisitsSeen& seen) {
  const std::size_t leaves = std::min(seen.there.size(), usual_.leaves()), columns = seen.state_of.size();
  reach(columns);
  for (Grid* g : {&score_, &count_, &told_, &lost_, &ratio_}) {
    g->reach(seen.there.size(), columns);
    g->fill(0);
  }
  seen_.clear(), pairs_seen_.clear();
  slice_ += 1;
  now_.resize(usual_.columns());
  for (std::uint32_t l = 0; l < std::min(leaves, seen.spent.rows()); ++l)
    if (seen.there[l]) measure_leaf(seen, l);
}

void VisitScores::learn(const std::vector<char>& but) {
  const float keep = usual_.fade();
  for (Pair& p : pairs_)
    for (float* sum : {&p.n, &p.before, &p.both, &p.later}) *sum *= keep;
  for (const UsualLengths::Visit& v : seen_)
    if (v.leaf >= but.size() || !but[v.leaf]) usual_.add(std::span(&v, 1));
  for (const PairSeen& p : pairs_seen_) {
    if (p.leaf < but.size() && but[p.leaf]) continue;
    Pair& to = pairs_[p.pair];
    to.n += 1, to.before += p.before * p.before, to.both += p.before * p.later, to.later += p.later * p.later;
  }
  usual_.end_slice();
}

}  // namespace margay::detect
