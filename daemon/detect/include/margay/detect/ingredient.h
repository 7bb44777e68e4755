// What the search for departures is made of, piece by piece, so that a measurement can leave one out and see
// what it is worth (tests/bench/detect: `detect_bench ablation`). FOR MEASUREMENT ONLY: nothing that runs
// beside a job leaves anything out, and no configuration can. What rests on samples of processes is not here:
// made-up jobs have none, and real runs judge it (tests/campaign). Pure; thread-safe; an empty set costs a
// test of a bit here and there.
#pragma once

#include <array>
#include <cstdint>

namespace margay::detect {

enum class Ingredient : std::uint8_t {
  kLongSpan,           // the score of the last 8 slices, besides that of one
  kInnerNodes,         // machines and clusters, besides their ranks
  kCommon,             // the median over the leaves is taken off
  kExcess,             // the measure: visits that take longer than usual
  kOvertime,           // the measure: visits that last beyond what nearly all do
  kSpread,             // no variance is below the spread of the leaves in these slices
  kImperfect,          // where everything moves, leaves follow imperfectly
  kEffectWeight,       // what takes little time counts less
  kHeavyTail,          // the limit heeds the Pareto continuation of the scores' tail
  kYoung,              // a short history, or one of few leaves, has wider limits
  kLateLearning,       // the greatest score of a slice is learned some slices later
  kSuspicionLearning,  // what looked suspicious and came to nothing is learned
  kAlarmLearning,      // an alarm's score is learned, bounded
  kWorkBeforeWaiters,  // who works longer is blamed before who waits longer
  kModes,              // usual is told apart by what the job does
  kStretch,            // visits that take longer, summed up
  kWorkModes,          // modes are told apart by how long visits of work take
  kSureScores,         // the first scores do not set limits for long
  kWaitingModes,       // what only waiting tells apart takes longer to become a mode
  kStandstill,         // who looked suspicious before all stood still is looked at on
  kFewLeft,            // when most have left, nobody is told
  kTwice,              // while the history is short, single slices are alarming the second time only
  kCount
};

class Ingredients {
 public:
  constexpr Ingredients() = default;
  constexpr Ingredients(Ingredient one) : bits_(1u << static_cast<unsigned>(one)) {}  // NOLINT(*-explicit-*)
  constexpr bool contains(Ingredient i) const { return (bits_ >> static_cast<unsigned>(i) & 1u) != 0; }

 private:
  std::uint32_t bits_ = 0;
};

// As tables name them.
inline constexpr std::array<const char*, static_cast<std::size_t>(Ingredient::kCount)> kIngredientNames = {
    "span of 8 slices",
    "inner nodes",
    "common part taken off",
    "excess",
    "overtime",
    "spread of the leaves",
    "imperfect common shift",
    "weight by effect",
    "heavy part of the limit",
    "wider limits when young",
    "late learning",
    "suspicion learned",
    "alarms learned",
    "work before waiters",
    "modes",
    "visits that end late",
    "modes by what work takes",
    "first scores forgotten",
    "slower modes of waiting",
    "suspicion in a standstill",
    "silence when most have left",
    "twice when young",
};

}  // namespace margay::detect
