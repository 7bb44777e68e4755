// Stepping through the significant p: the values at which the optimal partition changes, as steps 0, 1, ...
// of a slider on which each partition has the same room, however close their p are.
//
// Thread safety: values and pure functions. Cost: steps_of() is linear in the curve, the rest logarithmic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/scene/view_data.h"

namespace margay::scene {

struct Step {
  double p = 0;      // the partition is optimal from here on,
  double until = 1;  // up to here
  // What to ask the daemon for: the middle of the two. At p itself two partitions are equally good, and
  // rounding decides.
  double ask = 0;
  double gain = 0;  // bits
  double loss = 0;
  // Of the whole's, the last step's, [0, 1]: complexity reduced and information lost. 0 where the whole has
  // none.
  double gain_share = 0;
  double loss_share = 0;
  std::uint32_t parts = 0;
  bool operator==(const Step&) const = default;
};

struct Steps {
  std::vector<Step> steps;  // ascending in p
  bool complete = false;    // false: there may be others between them
  // The jump policy's: before the largest fall of gain_share - loss_share; -1 without steps.
  std::int64_t jump = -1;
  // That of the partition shown; -1 without steps.
  std::int64_t current = -1;
  bool operator==(const Steps&) const = default;
};

Steps steps_of(const ViewData& data);

// The step that holds p: the last one that begins at p or before it, the first for what is before all. -1
// without steps, or if p is not a number.
std::int64_t step_at(const Steps& steps, double p);
// The step whose beginning is nearest to p; of two equally near the lower.
std::int64_t nearest_step(const Steps& steps, double p);
// `by` steps on (negative: back), staying within them.
std::int64_t next_step(const Steps& steps, std::int64_t step, std::int64_t by);

// As CSV (statistics.h), a line for each step: p, until, parts, gain and loss in bits, and as shares.
std::string curve_csv(const Steps& steps);

// What a person typed: a number in [0, 1], with a point or a comma, or with a % sign. kInvalidArgument with a
// sentence that says what is wrong with it.
Result<double> parse_p(std::string_view text);
// p as people compare it: 4 digits that count. "0.07213", "1", "3.2e-05".
std::string p_text(double p);

}  // namespace margay::scene
