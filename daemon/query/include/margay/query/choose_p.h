// The p of a picture that nobody asked a p for, and a sentence that says why. The daemon's own picture has
// the same rule (daemon/detect, window.h).
#pragma once

#include <functional>
#include <span>
#include <string>

#include "margay/partition/set_apart.h"
#include "margay/partition/significant.h"
#include "model_file.h"

namespace margay::daemon {

struct ChosenP {
  double p = 0;
  std::string policy;  // "noise", "jump" or "default"
  std::string why;
};

// The noise floor of the model (noise.h). The noise of a resource is the median over its stretches of
// kNoiseSlices slices: a change of phase, or a fault, falls into few of them. kDefaultP where it cannot be
// estimated.
inline constexpr std::size_t kNoiseSlices = 8;
inline constexpr double kDefaultP = 0.1;
ChosenP noise_p(const Model& model);

// No larger than what makes areas parts of their own, where that is possible in a picture
// (partition/automatic_p.h). As it was where the batch keeps no tables: each look would take as long as the
// picture.
Result<ChosenP> lower_for(ChosenP chosen, partition::Batch& batch, std::span<const partition::Area> areas,
                          const std::function<bool()>& go_on = {});

// The areas are parts of their own, and there are kMostShown parts at most (partition/set_apart.h).
// Evaluated.
void draw_picture(partition::Partition& partition, const partition::Batch& batch,
                  std::span<const partition::Area> areas);

// The p before the largest fall of quality, on the certified curve; as far as `go_on` let that be found.
Result<ChosenP> jump_p(partition::Batch& batch, const std::function<bool()>& go_on = {});

}  // namespace margay::daemon
