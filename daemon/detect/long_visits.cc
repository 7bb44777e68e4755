#include "long_visits.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace margay::detect {
namespace {

constexpr double kDayNs = 86'400e9;
// The mean index that is believed of the tail of such evidence before any is seen (evidence_limit.h).
constexpr double kIndex = 0.1;
constexpr float kOver = 3;             // nats: what visits that take as long as ever say of one that is over
constexpr std::uint32_t kSilent = 16;  // slices without a visit
constexpr double kNewJob = 5;          // slices after which doubt has halved
constexpr std::int64_t kLearns = 16, kLonger = 2;  // slices; times

}  // namespace

void LongVisits::set_hierarchy(const model::Hierarchy& hierarchy, std::size_t keep) {
  items_ = NodeItems(hierarchy);
  visits_.set_hierarchy(hierarchy);
  sums_.clear_from(keep);
  while (limits_.size() < items_.groups()) limits_.emplace_back(kIndex);
  blamed_.resize(items_.leaves(), 0);
}

void LongVisits::take(const Contrast& contrast, const Columns& columns) {
  const VisitLengths::Seen seen = contrast.seen();
  visits_.measure(seen);
  const std::size_t width = columns.work.size();
  sums_.lay_out(items_.size(), width);
  SurpriseSums::Slice& slice = sums_.slice();
  for (const auto& [from, to] :
       {std::pair(&visits_.evidence(), &slice.evidence), std::pair(&visits_.told(), &slice.told),
        std::pair(&visits_.lost(), &slice.lost), std::pair(&visits_.ratio(), &slice.ratio)}) {
    for (std::size_t l = 0; l < items_.leaves(); ++l)
      for (std::size_t x = 0; x < width; ++x)
        (*to)[l][x] = l < from->rows() && !blamed_[l] ? (*from)[l][x] : 0;
    items_.add_up(*to);
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    slice.busy[i] = slice.there[i] = 0;
    for (const LeafIndex l : items_.below(i)) {
      if (l.value >= seen.spent.rows() || !seen.there[l.value] || blamed_[l.value]) continue;
      slice.there[i] += contrast.there(l.value);
      for (std::size_t x = 0; x < width; ++x)
        if (seen.counted[x]) slice.busy[i] += seen.spent[l.value][x];
    }
  }
  sums_.take(items_.leaves());
}

void LongVisits::on_slice(const Contrast& contrast, const Columns& columns, SliceIndex now) {
  std::fill(blamed_.begin(), blamed_.end(), 0);
  for (const Episode& e : episodes_)
    for (const std::uint32_t l : e.leaves) blamed_[l] = 1;
  if (first_.value < 0) first_ = now;
  take(contrast, columns);
  follow(now);
  test(columns, now);
  learn();
}

void LongVisits::drop_over() {
  for (std::size_t k = episodes_.size(); k-- > 0;)
    if (episodes_[k].over) {
      episodes_.erase(episodes_.begin() + static_cast<std::ptrdiff_t>(k));
      courses_.erase(courses_.begin() + static_cast<std::ptrdiff_t>(k));
    }
}

void LongVisits::follow(SliceIndex now) {
  for (std::size_t k = 0; k < episodes_.size(); ++k) {
    Episode& e = episodes_[k];
    Course& c = courses_[k];
    float told = 0;
    for (const std::uint32_t l : e.leaves)
      for (std::size_t x = 0; x < visits_.evidence().columns() && l < visits_.evidence().rows(); ++x)
        c.evidence += visits_.evidence()[l][x], told += visits_.told()[l][x];
    c.silent = told > 0 ? 0 : c.silent + 1;
    c.evidence = std::max(c.evidence, c.most - 2 * kOver);  // it may begin again
    if (c.evidence >= c.most) c.most = c.evidence, c.most_at = now;
    // What goes on for so long is the usual from now on, or for longer than all that was seen before it.
    const std::int64_t lasts = now.value + 1 - e.onset.value, before = e.onset.value - first_.value;
    const bool usual = lasts >= std::int64_t{options_.usual_slices} || lasts >= kLearns + kLonger * before;
    if (c.evidence > c.most - kOver && c.silent < kSilent && !usual) {
      c.back = 0;
      continue;
    }
    // It ended when its evidence was the most (Page).
    if (c.back++ == 0) e.end = c.most_at + 1;
    e.over = c.back >= options_.back_slices;
  }
}

