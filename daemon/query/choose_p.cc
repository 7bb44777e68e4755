#include "margay/query/choose_p.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "margay/partition/automatic_p.h"
#include "margay/partition/noise.h"

namespace margay::daemon {
namespace {

constexpr std::size_t kNoiseLeaves = 256;    // a sample of so many is enough
constexpr double kMedianEfficiency = 0.637;  // of a median of many, against their mean: 2/pi

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

ChosenP no_estimate(const std::string& why) {
  return {kDefaultP, "default", "the noise cannot be estimated: " + why};
}

double median(std::vector<double>& of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

// Of a leaf in which anything varies.
std::optional<partition::Noise> noise_of(const Model& model, std::size_t leaf) {
  const std::size_t leaves = model.leaves(), states = model.states;
  std::vector<double> n_eff, of_a_pair, rows(kNoiseSlices * states);
  double mass = 0, degrees = 0;
  for (std::size_t from = 0; from + kNoiseSlices <= model.slices; from += kNoiseSlices) {
    for (std::size_t t = 0; t < kNoiseSlices; ++t)
      std::copy_n(model.values.data() + ((from + t) * leaves + leaf) * states, states,
                  rows.data() + t * states);
    mass += std::accumulate(rows.begin(), rows.end(), 0.0) / kNoiseSlices;
    const auto e = partition::estimate_neff(rows, states);
    if (!e || e->degrees_of_freedom < partition::kLeastDegrees) continue;
    n_eff.push_back(e->n_eff);
    of_a_pair.push_back(e->of_a_pair);
    degrees += e->degrees_of_freedom * kMedianEfficiency;
  }
  if (n_eff.empty()) return std::nullopt;
  mass /= static_cast<double>(model.slices / kNoiseSlices);
  return partition::Noise{median(n_eff), median(of_a_pair), std::min(mass, 1.0), degrees};
}

}  // namespace

ChosenP noise_p(const Model& model) {
  if (model.states < 2) return no_estimate("there is one state only");
  if (model.slices < kNoiseSlices)
    return no_estimate("fewer than " + std::to_string(kNoiseSlices) + " slices");
  std::vector<partition::Noise> noise;
  const std::size_t step = std::max<std::size_t>(1, model.leaves() / kNoiseLeaves);
  for (std::size_t leaf = 0; leaf < model.leaves(); leaf += step)
    if (const auto of_leaf = noise_of(model, model.in_usual_order(leaf))) noise.push_back(*of_leaf);
  if (noise.empty())
    return no_estimate("no resource has two states within " + std::to_string(kNoiseSlices) + " slices");
  const auto alpha = partition::alpha_per_window(model.leaves(), model.slices);
  if (!alpha) return no_estimate(alpha.error().message);
  const auto floor = partition::noise_floor_p(noise, *alpha);
  if (!floor) return no_estimate(floor.error().message);
  return {*floor, "noise",
          "below " + number(*floor) + " chance alone could make cuts, going by the spread within " +
              std::to_string(kNoiseSlices) + " slices"};
}

Result<ChosenP> lower_for(ChosenP chosen, partition::Batch& batch, std::span<const partition::Area> areas,
                          const std::function<bool()>& go_on) {
  if (!batch.keeps_tables()) return chosen;
  const auto p = partition::automatic_p([&](double at) { return batch.solve(at, go_on); }, batch.tree(),
                                        chosen.p, areas);
  if (!p) return tl::unexpected(p.error());
  if (*p < chosen.p) chosen.why += "; lower, for what was alerted";
  chosen.p = *p;
  return chosen;
}

void draw_picture(partition::Partition& partition, const partition::Batch& batch,
                  std::span<const partition::Area> areas) {
  const auto worth = [&](const partition::Part& part) {
    const partition::Part m = batch.measured(part.node, part.first, part.last);
    return partition.p * m.gain - (1 - partition.p) * m.loss;
  };
  partition::set_apart(partition, batch.tree(), areas, worth);
  batch.evaluate(partition);
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
