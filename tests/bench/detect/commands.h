// The measurements of detect_bench, one file each. All print to stdout and return an exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace margay::bench {

// How well: made-up cases of these seeds, of one group or (-1) of all.
int cases(std::uint64_t first, std::uint64_t last, int group, bool verbose);
// The same with each ingredient of the search for departures left out: a markdown table.
int ablation(std::uint64_t first, std::uint64_t last, int group);
// A quiet job of 1 s slices: false alarms a day, beside the knob.
int quiet(std::uint32_t ranks, std::int64_t slices, double knob, std::uint64_t seed);
// Of a slice: looking for departures beside the partition update.
int cost(std::uint32_t leaves, std::size_t window, int slices);

}  // namespace margay::bench
