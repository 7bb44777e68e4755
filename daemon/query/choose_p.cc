#include "margay/query/choose_p.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include "margay/partition/noise.h"

namespace margay::daemon {
namespace {

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

ChosenP no_estimate(const std::string& why) {
  return {kDefaultP, "default", "the noise cannot be estimated: " + why};
}

// The effective samples of every stretch of every leaf in which something varies.
std::vector<double> estimates(const Model& model) {
  const std::size_t leaves = model.leaves(), states = model.states;
  std::vector<double> out, rows(kNoiseSlices * states);
  for (std::size_t from = 0; from + kNoiseSlices <= model.slices; from += kNoiseSlices)
    for (std::size_t s = 0; s < leaves; ++s) {
      for (std::size_t t = 0; t < kNoiseSlices; ++t)
        std::copy_n(model.values.data() + ((from + t) * leaves + s) * states, states,
                    rows.data() + t * states);
      if (const auto e = partition::estimate_neff(rows, states);
          e && e->degrees_of_freedom >= partition::kLeastDegrees)
        out.push_back(e->n_eff);
    }
  return out;
}

}  // namespace

ChosenP noise_p(const Model& model) {
  if (model.states < 2) return no_estimate("there is one state only");
  if (model.slices < kNoiseSlices)
    return no_estimate("fewer than " + std::to_string(kNoiseSlices) + " slices");
  std::vector<double> samples = estimates(model);
  if (samples.empty())
    return no_estimate("no resource has two states within " + std::to_string(kNoiseSlices) + " slices");
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  const double cells = static_cast<double>(model.leaves()) * static_cast<double>(model.slices);
  const double mass = std::accumulate(model.values.begin(), model.values.end(), 0.0) / cells;
  const auto alpha = partition::alpha_per_window(model.leaves(), model.slices);
  if (!alpha) return no_estimate(alpha.error().message);
  const auto raw = partition::noise_floor_p(*middle, model.states, *alpha, std::min(mass, 1.0));
  if (!raw) return no_estimate(raw.error().message);
  auto grid = partition::PPolicy::create({});
  if (!grid) return no_estimate(grid.error().message);
  return {grid->update(*raw), "noise",
          "below " + number(*raw) + " chance alone could make cuts, going by the spread within " +
              std::to_string(kNoiseSlices) + " slices"};
}

Result<ChosenP> jump_p(partition::Batch& batch, const std::function<bool()>& go_on) {
  partition::EnvelopeOptions options;
  options.go_on = go_on;
  const auto curve = partition::envelope(batch, options);
  if (!curve) return tl::unexpected(curve.error());
  return ChosenP{partition::largest_jump(curve->points), "jump",
                 "the last p before the largest fall of quality"};
}

}  // namespace margay::daemon
