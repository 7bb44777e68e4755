#include "margay/detect/phases.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace margay::detect {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
// A signature follows drift: it remembers about this many slices.
constexpr double kMemorySlices = 600;
// Slices of a stretch that are looked at to compare it.
constexpr std::int64_t kMostCompared = 60;
constexpr std::size_t kMostBytes = std::size_t{32} << 20;  // of signatures; beyond, as most_phases
constexpr double kNoiseDeviations = 4;
// A stretch that is a phase's begin or its end may be so many times apart_bits from it, and its other
// neighbour has to be so many times as far.
constexpr double kPassing = 3;
constexpr double kFarNearer = 3;
// Slices from one look at whether the current stretch is a mixture to the next.
constexpr std::int64_t kMixedEvery = 10;

}  // namespace

PhaseTracker::PhaseTracker(PhaseOptions options, DurationNs slice) : options_(options), slice_(slice) {}

std::string PhaseTracker::name_of(std::size_t phase) {
  std::string name;
  for (std::size_t n = phase + 1; n > 0; n = (n - 1) / 26)
    name.insert(name.begin(), static_cast<char>('A' + (n - 1) % 26));
  return name;
}

void PhaseTracker::restore(const std::map<std::string, Recognised>& phases) {
  std::size_t told = 0;
  for (std::size_t i = 0; i < options_.most_phases && told < phases.size(); ++i) {
    phases_.emplace_back();
    const auto known = phases.find(named(i));
    if (known == phases.end()) continue;
    ++told;
    phases_.back().mean = known->second.signature;
    phases_.back().occurrences = known->second.occurrences;
    phases_.back().in_order = phases_.back().mean.slices() > 0;
  }
  while (!phases_.empty() && phases_.back().occurrences == 0) phases_.pop_back();
}

const Distribution* PhaseTracker::signature(const std::string& name) const {
  for (std::size_t i = 0; i < phases_.size(); ++i)
    if (named(i) == name) return phases_[i].mean.slices() > 0 ? &phases_[i].mean : nullptr;
  return nullptr;
}

const Distribution& PhaseTracker::reference() const {
  static const Distribution kEmpty;
  if (spans_.empty()) return kEmpty;
  // Early in a phase that has come back its signature knows more than the present stretch.
  const Distribution& known = phases_[span_phase_.back()].mean;
  return known.slices() > 0 ? known : early_;
}

double PhaseTracker::reference_slices() const {
  return reference().slices();
}

// The normal slices of [from, to), at most the newest `most` of them.
Distribution PhaseTracker::gather(const Window& window, SliceIndex from, SliceIndex to,
                                  std::int64_t most) const {
  Distribution d;
  from = std::max(from, window.first());
  for (SliceIndex s = to - 1; s >= from && static_cast<std::int64_t>(d.slices()) < most; s = s - 1)
    if (!abnormal_.contains(s)) d.add(window, s);
  return d;
}

// Adds what surely belongs to the current phase to its signature.
void PhaseTracker::settle_through(const Window& window, SliceIndex to) {
  if (spans_.empty()) return;
  Signature& known = phases_[span_phase_.back()];
  Distribution& mean = known.mean;
  for (SliceIndex s = std::max(settled_, window.first()); s < to; ++s) {
    if (abnormal_.contains(s)) continue;
    const bool in_order = !of_lasting_.contains(s);
    if (!in_order && known.in_order) continue;
    if (in_order && !known.in_order) mean = {}, known.in_order = true;
    if (mean.slices() >= kMemorySlices) mean.scale(1 - 1 / kMemorySlices);
    mean.add(window, s);
    recent_.add(window, s);
  }
  settled_ = std::max(settled_, to);
}

// Ranks that do the same things divide their time otherwise when the machine does: who shares a core with
// whom decides who waits for whom.
double PhaseTracker::apart_bits(bool same_visits) const {
  return same_visits ? std::max(options_.apart_bits, options_.apart_same_bits) : options_.apart_bits;
}

