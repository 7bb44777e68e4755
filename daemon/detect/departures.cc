#include "departures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "crowd.h"

namespace margay::detect {
namespace {

constexpr double kLeastHistory = 3, kLongHistory = 32;  // slices; of a coarser level
constexpr std::size_t kLongestSpans = 32;
// All work otherwise than usual: for so many slices it may be a phase that is being learned.
constexpr std::uint32_t kMostMoving = 8, kStragglers = 4,
                        kMostTogether = 16;  // slices; the last of a checkpoint come later
// An episode that is over as soon as it is told is learned if it was no more than so many times the limit.
constexpr double kMostOfAlarm = 1.5;
constexpr std::size_t kLate = 8;        // slices until a maximum is learned
constexpr double kExplainsAlarm = 0.5;  // of what is lost, by those who are blamed
// Slices until what is usual of a leaf that has become another is known, and until it is known well.
constexpr std::uint32_t kLearners = 32, kDoubted = 2 * kLearners;

}  // namespace

Departures::Departures(Options options)
    : options_(options),
      contrast_(options.slice),
      means_(options.finer),
      long_visits_({options.slice, options.min_effect, options.false_alarms_per_day, options.back_slices,
                    options.usual_slices, options.stall_slices}),
      machine_(static_cast<float>(options.min_effect) * options.finer),
      small_shifts_({options.slice, options.min_effect, options.false_alarms_per_day}),
      slowdown_({options.slice, options.min_effect, options.false_alarms_per_day, options.back_slices,
                 options.usual_slices}),
      wave_(2 * std::int64_t{options.back_slices}, kDoubted) {}

void Departures::set_topology(std::shared_ptr<const Topology> topology) {
  topology_ = std::move(topology);
  // Inner nodes are other ones now; leaves keep their numbers.
  const std::size_t keep = std::min(items_.leaves(), topology_->hierarchy.leaf_count());
  items_ = NodeItems(topology_->hierarchy);
  contrast_.share_cpus(items_.siblings());
  long_visits_.set_items(items_, topology_->hierarchy, keep);
  means_.lay_out(items_, columns_.work.size(), keep);
  small_shifts_.set_items(items_, keep);
  pending_.clear();
  restart();
}

// What comes now and what was before are not one stretch.
void Departures::restart() {
  another_mode();
  long_visits_.restart();
  machine_.restart();
}

// What the job does is not; the machine's doing goes on, and so does how long visits take.
void Departures::another_mode() {
  means_.restart();
  alarms_in_a_row_ = 0;
}

void Departures::learn_columns(const Window& window, const std::set<std::uint16_t>& idle) {
  if (columns_.work.empty()) {
    columns_.state_of = {Episode::kDenied, Episode::kStopped, Episode::kBlocked};
    columns_.collective.assign(Contrast::kMachine, 0);
    columns_.sleeps.assign(Contrast::kMachine, 0);
    columns_.polls.assign(Contrast::kMachine, 0);
    columns_.returns_when_done.assign(Contrast::kMachine, 0);
    columns_.work.assign(Contrast::kMachine, 1);  // whose turn it is, and who is not let
  }
  const std::size_t before = columns_.work.size();
  while (columns_.state_of.size() < Contrast::kMachine + window.columns()) {
    const StateId s = window.state_of(columns_.state_of.size() - Contrast::kMachine);
    columns_.state_of.push_back(s.value);
    const auto* const state = s.value < topology_->states.size() ? &topology_->states[s.value] : nullptr;
    columns_.work.push_back(state && is_work(*state) && !idle.contains(s.value));
    columns_.collective.push_back(state && is_collective(*state));
    columns_.sleeps.push_back(state && sleeps(*state));
    columns_.polls.push_back(state && polls(*state));
    columns_.returns_when_done.push_back(state && returns_when_done(*state));
  }
  if (columns_.work.size() > before) lasting_.widen(before, columns_.work.size());
}

template <typename T>
T& Departures::at(OfTests<T>& of, const Test& test) const {
  const std::size_t width = columns_.work.size();
  return of[test.group * NodeMeans::kSpans.size() + test.span]
           [test.cell % width * Contrast::kMeasures + test.cell / width];
}

// The machine is judged by itself.
void Departures::for_each_test(const std::function<void(const Test&)>& see) const {
  for (std::size_t g = 0; g < items_.groups(); ++g)
    for (std::size_t w = 0; w < NodeMeans::kSpans.size() && items_.count(g) > 0; ++w)
      for (std::size_t c = 0; c < contrast_.cells(); ++c)
        if (c % columns_.work.size() >= Contrast::kMachine) see({g, w, c});
}

// What is rare in short slices is a part of the mean in long ones (the central limit theorem).
void Departures::reach_limits(std::size_t tests, std::size_t cells) {
  limits_.resize(std::max(limits_.size(), tests));
  for (std::vector<statistics::TailLimit>& l : limits_)
    while (l.size() < cells) {
      const std::size_t column = l.size() / Contrast::kMeasures, measure = l.size() % Contrast::kMeasures;
      const bool longer_work = measure == Contrast::kExcess && columns_.work[column];
      l.emplace_back((longer_work ? statistics::kMiddlingTail : statistics::kHeavyTail) /
                     static_cast<double>(options_.finer));
    }
}

// The greatest evidence of each test; none where work comes in requests or tasks.
void Departures::score(bool by_request) {
  const std::size_t of = items_.groups() * NodeMeans::kSpans.size(), cells = contrast_.cells();
  greatest_.assign(of, std::vector<Greatest>(cells));
  reach_limits(of, cells);
  if (by_request) return;
  std::vector<char> left_out;  // it would be told, and it would raise the limit
  for (std::size_t i = 0; i < items_.size() && learning_ > 0; ++i) left_out.push_back(learns_anew(i));
  means_.score(items_, contrast_, left_out);
  // Of a state that nobody is in a slice tells nothing: it would make a phase in which they are look unusual.
  std::vector<char> used(columns_.work.size());
  const Grid& spent = contrast_.spent();
  for (std::size_t l = 0; l < spent.rows(); ++l)
    for (std::size_t x = 0; x < std::min(used.size(), spent.columns()); ++x) used[x] |= spent[l][x] > 0;
  for_each_test([&](const Test& t) {
    const NodeMeans::Greatest most = means_.greatest(t.group, t.span, t.cell);
    if (most.nats > 0 && used[t.cell % used.size()])
      at(greatest_, t) = {most.nats, means_.effect(most.item, t.span) >= options_.min_effect};
  });
}

// What a quiet slice's greatest exceeds as seldom as is asked for: false alarms are divided among depths,
// spans and cells.
double Departures::limit(const Test& test) {
  return at(limits_, test).limit(chance(), static_cast<double>(items_.count(test.group)));
}

double Departures::chance() const {
  double tests = 0;
  for (std::size_t g = 0; g < items_.groups(); ++g)
    tests += items_.count(g) > 0 ? static_cast<double>(NodeMeans::kSpans.size()) : 0;
  tests *= static_cast<double>(contrast_.cells() - std::size_t{Contrast::kMeasures} * Contrast::kMachine);
  return statistics::in_a_slice(options_.false_alarms_per_day, options_.slice) / tests;
}

// The nodes of which the evidence is beyond the limit of its test.
std::vector<Departures::Alarm> Departures::alarmed() {
  std::vector<Alarm> out;
  suspect_ = false;
  const double least_history = options_.two_in_a_row ? kLongHistory : kLeastHistory;
  if (contrast_.history() < least_history) return out;
  const double chance = this->chance();
  for_each_test([&](const Test& t) {
    const bool spans = NodeMeans::kSpans[t.span] > 1;
    const Greatest most = at(greatest_, t);
    // Of the longest span each slice shares most with the next: of a coarser level so many have seen as much
    // as four would that do not.
    if (options_.two_in_a_row && spans && at(limits_, t).size() < kLongestSpans) return;
    const double usual = std::log(static_cast<double>(items_.count(t.group)));
    const auto nats = static_cast<double>(most.nats);
    // No limit is less than the textbook's, and most slices are not even half way there.
    if (nats <= usual - std::log(chance) / 2) return;
    const double limit = this->limit(t);
    suspect_ = suspect_ || nats > (usual + limit) / 2;
    if (nats <= limit) return;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      if (items_.group(i) != t.group || (learning_ > 0 && learns_anew(i))) continue;
      const auto of = [&](std::size_t span) { return means_.nats(items_, i, span, t.cell); };
      const auto seen = static_cast<double>(of(t.span)), effect = means_.effect(i, t.span);
      if (seen <= limit || effect < options_.min_effect) continue;
      // What shows more in a slice than in eight has begun in it.
      const bool at_once = spans && static_cast<double>(of(0)) >= seen;
      const std::size_t slices = at_once ? 1 : NodeMeans::kSpans[t.span];
      out.push_back({i, t, static_cast<std::uint32_t>(slices), seen, limit, effect});
    }
  });
  return out;
}

