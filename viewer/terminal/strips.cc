#include "strips.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "margay/scene/live_view.h"
#include "margay/scene/quality.h"
#include "margay/scene/temporal_bars.h"
#include "margay/text/text.h"

namespace margay::terminal {

Strips::Strips(scene::ViewData data, std::vector<std::uint32_t> states)
    : data_(std::move(data)), states_(std::move(states)) {
  std::set<std::uint32_t> modes;
  for (const scene::Part& part : data_.parts)
    if (part.mode >= 0) modes.insert(states_[static_cast<std::size_t>(part.mode)]);
  modes_.assign(modes.begin(), modes.end());
}

std::optional<Strips> Strips::of(const wire::Report& report) {
  auto data = scene::live_view_untrusted(report);
  if (!data || data->empty()) return std::nullopt;
  return Strips(std::move(*data), scene::states_of(report.spatiotemporal()));
}

std::vector<Strips::Cell> Strips::row(std::uint32_t node, int columns) const {
  std::vector<Cell> out(static_cast<std::size_t>(std::max(columns, 0)));
  if (out.empty() || node >= data_.nodes.size()) return out;
  const double slices = static_cast<double>(data_.slices()), width = static_cast<double>(out.size());
  const auto column_of = [&](std::uint32_t slice) { return slice / slices * width; };
  std::vector<double> area(out.size() * data_.states.size(), 0.0);
  const auto add = [&](const scene::Part& part, double leaves) {
    if (part.mode < 0) return;
    const double from = column_of(part.first), to = column_of(part.last);
    for (auto k = static_cast<std::size_t>(from); k < out.size() && static_cast<double>(k) < to; ++k) {
      const auto at = static_cast<double>(k);
      area[k * data_.states.size() + static_cast<std::size_t>(part.mode)] +=
          leaves * (std::min(to, at + 1) - std::max(from, at));
    }
  };
  for (const scene::Part& part : data_.parts_below(node)) add(part, data_.nodes[part.node].leaf_count);
  for (std::uint32_t above = node; above != 0;) {
    above = data_.nodes[above].parent;
    for (const scene::Part& part : data_.parts_of(above)) add(part, data_.nodes[node].leaf_count);
  }
  for (std::size_t k = 0; k < out.size(); ++k) {
    const auto begin = area.begin() + static_cast<std::ptrdiff_t>(k * data_.states.size());
    const auto most = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(data_.states.size()));
    if (data_.states.empty() || *most <= 0) continue;
    out[k].state = states_[static_cast<std::size_t>(most - begin)];
  }
  // A mark takes the place of a letter: what has only one is not marked.
  const std::vector<std::uint32_t> cuts = scene::shared_cuts(data_, node);
  for (std::size_t i = 1; i + 1 < cuts.size(); ++i) {
    const auto here = static_cast<std::size_t>(column_of(cuts[i]));
    const auto next = static_cast<std::size_t>(column_of(cuts[i + 1]));
    if (next >= here + 2 && here > 0) out[here].cut = true;
  }
  return out;
}

std::string p_of(const wire::Report& report) {
  if (!report.has_spatiotemporal()) return {};
  const double p = report.spatiotemporal().p();
  return scene::p_text(std::isfinite(p) ? p : 0.0);
}

std::string Strips::title() const {
  const scene::TimeRange range = data_.range();
  return "optimal partition of the newest " + text::duration_text((range.to - range.from).value) + ": " +
         grouped(data_.parts.size()) + (data_.parts.size() == 1 ? " part" : " parts") + " at p " +
         scene::p_text(data_.p);
}

}  // namespace margay::terminal
