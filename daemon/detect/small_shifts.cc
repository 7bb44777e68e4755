#include "small_shifts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "blame.h"

namespace margay::detect {
namespace {

constexpr double kShiftPart = 0.1;  // of the false alarms of all other departures
constexpr double kSmallest = 0.1;   // of min_effect
constexpr std::size_t kPeers = 4;
constexpr std::int64_t kDoubt = 4;  // periods that an onset may be off

}  // namespace

void SmallShifts::set_items(const NodeItems& items, std::size_t keep) {
  sums_.lay_out(items, channels_.size(), keep);
  while (limits_.size() < items.groups() * ShiftSums::kScales) limits_.emplace_back(statistics::kLightTail);
  greatest_.resize(limits_.size(), 0.0f);
  except_.assign(items.size(), 0);
  blamed_.assign(items.size(), 0);
  slices_ = 0;
  for (Course& c : courses_) c.item = place(items, c.leaves);
  mark_blamed(items);
  // All items of a depth below a node that holds enough of them.
  using Place = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Place, Peers> sets;
  for (std::uint32_t i = 0; i < items.size(); ++i)
    for (std::uint32_t p = items.parent(i);; p = items.parent(p)) {
      sets[{p, items.group(i)}].all.push_back(i);
      if (p == NodeItems::kNone) break;
    }
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    std::uint32_t p = items.parent(i);
    while (p != NodeItems::kNone && sets[{p, items.group(i)}].all.size() < kPeers) p = items.parent(p);
    sets[{p, items.group(i)}].of.push_back(i);
  }
  peers_.clear();
  std::set<std::uint32_t> depths;
  for (auto& [place, set] : sets) {
    if (set.of.empty() || set.all.size() < kPeers) continue;
    peers_.push_back(std::move(set));
    depths.insert(place.second);
  }
  depths_ = std::max<std::size_t>(1, depths.size());
}

// The item that has these leaves, or the first of them.
std::uint32_t SmallShifts::place(const NodeItems& items, const std::vector<LeafIndex>& leaves) {
  for (auto i = static_cast<std::uint32_t>(items.leaves()); i < items.size(); ++i)
    if (const auto below = items.below(i);
        std::is_permutation(below.begin(), below.end(), leaves.begin(), leaves.end()))
      return i;
  return leaves.front().value;
}

void SmallShifts::mark_blamed(const NodeItems& items) {
  std::fill(blamed_.begin(), blamed_.end(), 0);
  for (const Episode& e : episodes_) {
    if (e.over) continue;
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      const auto below = items.below(i);
      blamed_[i] = blamed_[i] || std::all_of(below.begin(), below.end(),
                                             [&](LeafIndex l) { return e.leaves.contains(l.value); });
    }
  }
}

void SmallShifts::lay_out(const NodeItems& items, const Columns& columns) {
  for (std::size_t x = Contrast::kMachine; x < columns.work.size(); ++x)
    if (columns.work[x] && std::find(channels_.begin(), channels_.end(), x) == channels_.end())
      channels_.push_back(x);
  sums_.lay_out(items, channels_.size(), items.size());
  for (Grid* g : {&block_.apart, &block_.own, &block_.lost}) g->reach(items.size(), channels_.size());
}

void SmallShifts::on_slice(const Look& look) {
  const auto& [contrast, items, columns, now, explained] = look;
  lay_out(items, columns);
  lengths_.take(contrast, columns, blamed_);
  if (slices_++ == 0) {
    first_ = now;
    for (Grid* g : {&block_.apart, &block_.own, &block_.lost}) g->fill(0);
    block_.known.assign(items.size(), 0);
    there_.assign(items.leaves(), 0.0f);
  }
  for (std::size_t l = 0; l < std::min(items.leaves(), contrast.leaves()); ++l) {
    if (!contrast.known(l) || !lengths_.known()[l]) continue;
    there_[l] += 1;
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      block_.own[l][c] += lengths_.longer()[l][channels_[c]];
      block_.lost[l][c] += lengths_.excess()[l][channels_[c]];
    }
  }
  if (slices_ < ShiftSums::kBlock) return;
  slices_ = 0;
  take_block(look);
}

void SmallShifts::take_block(const Look& look) {
  const auto& [contrast, items, columns, now, explained] = look;
  add_up(items);
  take_off_peers();
  sums_.take(items, block_, first_, blamed_);
  ++blocks_;
  for (std::size_t t = 0; t < limits_.size(); ++t)
    greatest_[t] = std::max(greatest_[t], sums_.ended(t / ShiftSums::kScales, t % ShiftSums::kScales));
  follow(items, now);
  restart(items, explained);
  test(items, columns, now);
  learn(items);
}