// How far apart chance alone puts `n` slices and the phase they belong to, in bits: from blocks of the
// stretch itself, which know of noise that lasts longer than a slice. The mean and a few deviations, for the
// question is asked at every slice.
double PhaseTracker::noise_bits(const Window& window, SliceIndex from, SliceIndex to, double n) const {
  from = std::max({from, window.first(), to - kMostCompared});
  std::vector<SliceIndex> slices;
  Distribution mean;
  for (SliceIndex s = from; s < to; ++s)
    if (!abnormal_.contains(s)) {
      slices.push_back(s);
      mean.add(window, s);
    }
  if (slices.size() < 2 || n <= 0) return 0;
  const std::size_t block =
      std::clamp<std::size_t>(static_cast<std::size_t>(n), 1, std::max<std::size_t>(1, slices.size() / 4));
  double sum = 0, squares = 0;
  const std::size_t blocks = slices.size() / block;
  for (std::size_t i = 0; i < blocks; ++i) {
    Distribution d;
    for (std::size_t k = 0; k < block; ++k) d.add(window, slices[i * block + k]);
    const double bits = distance_bits(d, mean);
    sum += bits;
    squares += bits * bits;
  }
  const double average = sum / static_cast<double>(blocks);
  const double deviation =
      std::sqrt(std::max(0.0, squares / static_cast<double>(blocks) - average * average));
  return (average + kNoiseDeviations * deviation) * static_cast<double>(block) / n;
}

// The known phase that `d` is nearest to, if it is near enough. `before`, the phase that has just ended, must
// be nearer than that: a boundary is not taken back for a doubt.
std::size_t PhaseTracker::identify(const Distribution& d, std::size_t before, double noise) const {
  std::size_t nearest = kNone;
  std::pair<bool, double> least;
  const bool full = phases_.size() >= options_.most_phases ||
                    phases_.size() * d.sums().size() * sizeof(double) >= kMostBytes;
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    if (phases_[i].mean.slices() <= 0) continue;
    const double bits = distance_bits(d, phases_[i].mean);
    if (i == before && from_mixture_) continue;
    const bool same = same_visits(d, phases_[i].mean);
    const double limit = i != before ? apart_bits(same) + noise : apart_bits(same) * (same ? 1 : 0.5);
    if (bits > limit && !(full && i != before)) continue;
    // Who does the same things is nearer than anybody who does others.
    if (nearest == kNone || std::pair(!same, bits) < least) {
      least = {!same, bits};
      nearest = i;
    }
  }
  return nearest;
}

// Where between the slices the change was: each slice near the cut is a mixture of before and after, and how
// much of each it holds tells how far into it the edge lies.
TimeNs PhaseTracker::refine_edge(const Window& window, SliceIndex cut, const Distribution& before,
                                 const Distribution& after) const {
  const SliceIndex from = std::max(cut - 2, window.first()), to = std::min(cut + 2, window.last() + 1);
  double old_slices = 0;
  for (SliceIndex s = from; s < to; ++s) {
    double along = 0, length = 0;
    for (std::uint32_t l = 0; l < window.leaves(); ++l) {
      const LeafIndex leaf(l);
      const double w = window.weight(s, leaf);
      if (w <= 0 || before.weight(leaf) <= 0 || after.weight(leaf) <= 0) continue;
      const auto row = window.row(s, leaf);
      for (std::size_t x = 0; x < window.columns(); ++x) {
        const double a = before.share(leaf, x), b = after.share(leaf, x);
        const double v = (x < row.size() ? row[x] : 0.0) / w;
        along += (v - a) * (b - a);
        length += (b - a) * (b - a);
      }
    }
    old_slices += length > 0 ? 1 - std::clamp(along / length, 0.0, 1.0) : (s < cut ? 1.0 : 0.0);
  }
  const double edge = static_cast<double>(from.value) + old_slices;
  const double near =
      std::clamp(edge, static_cast<double>(cut.value) - 1, static_cast<double>(cut.value) + 1);
  const double fraction = near - static_cast<double>(cut.value);
  return slice_begin(cut, slice_) +
         DurationNs(static_cast<std::int64_t>(std::llround(fraction * static_cast<double>(slice_.value))));
}