// Do most leaves do what is nobody's waiting, as when all write a checkpoint?
bool Departures::most_work(const model::SliceColumn& column, const std::set<std::uint16_t>& idle) const {
  std::size_t there = 0, works = 0;
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const std::uint16_t state = column.open(LeafIndex(l)).state.value;
    if (state == kAbsent.value || state == kUnknown.value) continue;
    there += 1;
    works += state < topology_->states.size() && is_work(topology_->states[state]) && !idle.contains(state);
  }
  return works * 2 > there;
}

// While all work otherwise than usual, or do work that they seldom do, nobody is to blame, for some slices.
void Departures::hold_back(const Window& window, std::vector<Alarm>& alarms, bool held) {
  moving_ = contrast_.all_move() || contrast_.seldom() ? moving_ + 1 : 0;
  // The last of a checkpoint are given as long again as the others took, slices in which nobody went on among
  // them.
  if (!contrast_.seldom()) together_since_.reset();
  if (contrast_.seldom() && !together_since_) together_since_ = window.last();
  const auto together = !together_since_
                            ? 0
                            : static_cast<std::uint32_t>(std::min<std::int64_t>(
                                  window.last().value + 1 - together_since_->value, kMostTogether));
  const std::uint32_t stood = held ? 0 : std::exchange(standing_, 0);
  const std::uint32_t by_all = std::max(together, std::min(stood, kMostTogether));
  if (by_all > 0) stragglers_ = std::max({stragglers_, kStragglers + 1, 2 * by_all + 1});
  if (stragglers_ > 0) --stragglers_;
  const bool none = (stragglers_ > 0 && moving_ <= kMostMoving) || (moving_ > 0 && moving_ <= kMostMoving);
  if (none || contrast_.few_left()) alarms.clear();
}