// Means over the leaves below, those that are blamed left out where there are others.
void SmallShifts::add_up(const NodeItems& items) {
  for (std::size_t l = 0; l < items.leaves(); ++l)
    block_.known[l] = 2 * there_[l] >= static_cast<float>(ShiftSums::kBlock);
  for (std::size_t i = items.leaves(); i < items.size(); ++i) {
    const auto below = items.below(i);
    float known = 0;
    for (const LeafIndex l : below) {
      if (!block_.known[l.value] || (blamed_[l.value] && !blamed_[i])) continue;
      known += 1;
      for (std::size_t c = 0; c < channels_.size(); ++c) {
        block_.own[i][c] += block_.own[l.value][c];
        block_.lost[i][c] += block_.lost[l.value][c];
      }
    }
    block_.known[i] = 2 * known >= static_cast<float>(below.size());
    for (Grid* g : {&block_.own, &block_.lost})
      for (std::size_t c = 0; c < channels_.size() && known > 0; ++c) (*g)[i][c] /= known;
  }
}

// The median of all others, which no single one of them moves.
void SmallShifts::take_off_peers() {
  const std::vector<char> known = std::exchange(block_.known, std::vector<char>(block_.known.size(), 0));
  std::vector<std::pair<float, std::uint32_t>> others;
  for (const Peers& peers : peers_) {
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      others.clear();
      for (const std::uint32_t i : peers.all)
        if (known[i] && !blamed_[i]) others.emplace_back(block_.own[i][c], i);
      std::sort(others.begin(), others.end());
      const auto median = [&](std::size_t without, std::size_t n) {
        const auto at = [&](std::size_t k) { return others[k < without ? k : k + 1].first; };
        return (at((n - 1) / 2) + at(n / 2)) / 2;
      };
      for (const std::uint32_t i : peers.of) {
        if (!known[i]) continue;
        const auto mine = std::lower_bound(others.begin(), others.end(), std::pair(block_.own[i][c], i));
        const auto at = static_cast<std::size_t>(mine - others.begin());
        const std::size_t n = others.size() - (blamed_[i] ? 0 : 1);
        if (n + 1 < kPeers) continue;
        block_.apart[i][c] = block_.own[i][c] - median(blamed_[i] ? others.size() : at, n);
        block_.known[i] = 1;
      }
    }
  }
}

// The probability that is left to a period of the scale.
double SmallShifts::asked(std::size_t scale) const {
  const auto kinds = static_cast<double>(depths_ * ShiftSums::kScales);
  const DurationNs period = options_.slice * static_cast<std::int64_t>(ShiftSums::period(scale));
  return statistics::in_a_slice(kShiftPart * options_.false_alarms_per_day, period) / kinds;
}

double SmallShifts::limit(std::size_t group, std::size_t scale, double tests) const {
  return limits_[group * ShiftSums::kScales + scale].limit(asked(scale), tests);
}

void SmallShifts::test(const NodeItems& items, const Columns& columns, SliceIndex now) {
  std::optional<Alarm> strongest;
  double most = 1;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    const std::size_t g = items.group(i);
    except_[i] = blamed_[i];
    const double tests = static_cast<double>(items.count(g) * std::max<std::size_t>(1, channels_.size()));
    for (std::size_t s = 0; s < ShiftSums::kScales; ++s) {
      const double least = std::log(tests / asked(s));  // no limit is less than the textbook's
      for (std::size_t c = 0; c < channels_.size(); ++c) {
        const ShiftSums::Score score = sums_.of(items, i, c, s);
        const auto nats = static_cast<double>(score.nats);
        if (nats < kBelongs * least) continue;
        except_[i] = 1;
        if (nats <= least || !worth_telling(score)) continue;
        const double limit = this->limit(g, s, tests);
        if (nats <= most * limit) continue;
        most = nats / limit;
        strongest = {i, c, s, limit, tests};
      }
    }
  }
  if (strongest) begin(items, columns, *strongest, now);
}

// It takes a little longer, it is not the others that take less, and it has lost what the least that is told
// at once would have.
bool SmallShifts::worth_telling(const ShiftSums::Score& score) const {
  return static_cast<double>(score.own) >= kSmallest * options_.min_effect &&
         score.own >= kBelongs * score.apart &&
         static_cast<double>(score.lost) >= options_.min_effect * static_cast<double>(NodeMeans::kLong);
}

