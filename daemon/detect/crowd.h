// Ranks that share CPUs, and are slowed together by that. Pure.
//
// Where a node has more ranks that want to run than CPUs they keep each other waiting, whatever they do, and
// the scheduler divides that as it likes: now and then it has some share one CPU for a while that had better
// shared it with others. Their work takes longer then, of all of them alike, and of those that it is no
// longer shared with it takes less. That is no rank's own; who is slowed by himself is slowed alone.
//
// Cost: O(blamed leaves * leaves) where ranks share CPUs, otherwise O(blamed leaves). Thread safety: pure.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "contrast.h"

namespace margay::detect {

// The leaf is kept waiting for a CPU, whatever it does, and nobody who is not of the job was seen to take
// much of those on which it may run.
bool crowded(const Contrast& contrast, std::size_t leaf);

// So many are, each beside another on its CPUs.
std::size_t count_crowded(const Contrast& contrast);

// These leaves, with others that are crowded on the same CPUs and are slowed with them; empty if one of them
// is slowed alone. `longer` says how much longer a leaf's work takes than usual, in any measure of which half
// is nearly as much.
std::set<std::uint32_t> slowed_together(const Contrast& contrast, const std::set<std::uint32_t>& leaves,
                                        const std::function<float(std::uint32_t leaf)>& longer);

// Each of them is crowded beside another: how long they wait for each other depends on who is let.
bool in_crowds(const Contrast& contrast, const std::set<std::uint32_t>& leaves);

}  // namespace margay::detect