void Departures::machine_alarms(std::vector<Alarm>& alarms) const {
  for (const MachineTest::Taken& t : machine_.taken(contrast_))
    alarms.push_back({t.leaf, {}, t.slices, static_cast<double>(t.times), 1, 0, true});
}

// What of these is no more than that a leaf of an episode that lasts goes back: it departs from what has
// become usual of it, and nobody wants to be told.
void Departures::leave_out_returning(std::vector<Alarm>& alarms) const {
  const auto& returning = lasting_.returning();
  if (returning.empty()) return;
  std::erase_if(alarms, [&](const Alarm& a) {
    const auto below = items_.below(a.item);
    return std::any_of(below.begin(), below.end(), [&](LeafIndex l) { return returning.contains(l.value); });
  });
}

// Do most of the others wait in a collective, which ends when all have come?
bool Departures::others_together(const std::set<std::uint32_t>& leaves) const {
  const VisitsSeen seen = contrast_.seen();
  std::size_t others = 0, together = 0;
  for (std::uint32_t l = 0; l < seen.after.size(); ++l) {
    if (!seen.there[l] || leaves.contains(l)) continue;
    others += 1;
    const auto in = static_cast<std::size_t>(
        std::find(columns_.state_of.begin(), columns_.state_of.end(), seen.after[l].state) -
        columns_.state_of.begin());
    together += in < columns_.collective.size() && columns_.collective[in];
  }
  return together * 2 > others;
}