// Items of the depth that show at least half of it.
std::set<std::uint32_t> SmallShifts::blamed(const NodeItems& items, const Alarm& alarm) const {
  std::set<std::uint32_t> out;
  const ShiftSums::Score strongest = sums_.of(items, alarm.item, alarm.channel, alarm.scale);
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    if (items.group(i) != items.group(alarm.item)) continue;
    const ShiftSums::Score score = sums_.of(items, i, alarm.channel, alarm.scale);
    if (i != alarm.item && (static_cast<double>(score.nats) < kBelongs * static_cast<double>(alarm.limit) ||
                            score.apart < kBelongs * strongest.apart || !worth_telling(score)))
      continue;
    for (const LeafIndex l : items.below(i)) out.insert(l.value);
  }
  return out;
}

void SmallShifts::begin(const NodeItems& items, const Columns& columns, const Alarm& alarm, SliceIndex now) {
  const ShiftSums::Score score = sums_.of(items, alarm.item, alarm.channel, alarm.scale);
  Episode e;
  e.leaves = blamed(items, alarm);
  e.onset = score.begin;
  e.state = columns.state_of[channels_[alarm.channel]];
  restart(items, e.leaves);
  const auto doubt = static_cast<std::int64_t>(ShiftSums::period(alarm.scale)) * kDoubt;
  for (std::size_t k = 0; k < episodes_.size(); ++k) {
    Episode& known = episodes_[k];
    if (known.over || known.state != e.state) continue;
    const auto theirs = static_cast<std::int64_t>(ShiftSums::period(courses_[k].scale)) * kDoubt;
    if (std::abs(known.onset.value - e.onset.value) > std::max(doubt, theirs)) continue;
    known.leaves.insert(e.leaves.begin(), e.leaves.end());
    mark_blamed(items);
    return;
  }
  e.number = kFirst + ++begun_;
  e.works = true;
  e.small = true;
  e.by_lengths = true;
  e.excess = static_cast<double>(score.lost / score.slices);
  e.log_ratio = std::log1p(static_cast<double>(score.own));
  e.nats = static_cast<double>(score.nats), e.limit = alarm.limit;
  const statistics::TailLimit& tail = limits_[items.group(alarm.item) * ShiftSums::kScales + alarm.scale];
  e.rarer = std::log(tail.chance(e.limit, alarm.tests) / tail.chance(e.nats, alarm.tests) / kShiftPart);
  Course course;
  const auto below = items.below(alarm.item);
  course.leaves.assign(below.begin(), below.end());
  course.item = alarm.item, course.channel = alarm.channel, course.scale = alarm.scale;
  course.evidence = course.most = score.nats;
  course.most_at = now;
  episodes_.push_back(std::move(e));
  courses_.push_back(course);
  mark_blamed(items);
}

void SmallShifts::follow(const NodeItems& items, SliceIndex now) {
  for (std::size_t k = 0; k < episodes_.size(); ++k) {
    Episode& e = episodes_[k];
    Course& c = courses_[k];
    if (block_.known[c.item]) {
      c.silent = 0;
      c.evidence += sums_.nats(items, c.item, c.channel, block_.apart[c.item][c.channel])[c.scale];
    } else {
      ++c.silent;
    }
    if (c.evidence >= c.most) c.most = c.evidence, c.most_at = now;
    const bool back = static_cast<double>(c.most - c.evidence) > kBelongs * e.limit;
    if (!back && c.silent * ShiftSums::kBlock < ShiftSums::period(c.scale) * kDoubt) continue;
    e.end = c.most_at + 1;
    e.over = true;
    mark_blamed(items);
  }
}

// How far stretches went, once each, in each period.
void SmallShifts::learn(const NodeItems& items) {
  for (std::size_t t = 0; t < limits_.size(); ++t) {
    const std::size_t scale = t % ShiftSums::kScales;
    if (!sums_.speaks(t / ShiftSums::kScales, scale)) continue;
    if (blocks_ * ShiftSums::kBlock % ShiftSums::period(scale) != 0) continue;
    limits_[t].add(std::exchange(greatest_[t], 0.0f));
  }
  sums_.learn(items, block_, except_);
}

void SmallShifts::restart(const NodeItems& items, const std::set<std::uint32_t>& leaves) {
  slices_ = 0;
  if (leaves.empty()) return;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    const auto below = items.below(i);
    if (std::any_of(below.begin(), below.end(), [&](LeafIndex l) { return leaves.contains(l.value); }))
      sums_.restart(i);
  }
}

void SmallShifts::forget(const NodeItems& items, const std::set<std::uint32_t>& leaves) {
  restart(items, leaves);
  for (const std::uint32_t l : leaves) lengths_.forget(l);
}

void SmallShifts::drop_over() {
  for (std::size_t k = episodes_.size(); k-- > 0;) {
    if (!episodes_[k].over) continue;
    episodes_.erase(episodes_.begin() + static_cast<std::ptrdiff_t>(k));
    courses_.erase(courses_.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

}  // namespace margay::detect
