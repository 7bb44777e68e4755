#include "margay/slicer/levels.h"

#include <algorithm>

namespace margay::slicer {

using model::SliceColumn;

Result<Levels> Levels::make(std::vector<DurationNs> durations, std::uint32_t retained) {
  if (durations.empty()) return fail(ErrorCode::kInvalidArgument, "no slice duration");
  for (std::size_t i = 0; i < durations.size(); ++i) {
    if (durations[i].value <= 0)
      return fail(ErrorCode::kInvalidArgument, "a slice duration must be positive");
    if (i > 0 && (durations[i].value % durations[i - 1].value != 0 || durations[i] <= durations[i - 1]))
      return fail(ErrorCode::kInvalidArgument, "level " + std::to_string(i) + " (" +
                                                   std::to_string(durations[i].value) +
                                                   " ns) is not a multiple of the level below (" +
                                                   std::to_string(durations[i - 1].value) + " ns)");
  }
  return Levels(std::move(durations), retained);
}

void Levels::update(const SliceColumn& fine, std::vector<SliceColumn>& out) {
  put(0, fine, out);
}

void Levels::skip(SliceIndex first, SliceIndex last, const std::vector<bool>& existed,
                  std::vector<SliceColumn>& out) {
  skip(0, first, last, existed, out);
}

// Slices [first, last] of the level as one, which stands for them when it is merged.
SliceColumn Levels::unwatched(std::size_t level, SliceIndex first, SliceIndex last,
                              const std::vector<bool>& existed) const {
  SliceColumn c(LevelIndex(static_cast<std::uint8_t>(level)), last,
                static_cast<std::uint32_t>(existed.size()), kUnknown.value + 1u);
  const std::int64_t time = (last.value - first.value + 1) * durations_[level].value;
  for (std::uint32_t i = 0; i < c.leaves(); ++i) {
    const StateId state = existed[i] ? kUnknown : kAbsent;
    c.duration_ns(LeafIndex(i))[state.value] = c.longest_ns(LeafIndex(i))[state.value] = time;
    c.open(LeafIndex(i)) = {state, slice_begin(first, durations_[level])};
  }
  return c;
}

void Levels::skip(std::size_t level, SliceIndex first, SliceIndex last, const std::vector<bool>& existed,
                  std::vector<SliceColumn>& out) {
  if (level + 1 >= durations_.size()) return;
  const std::int64_t ratio = durations_[level + 1].value / durations_[level].value;
  const auto parent_of = [&](SliceIndex s) {
    return slice_of(slice_begin(s, durations_[level]), durations_[level + 1]);
  };
  const SliceIndex head = parent_of(first), tail = parent_of(last);
  const bool cut_at_head = first.value != head.value * ratio;
  const bool cut_at_tail = last.value != tail.value * ratio + ratio - 1;
  if (cut_at_head) {
    const SliceIndex end = std::min(last, SliceIndex(head.value * ratio + ratio - 1));
    put(level, unwatched(level, first, end, existed), out);
  }
  const SliceIndex from = cut_at_head ? head + 1 : head, to = cut_at_tail ? tail - 1 : tail;
  if (from <= to) skip(level + 1, from, to, existed, out);
  if (cut_at_tail && !(cut_at_head && head == tail))
    put(level, unwatched(level, std::max(first, SliceIndex(tail.value * ratio)), last, existed), out);
}

void Levels::put(std::size_t level, const SliceColumn& column, std::vector<SliceColumn>& out) {
  auto& held = held_[level];
  const auto at = std::lower_bound(held.begin(), held.end(), column.index,
                                   [](const SliceColumn& c, SliceIndex s) { return c.index < s; });
  if (at != held.end() && at->index == column.index) {
    *at = column;
  } else {
    held.insert(at, column);
  }
  if (level + 1 >= durations_.size()) {
    while (held.size() > retained_) held.pop_front();
    return;
  }
  const std::int64_t ratio = durations_[level + 1].value / durations_[level].value;
  while (held.size() > retained_ + 2 * static_cast<std::size_t>(ratio)) held.pop_front();

  const SliceIndex parent = slice_of(slice_begin(column.index, durations_[level]), durations_[level + 1]);
  const SliceIndex last_child(parent.value * ratio + ratio - 1);
  if (held.back().index < last_child) return;  // still open
  const bool closed_before = !held_[level + 1].empty() && held_[level + 1].back().index >= parent;
  const SliceIndex first_child(parent.value * ratio);
  // A parent whose first children have left cannot be rebuilt. (A run's first parent begins before its first
  // slice: there is nothing to miss then.)
  if (closed_before && held.front().index > first_child && held_[level + 1].front().index < parent) return;
  SliceColumn merged(LevelIndex(static_cast<std::uint8_t>(level + 1)), parent, column.leaves(),
                     column.states());
  for (const SliceColumn& c : held)
    if (c.index >= first_child && c.index <= last_child) merged.merge(c);
  put(level + 1, merged, out);
  out.push_back(std::move(merged));
}

}  // namespace margay::slicer