// Is it no more than that they share CPUs? They wait longer, or longer in this column than usual.
bool Departures::by_crowd(const std::set<std::uint32_t>& leaves, std::size_t column,
                          std::size_t slices) const {
  if (column >= columns_.work.size()) return in_crowds(contrast_, leaves);
  std::vector<float> way(contrast_.cells());
  const auto longer = [&](std::uint32_t l) {
    std::fill(way.begin(), way.end(), 0.0f);
    means_.add_last(l, slices, way.data());
    return way[Contrast::kExcess * columns_.work.size() + column];
  };
  return !slowed_together(contrast_, leaves, longer).empty();
}

Departures::Begun Departures::begin(const Window& window, const std::vector<Alarm>& alarms, bool held) {
  const auto by_much = [](const Alarm& a) { return a.nats / a.limit; };
  const auto strongest = std::max_element(
      alarms.begin(), alarms.end(), [&](const Alarm& a, const Alarm& b) { return by_much(a) < by_much(b); });
  const bool machine = std::any_of(alarms.begin(), alarms.end(), [](const Alarm& a) { return a.machine; });
  std::uint32_t slices = std::max(strongest->slices, alarms_in_a_row_);
  slices = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(slices, std::min<std::uint64_t>(NodeMeans::kLong, means_.run())));
  OpenEpisode::Rules rules;
  rules.min_effect = options_.min_effect;
  rules.back_slices = options_.back_slices;
  OpenEpisode episode(2 * (episodes_ + 1),  // those of long visits are odd
                      std::max(1u, slices), rules, look(window));
  Episode& e = episode.episode();
  if (!strongest->machine) {
    e.nats = strongest->nats, e.limit = strongest->limit;
    const auto nodes = static_cast<double>(items_.count(strongest->test.group));
    const statistics::TailLimit& tail = at(limits_, strongest->test);
    e.rarer = std::log(tail.chance(e.limit, nodes) / tail.chance(e.nats, nodes));
  }
  // Those in a collective wait for somebody else, and many do not work longer at once: in a single slice
  // either may lie in how calls fall into slices.
  const auto in = static_cast<std::size_t>(
      std::find(columns_.state_of.begin(), columns_.state_of.end(), e.state) - columns_.state_of.begin());
  const bool wait = !e.works && in < columns_.collective.size() && columns_.collective[in];
  const bool many = e.works && items_.leaves() >= kLeastLeaves && e.leaves.size() * kMany > items_.leaves();
  // What single slices may come to no short history tells, of the mode or of one who has become another.
  const bool another = std::any_of(e.leaves.begin(), e.leaves.end(),
                                   [&](std::uint32_t l) { return l < learners_.size() && learners_[l] > 0; });
  const bool mode = e.works && contrast_.history() < 2 * kLongHistory;
  const bool young = !episode.by_waiting() && !machine && (mode || another);
  // Nor is it sure whose doing it is where others are blamed than those of the node that does it.
  const auto below = strongest->machine ? std::span<const LeafIndex>() : items_.below(strongest->item);
  const bool elsewhere =
      e.works && !machine && std::any_of(e.leaves.begin(), e.leaves.end(), [&](std::uint32_t l) {
        return std::find(below.begin(), below.end(), LeafIndex(l)) == below.end();
      });
  // What has begun in the slice and goes on where it ends the next one tells better: whether it is a stop.
  const bool begun = e.works && !machine && contrast_.sampled() &&
                     std::any_of(e.leaves.begin(), e.leaves.end(), [&](std::uint32_t l) {
                       return static_cast<double>(contrast_.seen().after[l].age) >= episode.effect(means_);
                     });
  if ((wait || many || young || begun || elsewhere) && alarms_in_a_row_ < 2) return Begun::kNotYet;
  // While nobody gets on, those that wait are not the cause, but for who has not come to where all others
  // are.
  if (held && !e.works && (wait || !others_together(e.leaves))) return Begun::kNobody;
  // It is short, and so a coarser level sees none of it.
  if (!options_.two_in_a_row && !e.works && wave_.explains(e.onset, window.last())) return Begun::kNobody;
  if (!machine && by_crowd(e.leaves, e.works ? in : columns_.work.size(), slices)) return Begun::kNobody;
  // Who waits longer waits for somebody who works as much longer, nearly: what many do a little otherwise
  // than usual explains nothing.
  if (!machine && episode.effect(means_) < std::max(options_.min_effect, kExplainsAlarm * strongest->effect))
    return Begun::kNobody;
  // What the machine does is not the program's own.
  e.usual = !machine && recurrence_.usual(e.leaves, e.state, e.onset);
  begun_at_ = window.last();
  begun_by_ = begun_near_ = greatest_;
  for_each_test([&](const Test& t) {
    if (strongest->machine) at(begun_by_, t) = {};
    Greatest& g = at(begun_near_, t);
    if (strongest->machine || static_cast<double>(g.nats) > kMostOfAlarm * limit(t)) g = {};
  });
  ++episodes_;
  episode_.emplace(std::move(episode));
  pending_.clear();
  contrast_.forget();
  return Begun::kYes;
}

