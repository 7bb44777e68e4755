// The p that `margay partition` takes when none is given, and a sentence that says why.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "margay/partition/significant.h"
#include "model_file.h"

namespace margay::daemon {

struct ChosenP {
  double p = 0;
  std::string policy;  // "noise", "jump" or "default"
  std::string why;
};

// Just above the noise (noise.h), snapped upwards to the daemon's grid. The effective samples are the median
// over stretches of kNoiseSlices slices of one leaf: a change of phase falls into few of them. kDefaultP
// where they cannot be estimated.
inline constexpr std::size_t kNoiseSlices = 8;
inline constexpr double kDefaultP = 0.1;
ChosenP noise_p(const Model& model);

// The p before the largest fall of quality, on the certified curve; as far as `go_on` let that be found.
Result<ChosenP> jump_p(partition::Batch& batch, const std::function<bool()>& go_on = {});

}  // namespace margay::daemon
