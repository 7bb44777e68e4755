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

}  // namespace

PhaseTracker::PhaseTracker(PhaseOptions options, DurationNs slice) : options_(options), slice_(slice) {}

std::string PhaseTracker::name_of(std::size_t phase) {
  std::string name;
  for (std::size_t n = phase + 1; n > 0; n = (n - 1) / 26)
    name.insert(name.begin(), static_cast<char>('A' + (n - 1) % 26));
  return name;
}

const Distribution& PhaseTracker::reference() const {
  static const Distribution kEmpty;
  if (spans_.empty()) return kEmpty;
  // Early in a phase that has come back its signature knows more than the present stretch.
  const Distribution& known = phases_[span_phase_.back()].mean;
  return known.slices() > 0 ? known : recent_;
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
  Distribution& mean = phases_[span_phase_.back()].mean;
  for (SliceIndex s = std::max(settled_, window.first()); s < to; ++s) {
    if (abnormal_.contains(s)) continue;
    if (mean.slices() >= kMemorySlices) mean.scale(1 - 1 / kMemorySlices);
    mean.add(window, s);
    recent_.add(window, s);
  }
  settled_ = std::max(settled_, to);
}

std::size_t PhaseTracker::identify(const Distribution& d, std::size_t except, bool& fresh) const {
  std::size_t nearest = kNone;
  double least = options_.apart_bits;
  const bool full = phases_.size() >= options_.most_phases;
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    if (i == except || phases_[i].mean.slices() <= 0) continue;
    const double bits = distance_bits(d, phases_[i].mean);
    if (bits < least || (full && nearest == kNone)) {
      least = bits;
      nearest = i;
    }
  }
  fresh = nearest == kNone;
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
  const Distribution after = gather(window, from, window.last() + 1, kMostCompared);
  TimeNs edge = slice_begin(from, slice_);
  const std::size_t before = span_phase_.empty() ? kNone : span_phase_.back();
  if (!spans_.empty()) {
    spans_.back().end = edge;
    spans_.back().current = false;
  }
  if (before != kNone) {
    // The last slice before and the first after the cut may hold some of both.
    const Distribution pure_after = gather(window, from + 1, window.last() + 1, kMostCompared);
    const Distribution pure_before = phases_[before].mean.slices() > 0 ? phases_[before].mean : recent_;
    edge = refine_edge(window, from, pure_before, pure_after.slices() > 0 ? pure_after : after);
    edge = std::max(edge, spans_.back().begin);
    spans_.back().end = edge;
    spans_.back().current = false;
  }
  std::size_t phase = identify(after, before, fresh_);
  if (phase == kNone) {
    phase = phases_.size();
    phases_.emplace_back();
  }
  PhaseSpan span;
  span.index = spans_.empty() ? 0 : spans_.back().index + 1;
  span.name = name_of(phase);
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
  provisional_ = true;
}

// The current stretch was too short to be a phase. The run's first is called "init"; any other belongs to
// what follows it, or to what went on around it.
void PhaseTracker::end_transition(const Window& window, SliceIndex cut, const Distribution& after) {
  const std::size_t phase = span_phase_.back();
  const TimeNs begin = spans_.back().begin;
  --phases_[phase].occurrences;
  const bool last_made = fresh_ && phase + 1 == phases_.size() && phases_[phase].occurrences == 0;
  if (spans_.size() == 1) {
    if (last_made) phases_.pop_back();
    spans_.back().name = "init";
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
      distance_bits(after, phases_[around].mean) <= options_.apart_bits) {
    spans_.back().end = slice_end(window.last(), slice_);
    settled_ = cut;
    begin_ = slice_of(spans_.back().begin, slice_);
    recent_ = {};
    provisional_ = false;
    return;
  }
  begin_phase(window, cut);
  spans_[spans_.size() - 2].end = begin;
  spans_.back().begin = begin;
}

// The current phase turns out to be another known one.
void PhaseTracker::relabel(std::size_t phase) {
  const std::size_t old = span_phase_.back();
  --phases_[old].occurrences;
  if (fresh_ && old + 1 == phases_.size() && phases_[old].occurrences == 0) phases_.pop_back();
  fresh_ = false;
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
  spans_.back().name = name_of(phase);
  spans_.back().occurrence = ++phases_[phase].occurrences;
}

void PhaseTracker::update(const Window& window, bool abnormal, const std::string& region) {
  const SliceIndex now = window.last();
  while (!abnormal_.empty() && *abnormal_.begin() < window.first()) abnormal_.erase(abnormal_.begin());
  if (abnormal) abnormal_.insert(now);
  bool anyone = false;
  for (std::uint32_t l = 0; l < window.leaves() && !anyone; ++l)
    anyone = window.weight(now, LeafIndex(l)) > 0;
  if (!anyone) return;  // before the first resource, or after the last
  if (spans_.empty() || !spans_.back().current) {
    begin_phase(window, now);
  } else {
    spans_.back().end = slice_end(now, slice_);
  }
  const std::size_t current = span_phase_.back();

  // A boundary: the newest aggregate of the temporal partition has lasted, and is apart from the phase. Where
  // the optimum has cut the newest stretch again (a mixed slice, noise), what follows an earlier cut is tried
  // too.
  const auto temporal = window.temporal();
  if (temporal && !abnormal) {
    for (auto part = temporal->parts.rbegin(); part != temporal->parts.rend(); ++part) {
      const SliceIndex cut = part->first;
      if (cut <= begin_) break;
      const std::int64_t length = now.value + 1 - cut.value;
      if (length < options_.shortest) continue;
      if (length > 3 * options_.settle) break;  // older cuts have been judged
      const Distribution after = gather(window, cut, now + 1, kMostCompared);
      if (after.slices() < static_cast<double>(options_.shortest)) continue;
      Distribution before = recent_;
      before.add(gather(window, std::max(settled_, begin_), cut, kMostCompared));
      if (before.slices() < static_cast<double>(options_.shortest)) {
        if (cut.value - begin_.value < options_.shortest) {
          // Too short to be a phase: a transition.
          if (before.slices() == 0 || distance_bits(after, before) > options_.apart_bits) {
            end_transition(window, cut, after);
            return;
          }
          continue;
        }
        before = phases_[current].mean;
        if (before.slices() <= 0) continue;
      }
      if (distance_bits(after, before) > options_.apart_bits) {
        settle_through(window, cut);
        begin_phase(window, cut);
        return;
      }
    }
  }

  const std::int64_t age = now.value + 1 - begin_.value;
  if (provisional_) {
    // With more of it seen, is it one that is known?
    bool fresh = false;
    const Distribution here = gather(window, begin_ + 1, now + 1, kMostCompared);
    if (fresh_ && here.slices() >= static_cast<double>(options_.shortest)) {
      const std::size_t found = identify(here, current, fresh);
      if (found != kNone && found != current) {
        relabel(found);
        return;
      }
    }
    if (age >= options_.settle) provisional_ = false;
  }
  // The newest slices may turn out to belong to the next phase.
  if (!provisional_ || age >= options_.settle) settle_through(window, now + 1 - options_.settle);

  regions_.emplace_back(now, region);
  while (regions_.size() > 4096) regions_.erase(regions_.begin(), regions_.begin() + 1024);
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
