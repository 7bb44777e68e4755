// The p of the picture that nobody asked a p for.
//
// It is the noise floor (noise.h), or less: where what somebody was alerted of (areas) is swallowed there,
// the largest p below at which most of it is parts of its own in the optimum, as long as the optimum has no
// more parts than a picture can show. It is searched in steps of a factor of 2^(1/2) downwards until there
// are too many parts, then by halves, to within 2^(1/16): between two significant p the optimum is the same.
// What is part of its own at no such p (a rank that is stopped in the state in which the others wait looks
// like them at any p) has no say in it: set_apart.h cuts it out of the optimum.
//
// Pure. Thread safety: functions of their arguments. Errors: those of `solve`. Cost: kMostSolves solutions at
// most, one where there are no areas or all are apart at the floor.
#pragma once

#include <functional>
#include <span>

#include "margay/base/result.h"
#include "margay/partition/set_apart.h"

namespace margay::partition {

inline constexpr int kSteps = 8, kHalves = 3;
inline constexpr int kMostSolves = 1 + kSteps + kHalves;
// For a picture that follows a run: nodes x slices^2 up to which p is searched (some 30 ms a solution), and
// the factor by which another p has to differ to be worth the change. A solution costs some twelve updates
// (detect_bench picture_cost): with one for each kSlicesASolve, a search makes updates dearer by a quarter at
// most in the long run; kSolvesAtOnce are there to begin with, and can be saved up.
inline constexpr std::size_t kCheapToSolve = std::size_t{1} << 23;
inline constexpr double kWorthAChange = 1.25;
inline constexpr double kSlicesASolve = 48, kSolvesAtOnce = 3 * kMostSolves;

// The optimal partition at p.
using Solve = std::function<Result<Partition>(double p)>;

// floor in (0,1]; what is found is at least kLeastP, or the floor.
Result<double> automatic_p(const Solve& solve, const TreeShape& tree, double floor,
                           std::span<const Area> areas, std::size_t most = kMostShown);

}  // namespace margay::partition