void Departures::follow(const Window& window) {
  episode_->follow(look(window));
  const Episode& e = episode_->episode();
  if (e.over && (e.end <= begun_at_ + 1 || e.end <= e.onset + std::int64_t{options_.back_slices}))
    learn_brief();
  if (e.over || window.last().value + 1 - e.onset.value < std::int64_t{options_.usual_slices}) return;
  if (!e.usual) last(e, episode_->depart(), episode_->way());
  episode_.reset();
}

// It has gone on for so long that waiting for its end would be blindness: it is the usual from now on, and is
// learned as the usual is learned in the beginning.
void Departures::last(const Episode& episode, const std::set<std::uint32_t>& depart,
                      const std::vector<float>& way) {
  lasting_.add(episode, depart, way);
  std::set<std::uint32_t> anew = depart;
  anew.insert(episode.leaves.begin(), episode.leaves.end());
  learn_anew(anew);
}

// Leaves of which an alert of what lasts fires, that go back to what they did, and of which little is known
// since they have.
std::set<std::uint32_t> Departures::become_others() const {
  std::set<std::uint32_t> out = explained_;
  out.insert(lasting_.returning().begin(), lasting_.returning().end());
  for (std::uint32_t l = 0; l < learners_.size() && learning_ > 0; ++l)
    if (learners_[l] > kDoubted) out.insert(l);
  return out;
}

void Departures::long_visits_that_last(SliceIndex now) {
  const std::vector<Episode> all = long_visits_.episodes();
  for (const Episode& e : all) {
    if (e.over || e.usual || now.value + 1 - e.onset.value < std::int64_t{options_.usual_slices}) continue;
    std::vector<float> way(contrast_.cells(), 0.0f);
    const auto slices = std::min<std::size_t>(NodeMeans::kLong, means_.run());
    for (const std::uint32_t l : e.leaves) means_.add_last(l, slices, way.data());
    for (float& v : way)
      v = std::max(0.0f, v / static_cast<float>(std::max<std::size_t>(1, slices) * e.leaves.size()));
    long_visits_.take_out(e.number);
    last(e, e.leaves, way);
  }
}

