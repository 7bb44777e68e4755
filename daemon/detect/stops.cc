#include "margay/detect/stops.h"

#include <algorithm>

namespace margay::detect {
namespace {

// What the sampler said of a process holds until it says more, for so long.
constexpr DurationNs kSampleHolds = seconds(1);
// The part of a slice in which a process is stopped, where that goes on.
constexpr double kThrottled = 0.2;

}  // namespace

void Stops::on_slice(const model::SliceColumn& column) {
  sample(column);
  look_for_stopped(column);
  some_before_ = some_;
  some_ = false;
  for (std::uint32_t l = 0; l < column.leaves(); ++l)
    some_ = some_ || sampled_[l].last.stopped_since != TimeNs();
}

void Stops::sample(const model::SliceColumn& column) {
  sampled_.resize(std::max<std::size_t>(sampled_.size(), column.leaves()));
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const auto& e = column.evidence(LeafIndex(l));
    Sampled& held = sampled_[l];
    if (e.process_state != 0)
      held = {e, column.index};
    else if (options_.slice * (column.index.value - held.at.value) > kSampleHolds)
      held = {};
  }
}

void Stops::look_for_stopped(const model::SliceColumn& column) {
  stopped_.clear(), whole_.clear(), still_.clear();
  const TimeNs end = slice_end(column.index, options_.slice);
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const TimeNs sampled = sampled_[l].last.stopped_since;
    const auto& open = column.open(LeafIndex(l));
    if (sampled == TimeNs() || open.state == kAbsent) continue;
    // The sampler knows the stop between two samples; the last event before it narrows that down.
    const Stopped s{l, std::max(sampled, open.since)};
    if (end < s.since) continue;
    stopped_.push_back(s);
    // Who samples anew, after a restart, knows only since when it looks.
    if (s.since == sampled) still_.insert(l);
    if (is_whole(s, column.index)) whole_.insert(l), still_.insert(l);
  }
}

bool Stops::is_whole(const Stopped& stopped, SliceIndex slice) const {
  return slice_end(slice, options_.slice) - stopped.since >= options_.slice * options_.whole_slices;
}

std::vector<Stops::News> Stops::news(SliceIndex slice,
                                     const std::function<bool(std::uint32_t leaf)>& known) const {
  std::vector<Stopped> fresh;
  for (const Stopped& s : stopped_)
    if (is_whole(s, slice) && !known(s.leaf)) fresh.push_back(s);
  std::sort(fresh.begin(), fresh.end(), [](const Stopped& a, const Stopped& b) { return a.since < b.since; });
  const auto together = [&](const Stopped& s, TimeNs onset) {
    return s.since >= onset && s.since - onset <= options_.slice * options_.same_cause_slices;
  };
  std::vector<News> out;
  for (const Stopped& s : fresh) {
    if (!out.empty() && together(s, out.back().onset)) continue;
    News& news = out.emplace_back(News{s.since, {}});
    for (const Stopped& other : stopped_)
      if (together(other, news.onset)) news.leaves.insert(other.leaf);
  }
  return out;
}

bool Stops::goes_on(const model::SliceColumn& column, const std::set<std::uint32_t>& leaves,
                    bool back) const {
  return std::any_of(leaves.begin(), leaves.end(), [&](std::uint32_t l) {
    if (still_.contains(l)) return true;
    const auto& e = column.evidence(LeafIndex(l));
    return back && static_cast<double>(e.stopped_ns) > kThrottled * static_cast<double>(e.sampled_ns);
  });
}

void Stops::let_go(const std::set<std::uint32_t>& leaves, SliceIndex slice) {
  for (const std::uint32_t l : leaves) {
    let_go_.resize(std::max<std::size_t>(let_go_.size(), l + 1), SliceIndex(-1));
    let_go_[l] = slice;
  }
}

bool Stops::again(const std::set<std::uint32_t>& leaves, SliceIndex slice) const {
  return std::any_of(leaves.begin(), leaves.end(), [&](std::uint32_t l) {
    return l < let_go_.size() && let_go_[l].value >= 0 &&
           slice.value - let_go_[l].value <= std::int64_t{kAgainSlices};
  });
}

}  // namespace margay::detect