void PhaseTracker::begin_phase(const Window& window, SliceIndex from) {
  TimeNs edge = slice_begin(from, slice_);
  const std::size_t before = span_phase_.empty() ? kNone : span_phase_.back();
  // The last slice before and the first after the cut may hold some of both.
  Distribution after = gather(window, from + 1, window.last() + 1, kMostCompared);
  if (after.slices() <= 0) after = gather(window, from, window.last() + 1, kMostCompared);
  if (!spans_.empty()) {
    if (spans_.back().current && begin_ < from) {
      Distribution old = gather(window, begin_, from - 1, kMostCompared);
      if (old.slices() <= 0 && before != kNone) old = phases_[before].mean;
      if (old.slices() > 0) edge = refine_edge(window, from, old, after);
      edge = std::max(edge, spans_.back().begin);
    }
    spans_.back().end = spans_.back().current ? edge : std::min(edge, spans_.back().end);
    spans_.back().current = false;
  }
  std::size_t phase =
      identify(after, before, noise_bits(window, from + 1, window.last() + 1, after.slices()));
  fresh_ = phase == kNone;
  if (phase == kNone) {
    phase = phases_.size();
    phases_.emplace_back();
  }
  PhaseSpan span;
  span.index = spans_.empty() ? 0 : spans_.back().index + 1;
  span.name = named(phase);
  span.begin = edge;
  span.end = slice_end(window.last(), slice_);
  span.occurrence = ++phases_[phase].occurrences;
  span.current = true;
  spans_.push_back(span);
  span_phase_.push_back(phase);
  if (spans_.size() > options_.most_spans) {
    spans_.pop_front();
    span_phase_.pop_front();
  }
  begin_ = from;
  settled_ = from;
  recent_ = {};
  early_ = after;
  provisional_ = true;
  mixed_ = false;
}

// The current stretch was no phase. The run's first is called init; any other belongs to what follows it,
// or to what went on around it.
void PhaseTracker::end_transition(const Window& window, SliceIndex cut, const Distribution& after,
                                  Belongs to) {
  const std::size_t phase = span_phase_.back();
  const TimeNs begin = spans_.back().begin;
  --phases_[phase].occurrences;
  const bool last_made = fresh_ && phase + 1 == phases_.size() && phases_[phase].occurrences == 0;
  if (spans_.size() == 1) {
    if (last_made) phases_.pop_back();
    spans_.back().name = init_name();
    span_phase_.back() = kNone;
    begin_phase(window, cut);
    return;
  }
  if (last_made) phases_.pop_back();
  spans_.pop_back();
  span_phase_.pop_back();
  spans_.back().current = true;
  const std::size_t around = span_phase_.back();
  if (around != kNone && phases_[around].mean.slices() > 0 &&
      distance_bits(after, phases_[around].mean) <= apart_bits(same_visits(after, phases_[around].mean))) {
    spans_.back().end = slice_end(window.last(), slice_);
    settled_ = cut;
    begin_ = slice_of(spans_.back().begin, slice_);
    recent_ = {};
    provisional_ = false;
    return;
  }
  begin_phase(window, cut);
  if (to == Belongs::kToPrevious) return;
  spans_[spans_.size() - 2].end = begin;
  spans_.back().begin = begin;
}

// The current phase turns out to be another one: a known one, or (kNone) one that is new.
void PhaseTracker::relabel(std::size_t phase) {
  const std::size_t old = span_phase_.back();
  --phases_[old].occurrences;
  if (fresh_ && old + 1 == phases_.size() && phases_[old].occurrences == 0) phases_.pop_back();
  fresh_ = phase == kNone;
  if (phase == kNone) {
    phase = phases_.size();
    phases_.emplace_back();
  }
  // The same phase as before the boundary: there was none.
  if (span_phase_.size() >= 2 && span_phase_[span_phase_.size() - 2] == phase) {
    const TimeNs end = spans_.back().end;
    spans_.pop_back();
    span_phase_.pop_back();
    spans_.back().end = end;
    spans_.back().current = true;
    settled_ = begin_;
    begin_ = slice_of(spans_.back().begin, slice_);
    provisional_ = false;
    return;
  }
  span_phase_.back() = phase;
  spans_.back().name = named(phase);
  spans_.back().occurrence = ++phases_[phase].occurrences;
}