// Is it that others wait for who is blamed already, or that its siblings are hurt as well? These are blamed
// with it then.
bool LongVisits::joins(const Blamed& blamed) {
  std::set<std::uint32_t> parents;
  for (const std::uint32_t l : blamed.leaves) parents.insert(items_.parent(l));
  for (Episode& e : episodes_) {
    if (e.over) continue;
    if (e.works && !blamed.works) return true;
    const bool sibling = std::any_of(e.leaves.begin(), e.leaves.end(), [&](std::uint32_t l) {
      return items_.parent(l) != NodeItems::kNone && parents.contains(items_.parent(l));
    });
    if (!sibling || e.works != blamed.works) continue;
    e.leaves.insert(blamed.leaves.begin(), blamed.leaves.end());
    return true;
  }
  return false;
}

void LongVisits::test(const Columns& columns, SliceIndex now) {
  // For each node and state, and all of them; of each depth.
  double kinds = 0;
  for (std::size_t g = 0; g < items_.groups(); ++g) kinds += items_.count(g) > 0 ? 1 : 0;
  const double p = options_.false_alarms_per_day * static_cast<double>(options_.slice.value) / kDayNs / kinds;
  const auto states = static_cast<double>(columns.work.size() - Contrast::kMachine);
  std::uint32_t strongest = NodeItems::kNone;
  double most = 1, limit_of = 0;
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    const std::uint32_t g = items_.group(i);
    const SurpriseSums::Score s = sums_.strongest(i);
    if (s.score <= 0 || static_cast<double>(s.effect) < options_.min_effect) continue;
    // Of a job that has just begun not all kinds of work have been seen.
    const double seen = static_cast<double>(limits_[g].size());
    const double limit = limits_[g].limit(p, static_cast<double>(items_.count(g)) * (states + 1)) *
                         (1 + kNewJob / (kNewJob + seen));
    if (static_cast<double>(s.score) / limit > most)
      most = static_cast<double>(s.score) / limit, strongest = i, limit_of = limit;
  }
  if (strongest == NodeItems::kNone) return;
  const SurpriseSums::Score s = sums_.strongest(strongest);
  const auto cost = static_cast<float>(std::log(2.0 * static_cast<double>(items_.size())));
  const Blamed blamed = blame_lengths(sums_, items_, columns, cost, static_cast<float>(limit_of / 2));
  // What has summed up of these has been told.
  for (std::uint32_t i = 0; i < items_.size(); ++i)
    if (const auto below = items_.below(i);
        std::any_of(below.begin(), below.end(), [&](LeafIndex l) { return blamed.leaves.contains(l.value); }))
      sums_.restart(i);
  if (joins(blamed)) return;
  Episode e;
  e.number = 2 * ++begun_ + 1;  // those of departures are even
  e.leaves = blamed.leaves;
  e.onset = now + 1 - std::int64_t{s.slices};
  e.state = blamed.state;
  e.works = blamed.works;
  e.excess = blamed.excess;
  e.by_lengths = true;
  e.log_ratio = blamed.log_ratio;
  Course c;
  c.evidence = c.most = s.score;
  c.most_at = now;
  episodes_.push_back(std::move(e));
  courses_.push_back(c);
}

// How far stretches of long visits went, once each, by depth; and how long visits are.
void LongVisits::learn() {
  std::vector<SurpriseSums::Score> most(items_.groups());
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const SurpriseSums::Score s = sums_.ended(i);
    if (s.score > most[items_.group(i)].score) most[items_.group(i)] = s;
  }
  for (std::size_t g = 0; g < items_.groups(); ++g)
    limits_[g].add(most[g].score, static_cast<double>(most[g].effect) >= options_.min_effect);
  for (const Episode& e : episodes_)
    for (const std::uint32_t l : e.leaves) blamed_[l] = 1;
  visits_.learn(blamed_);
}

}  // namespace margay::detect
