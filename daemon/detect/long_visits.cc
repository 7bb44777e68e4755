#include "long_visits.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace margay::detect {
namespace {

constexpr double kDayNs = 86'400e9;
// The mean index that is believed of the tail of such evidence before any is seen (tail_limit.h).
// Leaves of a node that wait for each other are not independent.
constexpr double kIndex = 0.1, kCoupledIndex = 0.2;
constexpr double kWaits = 1.5;         // times the limit, where nobody works longer
constexpr float kOver = 3;             // nats: what visits that take as long as ever say of one that is over
constexpr std::uint32_t kSilent = 16;  // slices without a visit
constexpr double kNewJob = 5;          // slices after which doubt has halved
constexpr std::int64_t kLearns = 16, kLonger = 2;  // slices; times

}  // namespace

void LongVisits::set_items(const NodeItems& items, const model::Hierarchy& hierarchy, std::size_t keep) {
  hierarchy_ = hierarchy;
  for (Usual& u : usual_) u.visits.set_hierarchy(hierarchy);
  sums_.clear_from(keep);
  while (limits_.size() < items.groups()) {
    coupled_.emplace_back(limits_.empty() ? kIndex : kCoupledIndex);
    limits_.emplace_back(kIndex);
  }
  blamed_.resize(items.leaves(), 0);
}

void LongVisits::forget() {
  for (Usual& u : usual_) u.visits.forget();
}

// What is summed up is of one mode.
void LongVisits::enter_mode(const Contrast& contrast, bool by_request) {
  const auto mode = contrast.mode();
  if (by_request || !mode) return;
  const std::size_t before = std::exchange(mode_, mode->place);
  while (usual_.size() <= mode_) {
    usual_.emplace_back();
    usual_.back().visits.set_hierarchy(*hierarchy_);
  }
  Usual& now = usual_[mode_];
  if (before == mode_ && now.mode == mode->number) return;
  sums_.restart();
  if (std::exchange(now.mode, mode->number) == mode->number) return;
  now.visits.forget();
  now.slices = 0;
}

bool LongVisits::any_open() const {
  return std::any_of(episodes_.begin(), episodes_.end(), [](const Episode& e) { return !e.over; });
}

void LongVisits::take(const Look& look) {
  const auto& [contrast, items, columns, now, by_request, returning] = look;
  enter_mode(contrast, by_request);
  visits().measure(contrast.seen(), !by_request);
  const std::size_t width = columns.work.size();
  sums_.lay_out(items.size(), width);
  SurpriseSums::Slice& slice = sums_.slice();
  const bool none = !by_request && contrast.unsettled();  // the job changes: nobody is late
  for (const auto& [from, to] :
       {std::pair(&visits().evidence(), &slice.evidence), std::pair(&visits().told(), &slice.told),
        std::pair(&visits().lost(), &slice.lost), std::pair(&visits().ratio(), &slice.ratio)}) {
    for (std::size_t l = 0; l < items.leaves(); ++l) {
      float* const row = (*to)[l];
      if (none || blamed_[l] || l >= from->rows())
        std::fill_n(row, width, 0.0f);
      else
        std::copy_n((*from)[l], width, row);
      for (std::size_t x = 0; x < width && !by_request; ++x)
        if (columns.collective[x]) row[x] = 0;
    }
    items.add_up(*to);
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    slice.busy[i] = slice.there[i] = 0;
    for (const LeafIndex l : items.below(i)) {
      if (l.value >= contrast.busy().size() || blamed_[l.value]) continue;
      slice.busy[i] += contrast.busy()[l.value];
      slice.there[i] += contrast.there(l.value);
    }
  }
  sums_.take(items.leaves());
}

void LongVisits::on_slice(const Look& look, Recurrence& recurrence) {
  std::fill(blamed_.begin(), blamed_.end(), 0);
  for (const Episode& e : episodes_)
    for (const std::uint32_t l : e.leaves) blamed_[l] = 1;
  for (const std::uint32_t l : look.returning) blamed_[l] = 1;
  if (first_.value < 0) first_ = look.now;
  take(look);
  follow(look.by_request, look.now);
  test(look, recurrence);
  if (look.by_request || !any_open()) learn(look.items, look.by_request);
}

void LongVisits::drop(std::size_t k) {
  episodes_.erase(episodes_.begin() + static_cast<std::ptrdiff_t>(k));
  courses_.erase(courses_.begin() + static_cast<std::ptrdiff_t>(k));
}

void LongVisits::drop_over() {
  for (std::size_t k = episodes_.size(); k-- > 0;)
    if (episodes_[k].over) drop(k);
}

void LongVisits::take_out(std::uint64_t number) {
  for (std::size_t k = episodes_.size(); k-- > 0;)
    if (episodes_[k].number == number) drop(k);
}