// Slices from which on it may be another phase: where the temporal partition has cuts, and some of the
// newest.
std::set<SliceIndex> PhaseTracker::candidates(const Window& window, SliceIndex oldest) const {
  const SliceIndex end = window.last() + 1;
  std::set<SliceIndex> cuts;
  if (const auto temporal = window.temporal())
    for (const auto& part : temporal->parts) cuts.insert(part.first);
  for (std::int64_t n = options_.shortest; n <= lag(window); n = n * 3 / 2) cuts.insert(end - n);
  std::erase_if(cuts,
                [&](SliceIndex cut) { return cut < oldest || end.value - cut.value < options_.shortest; });
  return cuts;
}

// The first slice that the current stretch alone has, of those in the window.
SliceIndex PhaseTracker::unsettled(const Window& window) const {
  return std::max({settled_, begin_, window.first()});
}

// What the current stretch is up to `cut`.
Distribution PhaseTracker::before(const Window& window, SliceIndex cut) const {
  Distribution d = recent_;
  d.add(gather(window, unsettled(window), cut, kMostCompared));
  return d;
}

// Are the slices from the cut on apart from what was before, by more than chance makes of either?
bool PhaseTracker::differ(const Window& window, SliceIndex from, SliceIndex cut, const Distribution& before,
                          const Distribution& after) const {
  const SliceIndex end = window.last() + 1;
  if (after.slices() < static_cast<double>(options_.shortest) || before.slices() <= 0) return false;
  if (distance_bound_bits(after, before) <= options_.apart_bits) return false;
  const bool same = same_visits(after, before);
  if (same && (bounds_by_visits(from, cut) || bounds_by_visits(cut, end))) return false;
  const double bits = distance_bits(after, before), limit = apart_bits(same);
  if (bits <= limit) return false;
  // Chance moves both sides, the shorter one more.
  const double n = 1 / (1 / after.slices() + 1 / before.slices());
  const double noise = std::max(noise_bits(window, from, cut, n), noise_bits(window, cut, end, n));
  if (bits <= limit + noise) return false;
  // It lasts: the newer half alone is apart as well. A single odd slice is no phase.
  const Distribution newer = gather(window, end - (end.value - cut.value) / 2, end, kMostCompared);
  return newer.slices() <= 0 || distance_bits(newer, before) > apart_bits(same_visits(newer, before));
}

PhaseTracker::Seen PhaseTracker::apart(const Window& window, SliceIndex cut, const Distribution& before,
                                       const Distribution& after) const {
  if (differ(window, std::max(begin_, window.first()), cut, before, after)) return Seen::kFromAll;
  if (!mixed_) return Seen::kNot;
  const SliceIndex from = std::max({begin_, window.first(), cut - options_.settle});
  return differ(window, from, cut, gather(window, from, cut, options_.settle), after) ? Seen::kFromNewest
                                                                                      : Seen::kNot;
}

bool PhaseTracker::some_is_apart(const Window& window, const std::set<SliceIndex>& cuts) const {
  // What lies before each cut, and behind it, differs from cut to cut by the slices between them.
  std::map<SliceIndex, Distribution> befores;
  Distribution so_far = recent_;
  const SliceIndex begin = unsettled(window);
  SliceIndex from = begin;
  for (const SliceIndex cut : cuts) {
    if (cut.value - begin.value > kMostCompared) {
      befores[cut] = before(window, cut);
      continue;
    }
    for (; from < cut; ++from)
      if (!abnormal_.contains(from)) so_far.add(window, from);
    befores[cut] = so_far;
  }
  Distribution behind;
  SliceIndex down_to = window.last() + 1;
  return std::any_of(cuts.rbegin(), cuts.rend(), [&](SliceIndex cut) {
    while (down_to > cut && static_cast<std::int64_t>(behind.slices()) < kMostCompared) {
      down_to = down_to - 1;
      if (!abnormal_.contains(down_to)) behind.add(window, down_to);
    }
    return apart(window, cut, befores[cut], behind) != Seen::kNot;
  });
}

