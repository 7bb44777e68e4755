#include "cells.h"

#include <set>

namespace margay::simulation {

void add_cells(const model::SliceColumn& c, LeafIndex leaf, ReferenceCells& cells) {
  if (leaf.value >= c.leaves()) return;
  for (std::uint16_t x = 0; x < c.states(); ++x) {
    const margay::test::ReferenceCell cell{c.duration_ns(leaf)[x], c.longest_ns(leaf)[x], c.visits(leaf)[x]};
    if (StateId(x) != kAbsent && cell != margay::test::ReferenceCell{}) cells[{c.index.value, x}] = cell;
  }
}

std::string difference(const ReferenceCells& is, ReferenceCells expected, SliceIndex first, SliceIndex last,
                       TimeNs until, DurationNs slice) {
  std::set<std::pair<std::int64_t, std::uint16_t>> keys;
  for (const auto& [key, cell] : is) keys.insert(key);
  for (const auto& [key, cell] : expected) keys.insert(key);
  const std::int64_t partial = slice_of(until, slice).value;
  for (const auto& key : keys) {
    if (key.first < first.value || key.first > last.value || StateId(key.second) == kAbsent) continue;
    const auto find = [&](const ReferenceCells& cells) {
      const auto it = cells.find(key);
      return it == cells.end() ? margay::test::ReferenceCell{} : it->second;
    };
    margay::test::ReferenceCell a = find(is), b = find(expected);
    if (key.first == partial) a.visits = b.visits = 0;
    if (a == b) continue;
    const auto text = [](const margay::test::ReferenceCell& cell) {
      return std::to_string(cell.duration_ns) + " ns, longest " + std::to_string(cell.longest_ns) + ", " +
             std::to_string(cell.visits) + " visits";
    };
    return "slice " + std::to_string(key.first) + " state " + std::to_string(key.second) + ": " + text(a) +
           "; the reference has " + text(b);
  }
  return "";
}

}  // namespace margay::simulation
