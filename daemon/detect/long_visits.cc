#include "long_visits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "crowd.h"

namespace margay::detect {
namespace {

constexpr double kByScores =
    0.8;                    // of the false alarms of requests and tasks, scores may cost; bets the others
constexpr float kOver = 3;  // nats: what visits that take as long as ever say of one that is over
constexpr std::uint32_t kSilent = 16;              // slices without a visit
constexpr double kNewJob = 5;                      // slices after which doubt has halved
constexpr float kLately = 4;                       // slices
constexpr std::int64_t kLearns = 16, kLonger = 2;  // slices; times

}  // namespace

void LongVisits::set_items(const NodeItems& items, const model::Hierarchy& hierarchy, std::size_t keep) {
  hierarchy_ = hierarchy;
  for (Usual& u : usual_) u.visits.set_hierarchy(hierarchy);
  next_.visits.set_hierarchy(hierarchy);
  side_visits_.set_hierarchy(hierarchy);
  in_rounds_.set_hierarchy(hierarchy);
  scores_.set_hierarchy(hierarchy);
  sums_.stretches().clear_from(keep);
  score_sums_.clear_from(keep);
  blamed_.resize(items.leaves(), 0);
}

void LongVisits::forget() {
  for (Usual& u : usual_) u.visits.forget();
  next_.visits.forget(), next_.slices = 0;
  lengths_lately_.forget();
  side_visits_.forget();
  in_rounds_.forget();
  scores_.forget();
  hold_ups_.forget();
}

void LongVisits::forget(const std::set<std::uint32_t>& leaves) {
  for (const std::uint32_t l : leaves) {
    for (Usual& u : usual_) u.visits.forget(l);
    next_.visits.forget(l);
    side_visits_.forget(l);
    in_rounds_.forget(l);
    scores_.forget(l);
  }
}

void LongVisits::restart() {
  sums_.stretches().restart();
  score_sums_.restart();
}

// What is summed up is of one mode.
void LongVisits::enter_mode(const Contrast& contrast) {
  const auto mode = contrast.mode();
  in_next_ = (contrast.unsettled() || !mode) && !any_open();
  if (!mode) return;
  const std::size_t before = std::exchange(mode_, mode->place);
  while (usual_.size() <= mode_) {
    usual_.emplace_back();
    usual_.back().visits.set_hierarchy(*hierarchy_);
  }
  Usual& now = usual_[mode_];
  if (before != mode_ || now.mode != mode->number) sums_.stretches().restart();
  if (now.mode != mode->number) {
    // What it was learned from was of no mode before.
    std::swap(now, next_);
    now.mode = mode->number;
  }
  if (!in_next_ && next_.slices > 0) next_.visits.forget(), next_.slices = 0;
}

bool LongVisits::any_open() const {
  return std::any_of(episodes_.begin(), episodes_.end(), [](const Episode& e) { return !e.over; });
}

// What counts nothing becomes 0, and inner nodes the sums of their leaves.
void LongVisits::sum_up(const Look& look, bool but_works, Grid& rows) const {
  // While a coupled job changes nobody is late, but with side work.
  const bool none = !look.by_request && look.contrast.unsettled();
  std::vector<std::size_t> nothing;
  for (std::size_t x = 0; x < look.columns.work.size(); ++x)
    if (look.by_request ? but_works && !look.columns.work[x]
                        : look.columns.collective[x] || look.columns.polls[x])
      nothing.push_back(x);
  for (std::size_t l = 0; l < look.items.leaves(); ++l) {
    for (std::size_t x = 0; x < rows.columns() && (none || blamed_[l]); ++x)
      if (blamed_[l] || x >= side_.size() || !side_[x]) rows[l][x] = 0;
    for (const std::size_t x : nothing) rows[l][x] = 0;
  }
  look.items.add_up(rows);
}

// Of those that are not blamed.
void LongVisits::count_leaves(const Look& look) {
  busy_.assign(look.items.size(), 0.0f);
  there_.assign(look.items.size(), 0.0f);
  for (std::size_t i = 0; i < look.items.size(); ++i)
    for (const LeafIndex l : look.items.below(i)) {
      if (l.value >= look.contrast.busy().size() || blamed_[l.value]) continue;
      busy_[i] += look.contrast.busy()[l.value];
      there_[i] += look.contrast.there(l.value);
    }
}

void LongVisits::take_scores(const Look& look, bool but_works) {
  ScoreSums::Slice& slice = score_sums_.slice();
  scores_.hand_over({slice.score, slice.visits, slice.told, slice.lost, slice.ratio});
  score_sums_.lay_out(look.items.size(), look.columns.work.size());
  for (Grid* g : {&slice.score, &slice.visits, &slice.told, &slice.lost, &slice.ratio})
    sum_up(look, but_works, *g);
  slice.busy = busy_;
  score_sums_.take(look.items);
}

void LongVisits::take_bets(const Look& look, bool but_works) {
  SurpriseSums::Slice& slice = sums_.slice();
  if (!look.by_request) see_crowd(look, slice);
  sums_.lay_out(look.items.size(), look.columns.work.size());
  for (Grid* g : {&slice.evidence, &slice.told, &slice.lost, &slice.ratio}) sum_up(look, but_works, *g);
  slice.busy = busy_, slice.there = there_;
  sums_.take(look.items.leaves());
}

// Work beside the job's own, files that are written, is done now and then, in whatever mode, and ranks wait
// for it where it takes longer, so that none fits: how long it takes is known of all modes together. Where
// all do it at once it is known beside the others of the round.
void LongVisits::measure_side_work(const Look& look, const VisitSurprise::Unasked& unasked) {
  side_ = look.contrast.side_work();
  const VisitsSeen all = look.contrast.seen();
  rounds_.take(all, side_, look.now);
  side_done_ = false;
  by_rounds_.resize(side_.size(), 0);
  for (std::size_t x = 0; x < side_.size(); ++x) {
    side_done_ = side_done_ || rounds_.going_on()[x];
    if (!rounds_.going_on()[x]) by_rounds_[x] = in_rounds_.knows(x);
  }
  if (!side_done_) return;
  const VisitsSeen side{all.spent, all.ended, all.longest, all.before,
                        all.after, all.there, side_,       all.state_of};
  side_visits_.measure(side, true, of_side_, &unasked);
  const VisitSurprise::Rounds rounds{rounds_.lengths(), rounds_.lengths_before()};
  in_rounds_.measure(side, true, of_rounds_, &unasked, &rounds);
  SurpriseSums::Slice& to = sums_.slice();
  for (std::size_t x = 0; x < side_.size(); ++x) {
    const VisitSurprise::Told& of = by_rounds_[x] && rounds_.shared()[x] ? of_rounds_ : of_side_;
    const std::pair<const Grid*, Grid*> grids[] = {
        {&of.evidence, &to.evidence}, {&of.told, &to.told}, {&of.lost, &to.lost}, {&of.ratio, &to.ratio}};
    for (const auto& [from, into] : grids)
      for (std::size_t l = 0; side_[x] && l < look.items.leaves(); ++l) (*into)[l][x] = (*from)[l][x];
  }
}

void LongVisits::on_slice(const Look& look, Recurrence& recurrence) {
  std::fill(blamed_.begin(), blamed_.end(), 0);
  for (const Episode& e : episodes_)
    for (const std::uint32_t l : e.leaves) blamed_[l] = 1;
  for (const std::uint32_t l : look.returning) blamed_[l] = 1;
  if (first_.value < 0) first_ = look.now;
  works_ = look.columns.work;
  works_.resize(std::max(works_.size(), stretches(By::kBets).columns()), 0);
  if (!look.by_request) enter_mode(look.contrast);
  count_leaves(look);
  // Whom requests and tasks wait for is known while others' work takes longer.
  const bool works =
      std::any_of(episodes_.begin(), episodes_.end(), [](const Episode& e) { return e.works && !e.over; });
  if (look.by_request)
    scores_.measure(look.contrast.seen()), hold_ups_.on_slice(look.contrast.seen(), works_);
  // What a coupled job waits for in collectives counts nothing; whether an episode goes on is told by all
  // that its leaves do.
  const VisitSurprise::Unasked unasked{look.columns.collective, blamed_};
  const VisitsSeen seen = look.contrast.seen();
  if (look.by_request) {
    visits().measure(seen, false, sums_.slice());
  } else {
    lengths_lately_.reach(look.items.leaves(), seen.state_of.size());
    visits().measure(seen, true, sums_.slice(), &unasked, nullptr, &lengths_lately_);
    lengths_lately_.add(visits().judged(), seen.there);
    measure_side_work(look, unasked);
  }
  follow(look.by_request, look.now);
  if (look.by_request) take_scores(look, works);
  take_bets(look, works);
  reach_limits(look.by_request, look.items.groups());
  if (look.by_request) test_hold_ups(look);
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

void LongVisits::Evidence::become(float nats, SliceIndex now) {
  sum = std::max(nats, most - 2 * kOver);  // it may begin again
  if (sum >= most) most = sum, most_at = now;
}

// Whether it goes on.
bool LongVisits::follow(const Episode& e, Course& c, SliceIndex now) const {
  const auto sum = [&](const Grid& of, float out) {
    for (const std::uint32_t l : e.leaves)
      for (std::size_t x = 0; x < of.columns() && l < of.rows(); ++x)
        if (c.by != By::kScores || !e.works || c.column >= of.columns() || x == c.column) out += of[l][x];
    return out;
  };
  const Grid& told = c.by == By::kScores ? scores_.told() : sums_.slice().told;
  c.silent = sum(told, 0) > 0 ? 0 : c.silent + 1;
  if (c.by == By::kScores) {
    // Half of what it was when it began is not over yet; where it ended is told best by all of it.
    const float z = sum(scores_.score(), 0), n = sum(scores_.visits(), 0);
    const auto nats = [&](float shift) { return z * shift - n * shift * shift / 2; };
    c.on.become(c.on.sum + nats(std::max(ScoreSums::kLeastShift, c.shift / 2)), now);
    c.until.become(c.until.sum + nats(std::max(ScoreSums::kLeastShift, c.shift)), now);
  } else {
    c.on.become(sum(sums_.slice().evidence, c.on.sum), now);
    c.until = c.on;
  }
  return c.on.sum > c.on.most - kOver && c.silent < kSilent;
}

// What goes on for so long is the usual from now on, or for longer than all that was seen before it.
bool LongVisits::becomes_usual(const Episode& e, SliceIndex now) const {
  const std::int64_t lasts = now.value + 1 - e.onset.value, before = e.onset.value - first_.value;
  return lasts >= std::int64_t{options_.usual_slices} || lasts >= kLearns + kLonger * before;
}

void LongVisits::follow(bool by_request, SliceIndex now) {
  for (std::size_t k = 0; k < episodes_.size(); ++k) {
    Episode& e = episodes_[k];
    Course& c = courses_[k];
    if (c.by == By::kHeldUp) {
      const auto& held = hold_ups_.held(c.column);
      e.leaves.insert(held.begin(), held.end());
      e.over = !hold_ups_.goes_on(c.column);
      e.end = now;
      continue;
    }
    const bool goes_on = follow(e, c, now);
    if (by_request && (c.learns > 0 || becomes_usual(e, now))) {
      // It is over as soon as it is known.
      if (c.learns == 0) {
        e.end = c.until.most_at + 1;
        for (const std::uint32_t l : e.leaves) scores_.forget(l), visits().forget(l);
      }
      e.over = c.learns++ >= kLearns;
      continue;
    }
    if (goes_on) {
      c.back = 0;
      continue;
    }
    // It ended when its evidence was the most (Page).
    if (c.back++ == 0) e.end = c.until.most_at + 1;
    e.over = c.back >= options_.back_slices;
  }
}

// Is it that others wait for who is blamed already, or that its siblings are hurt as well? These are blamed
// with it then. Below the root siblings are those of a coupled job: its ranks may all be on one machine.
bool LongVisits::joins(const Blamed& blamed, const Look& look) {
  const NodeItems& items = look.items;
  std::set<std::uint32_t> parents;
  for (const std::uint32_t l : blamed.leaves) parents.insert(items.parent(l));
  for (Episode& e : episodes_) {
    if (e.over) continue;
    if (e.works && !blamed.works) return true;
    const bool sibling = std::any_of(e.leaves.begin(), e.leaves.end(), [&](std::uint32_t l) {
      return (!look.by_request || items.parent(l) != NodeItems::kNone) && parents.contains(items.parent(l));
    });
    if (!sibling || e.works != blamed.works) continue;
    e.leaves.insert(blamed.leaves.begin(), blamed.leaves.end());
    return true;
  }
  return false;
}

std::span<const LongVisits::By> LongVisits::told_by(bool by_request) {
  static constexpr std::array<By, 2> kBoth = {By::kScores, By::kBets};
  return by_request ? std::span(kBoth) : std::span(kBoth).last(1);
}

void LongVisits::reach_limits(bool by_request, std::size_t groups) {
  for (const By by : told_by(by_request)) {
    Limits& of = limits(by, by_request);
    of.resize(std::max(of.size(), groups));
    for (std::size_t g = 0; g < of.size(); ++g) {
      // Leaves of a node that wait for each other are not independent.
      const double index = g == 0 || by == By::kScores ? statistics::kLightTail : statistics::kMiddlingTail;
      of[g].resize(std::max(of[g].size(), kinds(by, by_request)), statistics::TailLimit(index));
    }
  }
}

std::optional<LongVisits::Beyond> LongVisits::strongest(const Look& look) {
  const auto& [contrast, items, columns, now, by_request, returning] = look;
  // For each node and state, and all of them; of each depth.
  double kinds = 0;
  for (std::size_t g = 0; g < items.groups(); ++g) kinds += items.count(g) > 0 ? 1 : 0;
  const double each = statistics::in_a_slice(options_.false_alarms_per_day, options_.slice) / kinds;
  const auto states = static_cast<double>(columns.work.size() - Contrast::kMachine);
  std::optional<Beyond> best;
  double most = 1;
  // Of a job, or a mode, that has just begun not all kinds of work have been seen.
  const double new_job = 1 + kNewJob / (kNewJob + learned(by_request));
  for (const By by : told_by(by_request)) {
    const StretchSums& sums = stretches(by);
    const double p = each * (!by_request ? 1 : by == By::kScores ? kByScores : 1 - kByScores);
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      const std::uint32_t g = items.group(i);
      const auto tests = static_cast<double>(items.count(g)) * (states + 1);
      const auto textbook = static_cast<float>(std::log(tests / p));
      for (std::size_t x = 0; x <= sums.columns(); ++x) {
        // No limit is less than the textbook's.
        if (sums.evidence(i, x) <= textbook) continue;
        const StretchSums::Score s = sums.at(i, x);
        if (static_cast<double>(s.effect) < options_.min_effect) continue;
        const double limit = limits(by, by_request)[g][kind(by, by_request, x)].limit(p, tests) * new_job;
        const double times = static_cast<double>(s.score) / limit;
        if (times > most) most = times, best = {i, by, s, limit, tests};
      }
    }
  }
  return best;
}

void LongVisits::restart(std::uint32_t item) {
  sums_.stretches().restart(item);
  score_sums_.restart(item);
}

void LongVisits::see_crowd(const Look& look, const VisitSurprise::Told& slice) {
  lately_.reach(look.items.leaves(), slice.ratio.columns());
  for (std::size_t l = 0; l < std::min(look.items.leaves(), slice.ratio.rows()); ++l) {
    if (!crowded(look.contrast, l)) continue;
    for (std::size_t x = 0; x < slice.ratio.columns(); ++x)
      if (slice.told[l][x] > 0) lately_[l][x] += (slice.ratio[l][x] - lately_[l][x]) / kLately;
  }
}

void LongVisits::test(const Look& look, Recurrence& recurrence) {
  const NodeItems& items = look.items;
  const std::optional<Beyond> by = strongest(look);
  if (!by) return;
  const auto cost = static_cast<float>(std::log(2.0 * static_cast<double>(items.size())));
  const Blamed blamed = blame_lengths(stretches(by->by), items, look.columns, cost,
                                      static_cast<float>(by->limit / 2), options_.min_effect / 2);
  if (blamed.log_ratio < std::log1p(options_.min_effect)) return;
  // Most waits that are long are somebody else's doing.
  if (!blamed.works && static_cast<double>(by->score.score) < kWaits * by->limit) return;
  // Many do not work longer at once: in a single slice it may lie in how calls fall into slices.
  const bool many =
      !look.by_request && blamed.leaves.size() > 1 && blamed.leaves.size() * kMany >= items.leaves();
  if (many && by->score.slices < 2) return;
  Course c;
  c.by = by->by;
  c.on = c.until = {by->score.score, by->score.score, look.now};
  const auto& states = look.columns.state_of;
  const auto in =
      static_cast<std::size_t>(std::find(states.begin(), states.end(), blamed.state) - states.begin());
  c.column = by->score.column >= states.size() ? by->score.column : in;
  if (by->by == By::kScores) c.shift = score_sums_.shift(by->item, by->score.column);
  std::set<std::uint32_t> crowd;
  if (!look.by_request && blamed.works)
    crowd = slowed_together(look.contrast, blamed.leaves, [&](std::uint32_t l) { return lately_[l][in]; });
  else if (!look.by_request && in_crowds(look.contrast, blamed.leaves))
    crowd = blamed.leaves;
  // What has summed up of these has been told.
  const auto& told = crowd.empty() ? blamed.leaves : crowd;
  for (std::uint32_t i = 0; i < items.size(); ++i)
    if (const auto below = items.below(i);
        std::any_of(below.begin(), below.end(), [&](LeafIndex l) { return told.contains(l.value); }))
      restart(i);
  if (!crowd.empty()) return;
  if (look.by_request && blamed.everybody) return restart();
  if (joins(blamed, look)) return;
  // Of who has waited for it, too.
  if (look.by_request && blamed.works) restart();
  begin(*by, blamed, look, recurrence);
  courses_.push_back(c);
}

// A fact, as a standstill is: they are held up, and do not say by whom. Where a stop or a loss explains what
// some do, that may be who.
void LongVisits::test_hold_ups(const Look& look) {
  if (!look.returning.empty()) return;
  for (std::size_t x = 0; x < hold_ups_.columns(); ++x) {
    if (!hold_ups_.is_news(x)) continue;
    const std::uint16_t state = look.columns.state_of[x];
    if (std::any_of(episodes_.begin(), episodes_.end(),
                    [&](const Episode& e) { return !e.over && e.state == state; }))
      continue;
    Episode e;
    e.number = 2 * ++begun_ + 1;
    e.leaves = hold_ups_.held(x);
    e.onset = look.now + 1 - std::int64_t{hold_ups_.slices(x)};
    e.state = state;
    e.excess = 1;
    e.by_lengths = true;
    e.log_ratio = std::log(hold_ups_.times_as_long(x));
    Course c;
    c.by = By::kHeldUp;
    c.column = x;
    hold_ups_.tell(x);
    for (const std::uint32_t l : e.leaves) blamed_[l] = 1;
    episodes_.push_back(std::move(e));
    courses_.push_back(c);
    restart();
  }
}

void LongVisits::begin(const Beyond& by, const Blamed& blamed, const Look& look, Recurrence& recurrence) {
  Episode e;
  e.number = 2 * ++begun_ + 1;  // those of departures are even
  e.leaves = blamed.leaves;
  e.onset = look.now + 1 - std::int64_t{by.score.slices};
  e.state = blamed.state;
  e.works = blamed.works;
  e.usual = !look.by_request && recurrence.usual(e.leaves, e.state, e.onset);
  e.excess = blamed.excess;
  e.by_lengths = true;
  e.log_ratio = blamed.log_ratio;
  e.nats = static_cast<double>(by.score.score), e.limit = by.limit;
  const statistics::TailLimit& tail = limits(
      by.by, look.by_request)[look.items.group(by.item)][kind(by.by, look.by_request, by.score.column)];
  e.rarer = std::log(tail.chance(e.limit, by.tests) / tail.chance(e.nats, by.tests));
  episodes_.push_back(std::move(e));
}

// Of whom visits have told half of what a single one may: of one leaf in twenty that are as usual. Who
// learned it would be deaf to what is weak and goes on. Whose work takes longer waits less, so that all
// together may tell nothing.
void LongVisits::leave_out_suspects(const NodeItems& items) {
  const StretchSums& sums = stretches(By::kBets);
  suspect_.resize(items.leaves(), 0);
  for (std::size_t l = 0; l < items.leaves(); ++l) {
    float most = sums.evidence(l, sums.columns());
    for (std::size_t x = 0; x < sums.columns(); ++x)
      if (works_[x]) most = std::max(most, sums.evidence(l, x));
    suspect_[l] = most > VisitBets::kMostOfOne / 2 ? suspect_[l] + 1 : 0;
    if (suspect_[l] > 0 && suspect_[l] <= kMostSuspicious) blamed_[l] = 1;
  }
}

// How far stretches of long visits went, once each, by depth; and how long visits are.
void LongVisits::learn(const NodeItems& items, bool by_request) {
  for (const By by : told_by(by_request)) {
    const std::size_t of = kinds(by, by_request);
    std::vector<StretchSums::Ended> most(items.groups() * of);
    for (const StretchSums::Ended& e : stretches(by).ended()) {
      StretchSums::Ended& m = most[items.group(e.item) * of + kind(by, by_request, e.column)];
      if (e.score > m.score) m = e;
    }
    for (std::size_t k = 0; k < most.size(); ++k)
      limits(by, by_request)[k / of][k % of].add(most[k].score,
                                                 static_cast<double>(most[k].effect) >= options_.min_effect);
  }
  (by_request ? learned_ : usual().slices) += 1;
  for (std::size_t k = 0; k < episodes_.size(); ++k)
    for (const std::uint32_t l : episodes_[k].leaves) blamed_[l] = courses_[k].learns == 0;
  if (!by_request) leave_out_suspects(items);
  visits().learn(blamed_);
  if (!by_request && side_done_) side_visits_.learn(blamed_), in_rounds_.learn(blamed_);
  if (!by_request) return;
  scores_.learn(blamed_);
  score_sums_.learn(items);
}

}  // namespace margay::detect