// Of the slices from `oldest` on that are in order the one from which on most is otherwise; none if no slice
// is.
std::optional<SliceIndex> PhaseTracker::best_cut(const Window& window, SliceIndex oldest) const {
  const SliceIndex end = window.last() + 1;
  std::vector<Distribution> before{this->before(window, oldest)};  // [cut - oldest]
  for (SliceIndex cut = oldest; cut + 1 < end; ++cut) {
    before.push_back(before.back());
    if (!abnormal_.contains(cut)) before.back().add(window, cut);
  }
  std::optional<SliceIndex> best;
  double most = -1;
  Distribution after;
  // Time changes where a perturbation begins and ends as well.
  const bool by_visits = of_lasting_.lower_bound(oldest) != of_lasting_.end();
  for (SliceIndex cut = end - 1; cut >= oldest; cut = cut - 1) {
    if (abnormal_.contains(cut)) continue;
    after.add(window, cut);
    const Distribution& old = before[static_cast<std::size_t>(cut.value - oldest.value)];
    const double bits =
        by_visits ? merge_loss_bits(old.visits(), after.visits()) : merge_loss_bits(old, after);
    if (bits > most) {
      most = bits;
      best = cut;
    }
  }
  return best;
}

// Is there a boundary in the current stretch? Candidates are the cuts of the temporal partition and, where
// its p is above the noise of single slices and so too coarse for a change that only many slices tell, a few
// lengths; where exactly the boundary lies is where merging both sides would lose most.
std::optional<PhaseTracker::Boundary> PhaseTracker::boundary(const Window& window) const {
  const SliceIndex end = window.last() + 1;
  const SliceIndex oldest = std::max({begin_ + 1, settled_, window.first() + 1});
  if (!some_is_apart(window, candidates(window, oldest))) return std::nullopt;
  auto cut = best_cut(window, oldest);
  if (!cut || end.value - cut->value < options_.shortest) return std::nullopt;
  const auto after = [&] { return gather(window, *cut, end, kMostCompared); };
  cut = within_abnormal(window, *cut, before(window, *cut), after(), oldest);
  const Seen seen = apart(window, *cut, before(window, *cut), after());
  if (seen == Seen::kNot) return std::nullopt;
  return Boundary{*cut, seen == Seen::kFromNewest};
}

// A boundary lies between normal slices. Where a perturbation lies in between, those that it does not touch
// tell where: each of these slices is before or after, as it is nearer to.
SliceIndex PhaseTracker::within_abnormal(const Window& window, SliceIndex cut, const Distribution& before,
                                         const Distribution& after, SliceIndex oldest) const {
  SliceIndex best = cut;
  double nearer = 0, most = 0;  // bits by which the slices from there on are nearer to what follows
  for (SliceIndex s = cut; s > oldest && abnormal_.contains(s - 1);) {
    s = s - 1;
    Distribution here;
    here.add(window, s);
    if (here.slices() > 0) nearer += distance_bits(here, before) - distance_bits(here, after);
    if (nearer > most) most = nearer, best = s;
  }
  return best;
}

// A perturbation divides the time otherwise: most of these slices are of one.
bool PhaseTracker::bounds_by_visits(SliceIndex from, SliceIndex to) const {
  const auto of_lasting = std::distance(of_lasting_.lower_bound(from), of_lasting_.lower_bound(to));
  return 2 * of_lasting > to.value - from.value;
}

// Slices that a signature waits for: until then a boundary may still be found in them.
std::int64_t PhaseTracker::lag(const Window& window) const {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(window.size()) / 2, options_.settle,
                                  3 * options_.settle);
}

// A boundary that was missed leaves a stretch of two phases. Against all of it a third differs by little, and
// its blocks differ so much among themselves that they look like noise.
bool PhaseTracker::is_mixed(const Window& window) const {
  return noise_bits(window, begin_, window.last() + 1, static_cast<double>(options_.settle)) >
         options_.apart_bits;
}

// Ranks settle into a phase: who has which core, who waits for whom. A stretch that is new and short, and far
// nearer to what follows than to what was before, is its begin; and the other way round an end.
PhaseTracker::Belongs PhaseTracker::passing(const Window& window, SliceIndex cut,
                                            const Distribution& after) const {
  if (!fresh_ || cut.value - begin_.value >= options_.settle || span_phase_.size() < 2)
    return Belongs::kToNobody;
  const std::size_t previous = span_phase_[span_phase_.size() - 2];
  if (previous == kNone || phases_[previous].mean.slices() <= 0) return Belongs::kToNobody;
  const Distribution here = gather(window, begin_ + 1, cut, kMostCompared);
  if (here.slices() <= 0 || after.slices() <= 0) return Belongs::kToNobody;
  const double before = distance_bits(here, phases_[previous].mean), next = distance_bits(here, after);
  if (std::min(before, next) > kPassing * options_.apart_bits) return Belongs::kToNobody;
  if (next * kFarNearer < before) return Belongs::kToNext;
  return before * kFarNearer < next ? Belongs::kToPrevious : Belongs::kToNobody;
}