void Departures::learn_anew(const std::set<std::uint32_t>& leaves) {
  contrast_.begin_anew();
  long_visits_.forget();
  learners_.resize(std::max(learners_.size(), items_.leaves()), 0);
  learning_ = kLearners + kDoubted;
  for (const std::uint32_t l : leaves) learners_[l] = learning_;
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (learns_anew(i)) means_.forget(i);
}

// Of leaves that have just become others little is known; a node that holds one is no better.
bool Departures::learns_anew(std::size_t item) const {
  const auto below = items_.below(item);
  return std::any_of(below.begin(), below.end(), [&](LeafIndex l) {
    return l.value < learners_.size() && learners_[l.value] > kDoubted;
  });
}

// What was over as soon as it had begun may be the far end of what is usual: were it left out, the limit
// would be that of a history without its greatest, and would be exceeded as often ever after. If it has also
// cost half of the least that is told of what lasts, it is what runs on any machine now and then, however
// improbable.
void Departures::learn_brief() {
  const Episode& e = episode_->episode();
  const double lost = e.excess * static_cast<double>(e.end.value - e.onset.value);
  learn_maxima(lost < options_.min_effect * NodeMeans::kLong / 2 ? begun_by_ : begun_near_);
}

void Departures::learn_maxima(const OfTests<Greatest>& maxima) {
  for (std::size_t t = 0; t < maxima.size(); ++t)
    for (std::size_t k = 0; k < maxima[t].size(); ++k)
      if (const Greatest& m = maxima[t][k]; m.nats > 0) limits_[t][k].add(m.nats, m.told);
}

void Departures::learn_maxima() {
  pending_.push_back(greatest_);
  while (pending_.size() > kLate) {
    learn_maxima(pending_.front());
    pending_.erase(pending_.begin());
  }
}

// The slice is no perturbation: what it says of what is usual. True if a mode has been learned by it.
bool Departures::quiet() {
  suspicious_ = suspect_ ? suspicious_ + 1 : 0;
  if (!contrast_.unsettled() && contrast_.history() > 1 &&
      (suspicious_ == 0 || suspicious_ > kMostSuspicious))
    means_.learn(items_, contrast_);
  if (!contrast_.unsettled()) learn_maxima();
  return contrast_.learn();
}

std::size_t Departures::short_of_cpus() const {
  return count_crowded(contrast_);
}

void Departures::drop(std::uint64_t number) {
  if (episode_ && episode_->episode().number == number) episode_.reset();
  long_visits_.take_out(number);
  restart();
}

std::vector<Episode> Departures::told() const {
  std::vector<Episode> out;
  for (const Episode& e : long_visits_.episodes())
    if (!e.usual) out.push_back(e);
  for (const Episode& e : small_shifts_.episodes()) out.push_back(e);
  if (episode_ && !episode_->episode().usual) out.push_back(episode_->episode());
  if (const auto& slow = slowdown_.episode(); slow && !slow->usual) out.push_back(*slow);
  return out;
}

