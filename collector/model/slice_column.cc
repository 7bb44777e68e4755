#include "margay/model/slice_column.h"

#include <algorithm>
#include <limits>

namespace margay::model {
namespace {

template <class T>
void reshape(std::vector<T>& cells, std::uint32_t old_leaves, std::uint32_t old_states, std::uint32_t leaves,
             std::uint32_t states) {
  if (states == old_states) {
    cells.resize(static_cast<std::size_t>(leaves) * states);
    return;
  }
  std::vector<T> grown(static_cast<std::size_t>(leaves) * states);
  for (std::uint32_t leaf = 0; leaf < old_leaves; ++leaf)
    std::copy_n(cells.begin() + static_cast<std::ptrdiff_t>(leaf) * old_states, old_states,
                grown.begin() + static_cast<std::ptrdiff_t>(leaf) * states);
  cells = std::move(grown);
}

}  // namespace

void NodeEvidence::add_times(const NodeEvidence& more) {
  const auto add = [](std::int64_t& to, std::int64_t n) {
    if (__builtin_add_overflow(to, n, &to)) to = std::numeric_limits<std::int64_t>::max();
  };
  add(sampled_ns, more.sampled_ns);
  add(cpu_ns, more.cpu_ns);
  add(run_delay_ns, more.run_delay_ns);
  add(stopped_ns, more.stopped_ns);
  add(blocked_ns, more.blocked_ns);
  add(storage_bytes, more.storage_bytes);
}

void SliceColumn::add_taker(const Taker& taker) {
  const auto add = [](std::int64_t& to, std::int64_t n) {
    if (__builtin_add_overflow(to, n, &to)) to = std::numeric_limits<std::int64_t>::max();
  };
  const auto same =
      std::find_if(takers.begin(), takers.end(), [&](const Taker& t) { return t.same_as(taker); });
  if (same == takers.end()) {
    if (takers.size() < kMostTakers) takers.push_back(taker);
    return;
  }
  add(same->cpu_ns, taker.cpu_ns);
  add(same->over_ns, taker.over_ns);
}

SliceColumn::SliceColumn(LevelIndex level_, SliceIndex index_, std::uint32_t leaves, std::uint32_t states)
    : level(level_), index(index_) {
  resize(leaves, states);
}

void SliceColumn::renew(LevelIndex level_, SliceIndex index_, std::uint32_t leaves, std::uint32_t states) {
  level = level_;
  index = index_;
  lost_events = 0;
  provisional = false;
  region.clear();
  takers.clear();
  const auto cells = static_cast<std::size_t>(leaves) * states;
  leaves_ = leaves;
  states_ = states;
  duration_ns_.assign(cells, 0);
  longest_ns_.assign(cells, 0);
  visits_.assign(cells, 0);
  open_.assign(leaves, {});
  evidence_.assign(leaves, {});
  plane_ = Plane::kNone;
  measured_.clear();
  integral_.clear();
}

void SliceColumn::resize(std::uint32_t leaves, std::uint32_t states) {
  leaves = std::max(leaves, leaves_);
  states = std::max(states, states_);
  if (leaves == leaves_ && states == states_) return;
  reshape(duration_ns_, leaves_, states_, leaves, states);
  reshape(longest_ns_, leaves_, states_, leaves, states);
  reshape(visits_, leaves_, states_, leaves, states);
  if (plane_ == Plane::kCounts) reshape(measured_, leaves_, states_, leaves, states);
  if (plane_ == Plane::kMean) {
    measured_.resize(leaves);
    integral_.resize(leaves);
  }
  open_.resize(leaves);
  evidence_.resize(leaves);
  leaves_ = leaves;
  states_ = states;
}

void SliceColumn::measure(Plane plane) {
  if (plane == plane_) return;
  plane_ = plane;
  measured_.assign(static_cast<std::size_t>(leaves_) * plane_columns(), 0);
  integral_.assign(plane == Plane::kMean ? leaves_ : 0, 0.0);
}

void SliceColumn::take_plane(const SliceColumn& other) {
  resize(0, other.states());
  measure(Plane::kNone);
  measure(other.plane());
  for (std::uint32_t l = 0; l < std::min(leaves_, other.leaves()); ++l) {
    const auto from = other.measured(LeafIndex(l));
    std::copy(from.begin(), from.end(), measured(LeafIndex(l)).begin());
    if (plane_ == Plane::kMean) integral(LeafIndex(l)) = other.integral(LeafIndex(l));
  }
}

double SliceColumn::measured_value(LeafIndex leaf, std::size_t column) const {
  const auto whole = static_cast<double>(measured(leaf)[column]);
  if (plane_ != Plane::kMean) return whole;
  return whole > 0 ? integral(leaf) / whole : 0;
}

void SliceColumn::merge(const SliceColumn& finer) {
  resize(finer.leaves(), finer.states());
  if (plane_ == Plane::kNone) measure(finer.plane());
  lost_events += finer.lost_events;
  provisional = provisional || finer.provisional;
  region = finer.region;
  for (const Taker& t : finer.takers) add_taker(t);
  for (std::uint32_t l = 0; l < finer.leaves(); ++l) {
    const LeafIndex leaf(l);
    const auto from_duration = finer.duration_ns(leaf);
    const auto from_longest = finer.longest_ns(leaf);
    const auto from_visits = finer.visits(leaf);
    const auto to_duration = duration_ns(leaf);
    const auto to_longest = longest_ns(leaf);
    const auto to_visits = visits(leaf);
    for (std::uint32_t x = 0; x < finer.states(); ++x) {
      to_duration[x] += from_duration[x];
      to_longest[x] = std::max(to_longest[x], from_longest[x]);
      to_visits[x] += from_visits[x];
    }
    if (plane_ == finer.plane() && plane_ != Plane::kNone) {
      const auto from_measured = finer.measured(leaf);
      const auto to_measured = measured(leaf);
      for (std::size_t x = 0; x < from_measured.size(); ++x) add(to_measured[x], from_measured[x]);
      if (plane_ == Plane::kMean) integral(leaf) += finer.integral(leaf);
    }
    open(leaf) = finer.open(leaf);
    NodeEvidence& to = evidence(leaf);
    const NodeEvidence& from = finer.evidence(leaf);
    if (from.process_state != 0) {  // otherwise no sample fell into it
      to.process_state = from.process_state;
      to.stopped_since = from.stopped_since;
    }
    to.add_times(from);
    to.silent_since = from.silent_since;
    to.drawn_out = to.drawn_out || from.drawn_out;
  }
}

}  // namespace margay::model