void LongVisits::follow(bool by_request, SliceIndex now) {
  for (std::size_t k = 0; k < episodes_.size(); ++k) {
    Episode& e = episodes_[k];
    Course& c = courses_[k];
    float told = 0;
    for (const std::uint32_t l : e.leaves)
      for (std::size_t x = 0; x < visits().evidence().columns() && l < visits().evidence().rows(); ++x)
        c.evidence += visits().evidence()[l][x], told += visits().told()[l][x];
    c.silent = told > 0 ? 0 : c.silent + 1;
    c.evidence = std::max(c.evidence, c.most - 2 * kOver);  // it may begin again
    if (c.evidence >= c.most) c.most = c.evidence, c.most_at = now;
    // What goes on for so long is the usual from now on, or for longer than all that was seen before it.
    const std::int64_t lasts = now.value + 1 - e.onset.value, before = e.onset.value - first_.value;
    const bool usual =
        by_request && (lasts >= std::int64_t{options_.usual_slices} || lasts >= kLearns + kLonger * before);
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
bool LongVisits::joins(const Blamed& blamed, const NodeItems& items) {
  std::set<std::uint32_t> parents;
  for (const std::uint32_t l : blamed.leaves) parents.insert(items.parent(l));
  for (Episode& e : episodes_) {
    if (e.over) continue;
    if (e.works && !blamed.works) return true;
    const bool sibling = std::any_of(e.leaves.begin(), e.leaves.end(), [&](std::uint32_t l) {
      return items.parent(l) != NodeItems::kNone && parents.contains(items.parent(l));
    });
    if (!sibling || e.works != blamed.works) continue;
    e.leaves.insert(blamed.leaves.begin(), blamed.leaves.end());
    return true;
  }
  return false;
}

void LongVisits::test(const Look& look, Recurrence& recurrence) {
  const auto& [contrast, items, columns, now, by_request, returning] = look;
  // For each node and state, and all of them; of each depth.
  const std::size_t groups = items.groups();
  double kinds = 0;
  for (std::size_t g = 0; g < groups; ++g) kinds += items.count(g) > 0 ? 1 : 0;
  const double p = options_.false_alarms_per_day * static_cast<double>(options_.slice.value) / kDayNs / kinds;
  const auto states = static_cast<double>(columns.work.size() - Contrast::kMachine);
  std::uint32_t strongest = NodeItems::kNone;
  double most = 1, limit_of = 0, tests_of = 0;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    const std::uint32_t g = items.group(i);
    const SurpriseSums::Score s = sums_.strongest(i);
    if (s.score <= 0 || static_cast<double>(s.effect) < options_.min_effect) continue;
    // No limit is less than the textbook's.
    const double tests = static_cast<double>(items.count(g)) * (states + 1);
    if (static_cast<double>(s.score) <= std::log(tests / p)) continue;
    // Of a job, or a mode, that has just begun not all kinds of work have been seen.
    const double limit =
        limits(by_request)[g].limit(p, tests) * (1 + kNewJob / (kNewJob + usual_[mode_].slices));
    if (static_cast<double>(s.score) / limit > most)
      most = static_cast<double>(s.score) / limit, strongest = i, limit_of = limit, tests_of = tests;
  }
  if (strongest == NodeItems::kNone) return;
  const SurpriseSums::Score s = sums_.strongest(strongest);
  const auto cost = static_cast<float>(std::log(2.0 * static_cast<double>(items.size())));
  const Blamed blamed = blame_lengths(sums_, items, columns, cost, static_cast<float>(limit_of / 2));
  if (blamed.log_ratio < std::log1p(options_.min_effect)) return;
  // Ranks wait for each other: most waits that are long are somebody else's doing.
  if (!by_request && !blamed.works && static_cast<double>(s.score) < kWaits * limit_of) return;
  // What has summed up of these has been told.
  for (std::uint32_t i = 0; i < items.size(); ++i)
    if (const auto below = items.below(i);
        std::any_of(below.begin(), below.end(), [&](LeafIndex l) { return blamed.leaves.contains(l.value); }))
      sums_.restart(i);
  if (joins(blamed, items)) return;
  Episode e;
  e.number = 2 * ++begun_ + 1;  // those of departures are even
  e.leaves = blamed.leaves;
  e.onset = now + 1 - std::int64_t{s.slices};
  e.state = blamed.state;
  e.works = blamed.works;
  e.usual = !by_request && recurrence.usual(e.leaves, e.state, e.onset);
  e.excess = blamed.excess;
  e.by_lengths = true;
  e.log_ratio = blamed.log_ratio;
  e.nats = static_cast<double>(s.score), e.limit = limit_of;
  const TailLimit& tail = limits(by_request)[items.group(strongest)];
  e.rarer = std::log(tail.chance(e.limit, tests_of) / tail.chance(e.nats, tests_of));
  Course c;
  c.evidence = c.most = s.score;
  c.most_at = now;
  episodes_.push_back(std::move(e));
  courses_.push_back(c);
}

// How far stretches of long visits went, once each, by depth; and how long visits are.
void LongVisits::learn(const NodeItems& items, bool by_request) {
  std::vector<SurpriseSums::Score> most(items.groups());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const SurpriseSums::Score s = sums_.ended(i);
    if (s.score > most[items.group(i)].score) most[items.group(i)] = s;
  }
  for (std::size_t g = 0; g < items.groups(); ++g)
    limits(by_request)[g].add(most[g].score, static_cast<double>(most[g].effect) >= options_.min_effect);
  for (const Episode& e : episodes_)
    for (const std::uint32_t l : e.leaves) blamed_[l] = 1;
  visits().learn(blamed_);
  usual_[mode_].slices += 1;
}

}  // namespace margay::detect
