// A run as a comparison takes it: the time that its resources spent in their states, phase by phase, each
// phase in blocks of equal work. What the blocks differ by tells how sure a difference between two runs is.
//
// Plain data. Memory: phases x blocks x resources x states numbers of 8 bytes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace margay::compare {

// Blocks of a phase, at most: enough for a variance, each long enough to hold what lasts for some slices.
inline constexpr std::size_t kBlocks = 64;

inline constexpr std::size_t kLeastBlocks = 8;

struct Block {
  double seconds = 0;  // of the run's time
  double calls = 0;    // visits to states that ended in it, of all resources; of polling and computing none
  // [resource * states + state], in seconds. Only what was observed.
  std::vector<double> spent;
};

struct PhaseInBlocks {
  double seconds = 0;
  std::size_t slices = 0;
  std::size_t stretches = 0;  // how often it came
  std::vector<Block> blocks;  // empty: it is shorter than two slices a block, and eight blocks
};

struct RunInBlocks {
  std::string name;  // as the user calls it
  double seconds = 0;
  double slice_seconds = 0;
  double calls = 0;
  double unknown = 0;  // the share of all resources' time that nobody observed, 0 to 1
  // The first is all of the run; the others are the comparison's phases, the same of each run.
  std::vector<PhaseInBlocks> phases;
};

}  // namespace margay::compare
