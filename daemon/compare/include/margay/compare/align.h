// Which times of two runs are to be compared with each other. Pure.
//
// Of runs that make the same calls the n-th call of one is that of the other: the baseline's phases are cut
// out of the other run where it has done the same part of the work, however long that took. So nothing rests
// on what the other run's phases were taken for. Runs whose calls differ are aligned by what their phases
// are like: each phase of the other run is that phase of the baseline from which the time that it spends in
// each state is the least Jensen-Shannon divergence away, or, where none is near, one of its own.
//
// Thread safety: functions of their arguments. Cost: linear in slices; phases x phases x states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace margay::compare {

// Runs whose numbers of calls differ by no more than this part do the same work.
inline constexpr double kSameWork = 0.01;
// Jensen-Shannon bits: phases farther apart than this are not the same.
inline constexpr double kApartBits = 0.25;

inline constexpr std::uint32_t kNoPhase = ~std::uint32_t{0};

// One slice of a run.
struct SliceOf {
  std::uint32_t phase = kNoPhase;  // of its own run
  double calls = 0;
};

// A phase of a run, by itself.
struct PhaseOfRun {
  std::string name;            // "B"
  std::string label;           // what the program calls it, or ""
  std::vector<double> shares;  // of its time, by state of the comparison; they sum to 1
};

bool same_work(double calls, double others_calls);

// The phases of `run`'s slices, as the baseline's: at the same part of all calls. Both have calls.
std::vector<std::uint32_t> by_work(const std::vector<SliceOf>& baseline, const std::vector<SliceOf>& run);

// Of each of `phases` the index in `known`, to which those that are like none are added.
std::vector<std::uint32_t> by_likeness(std::vector<PhaseOfRun>& known, const std::vector<PhaseOfRun>& phases);

// Jensen-Shannon divergence of two distributions, in bits, 0 to 1.
double divergence_bits(const std::vector<double>& a, const std::vector<double>& b);

// The block of each slice that is in `phase`, by position among the slices of that phase: blocks of equal
// numbers of calls, or where hardly any are made, of slices. How many blocks there are is in `blocks`: 0
// where the phase has too few slices.
std::vector<std::uint32_t> blocks_of(const std::vector<double>& calls, std::size_t blocks);
// How many blocks a phase is cut into that has so many slices in the run where it has the fewest.
std::size_t blocks_for(std::size_t slices);

}  // namespace margay::compare