std::vector<Episode> Departures::on_slice(const Window& window, const model::SliceColumn& column,
                                          const std::set<std::uint16_t>& idle, Look how) {
  if (episode_ && episode_->episode().over) episode_.reset();
  long_visits_.drop_over();
  small_shifts_.drop_over();
  slowdown_.drop_over();
  lasting_.forget_over();
  if (!topology_ || window.size() == 0) return {};
  if (how == Look::kNothing) {
    suspect_ = false;
    if (machine_.began()) restart();
    contrast_.forget();
    slowdown_.restart(window.last());
    standing_ = 0;
    return told();
  }
  if (how == Look::kHeld) standing_ = most_work(column, idle) ? standing_ + 1 : 0;
  learn_columns(window, idle);
  contrast_.measure(window, column, idle, columns_);
  means_.lay_out(items_, contrast_.columns(), items_.size());
  means_.take(items_, contrast_);
  machine_.take(contrast_);
  const bool by_request = !idle.empty();
  // A coarser level has no more visits than the finest. In a coupled job one cause is enough.
  if (!options_.two_in_a_row && (by_request || !episode_))
    long_visits_.on_slice({contrast_, items_, columns_, window.last(), by_request, become_others()},
                          recurrence_);
  if (!by_request) long_visits_that_last(window.last());
  for (const Episode& e : long_visits_.episodes()) {
    blamed_otherwise_.insert(e.leaves.begin(), e.leaves.end());
    wave_.perturbed(e.over ? e.end : window.last() + 1);
  }
  if (episode_) {
    blamed_otherwise_.insert(episode_->episode().leaves.begin(), episode_->episode().leaves.end());
    slowdown_.restart(window.last());
    follow(window);
    if (episode_) wave_.perturbed(episode_->episode().over ? episode_->episode().end : window.last() + 1);
    if (!episode_ || episode_->episode().over) restart();
    return told();
  }
  if (!by_request && long_visits_.any_open()) {
    slowdown_.restart(window.last());
    return told();
  }
  if (slowdown_.any_open()) {
    slowdown_.on_slice(column, contrast_, columns_, recurrence_);
    if (slowdown_.is_usual()) learn_anew(slowdown_.episode()->leaves);
    return told();
  }
  test(window, by_request, how == Look::kHeld);
  // Whoever departs is the cause.
  if (!by_request && !options_.two_in_a_row && how == Look::kNormal && !episode_)
    slowdown_.on_slice(column, contrast_, columns_, recurrence_);
  if (!by_request && how == Look::kNormal) look_for_small_shifts(window.last());
  return told();
}

// What is strong is told before, and explains what its leaves do.
void Departures::look_for_small_shifts(SliceIndex now) {
  if (options_.two_in_a_row) return;  // a coarser level has no longer memory than the finest
  if (episode_ || long_visits_.any_open()) return;
  if (!blamed_otherwise_.empty()) small_shifts_.restart(items_, std::exchange(blamed_otherwise_, {}));
  if (contrast_.unsettled() || contrast_.seldom() || contrast_.few_left()) return;
  small_shifts_.on_slice({contrast_, items_, columns_, now, explained_});
}

// Whether somebody departs from what is usual in the newest slice, or it is learned from.
void Departures::test(const Window& window, bool by_request, bool held) {
  score(by_request);
  std::vector<Alarm> alarms;
  if (!by_request) alarms = alarmed();
  hold_back(window, alarms, held);
  machine_alarms(alarms);
  if (lasting_.look(contrast_, window.last(), options_.back_slices)) alarms.clear();
  if (!lasting_.returned().empty()) learn_anew(lasting_.returned());
  leave_out_returning(alarms);
  if (learning_ > 0) {
    --learning_;
    for (std::uint32_t& slices : learners_) slices -= slices > 0 ? 1 : 0;
  }
  alarms_in_a_row_ = alarms.empty() ? 0 : alarms_in_a_row_ + 1;
  // Where processes are sampled, what has just begun is better told in the next slice: by what the machine
  // does.
  const bool waits = options_.two_in_a_row || (contrast_.unsettled() && contrast_.sampled());
  if (!alarms.empty() && (!waits || alarms_in_a_row_ >= 2)) {
    const Begun first = begin(window, alarms, held);
    if (first == Begun::kNotYet) learn_maxima();
    if (first == Begun::kNobody) {
      alarms.clear(), suspect_ = true;
      for_each_test([&](const Test& t) {
        Greatest& g = at(greatest_, t);
        g.told = g.told && static_cast<double>(g.nats) <= limit(t);
      });
    }
  }
  const bool learned = alarms.empty() && quiet();
  // What was a departure from the old one is none from the new.
  if (lasting_.any_over()) restart();
  if (!learned) return;
  another_mode();
  means_.begin_mode();
  if (!by_request) long_visits_.restart();
}

}  // namespace margay::detect
