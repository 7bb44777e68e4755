#include "stream.h"

#include <algorithm>

namespace margay::bench {

Stream::Stream(std::uint32_t leaves, std::uint32_t states, DurationNs slice, Each each)
    : leaves_(leaves),
      states_(states),
      width_(slice.value),
      each_(std::move(each)),
      now_(leaves),
      offset_(leaves),
      shown_(leaves) {}

model::SliceColumn& Stream::slice(std::int64_t k) {
  while (first_ + static_cast<std::int64_t>(open_.size()) <= k)
    open_.emplace_back(LevelIndex(0), SliceIndex(first_ + static_cast<std::int64_t>(open_.size())), leaves_,
                       states_);
  return open_[static_cast<std::size_t>(k - first_)];
}

void Stream::spend(std::uint32_t leaf, std::uint16_t state, double seconds) {
  const std::int64_t to = now_[leaf] + std::max<std::int64_t>(0, to_ns(seconds));
  if (to == now_[leaf]) return;
  now_[leaf] = to;
  const LeafIndex l(leaf);
  const std::int64_t begin = shown_[leaf], end = std::max(begin, to + offset_[leaf]);
  shown_[leaf] = end;
  if (end == begin) return;
  for (std::int64_t k = begin / width_; k * width_ < end; ++k) {
    model::SliceColumn& c = slice(k);
    const std::int64_t last = (k + 1) * width_;
    c.duration_ns(l)[state] += std::min(end, last) - std::max(begin, k * width_);
    auto& longest = c.longest_ns(l)[state];
    longest = std::max(longest, std::min(end, last) - begin);
    if (end <= last)
      ++c.visits(l)[state];
    else
      c.open(l) = {StateId(state), TimeNs(begin)};
  }
}

void Stream::until(std::uint32_t leaf, std::uint16_t state, double t) {
  spend(leaf, state, t - now(leaf));
}

void Stream::tell() {
  const std::int64_t all = *std::min_element(shown_.begin(), shown_.end());
  while (!open_.empty() && (first_ + 1) * width_ <= all) {
    each_(open_.front());
    open_.pop_front();
    ++first_;
  }
}

}  // namespace margay::bench