void PhaseTracker::take(const Window& window, const Boundary& found) {
  const SliceIndex end = window.last() + 1, cut = found.at;
  const Distribution after = gather(window, cut + 1, end, kMostCompared);
  if (cut.value - begin_.value < options_.shortest) {
    end_transition(window, cut, gather(window, cut, end, kMostCompared), Belongs::kToNext);
    return;
  }
  if (const auto to = passing(window, cut, after); to != Belongs::kToNobody) {
    end_transition(window, cut, after, to);
    return;
  }
  settle_through(window, cut);
  from_mixture_ = found.from_newest;
  // Apart from how this stretch went lately, but not from what its phase is like: it goes on.
  if (identify(after, span_phase_.back(), 0) == span_phase_.back()) return;
  begin_phase(window, cut);
}

void PhaseTracker::update(const Window& window, Slice kind, const std::string& region, SliceIndex since) {
  const SliceIndex now = window.last();
  for (std::set<SliceIndex>* slices : {&abnormal_, &of_perturbation_, &of_lasting_})
    slices->erase(slices->begin(), slices->lower_bound(window.first()));
  const bool abnormal = kind == Slice::kAbnormal || kind == Slice::kOfPerturbation;
  if (abnormal) abnormal_.insert(now);
  if (kind == Slice::kOfPerturbation) of_perturbation_.insert(now);
  if (kind == Slice::kOfLasting) {
    of_lasting_.insert(now);
    // And those that it had before it was known to last.
    const auto from = of_perturbation_.lower_bound(since);
    for (auto s = from; s != of_perturbation_.end(); ++s) abnormal_.erase(*s), of_lasting_.insert(*s);
    of_perturbation_.erase(from, of_perturbation_.end());
  }
  bool anyone = false;
  for (std::uint32_t l = 0; l < window.leaves() && !anyone; ++l)
    anyone = window.weight(now, LeafIndex(l)) > 0;
  if (!anyone) return;  // before the first resource, or after the last
  regions_.emplace_back(now, region);
  while (regions_.size() > 4096) regions_.erase(regions_.begin(), regions_.begin() + 1024);
  if (spans_.empty() || !spans_.back().current) {
    begin_phase(window, now);
  } else {
    spans_.back().end = slice_end(now, slice_);
  }

  if (!abnormal) {
    if (now.value % kMixedEvery == 0) mixed_ = is_mixed(window);
    if (const auto found = boundary(window)) {
      take(window, *found);
      return;
    }
  }

  const std::int64_t age = now.value + 1 - begin_.value;
  if (provisional_) {
    // With more of it seen, which is it?
    const Distribution here = gather(window, begin_ + 1, now + 1, kMostCompared);
    if (here.slices() >= static_cast<double>(options_.shortest)) {
      early_ = here;
      const std::size_t current = span_phase_.back();
      const std::size_t before = span_phase_.size() >= 2 ? span_phase_[span_phase_.size() - 2] : kNone;
      const std::size_t found =
          identify(here, before, noise_bits(window, begin_ + 1, now + 1, here.slices()));
      if (found != kNone ? found != current : !fresh_) {
        relabel(found);
        return;
      }
    }
    if (age >= options_.settle) provisional_ = false;
  }
  // The newest slices may turn out to belong to the next phase.
  if (!provisional_) {
    if (phases_[span_phase_.back()].mean.slices() <= 0)
      early_ = gather(window, begin_ + 1, now + 1, kMostCompared);
    settle_through(window, now + 1 - lag(window));
  }

  std::map<std::string, std::int64_t> votes;
  for (const auto& [slice, name] : regions_)
    if (slice >= begin_ && !name.empty()) ++votes[name];
  for (const auto& [name, n] : votes)
    if (n * 5 >= age * 4) spans_.back().label = name;
}

void PhaseTracker::finish(TimeNs t) {
  if (spans_.empty()) return;
  spans_.back().end = std::max(spans_.back().begin, t);
  spans_.back().current = false;
}

}  // namespace margay::detect
