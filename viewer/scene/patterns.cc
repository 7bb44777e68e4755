#include "patterns.h"

#include <algorithm>
#include <array>
#include <map>

namespace margay::scene::internal {
namespace {

// A colour of the legend. Colours are few where names are thousands.
struct LegendShade {
  std::vector<std::size_t> alike;                // itself among them
  std::array<std::size_t, kPatterns> uses = {};  // how many states have it with each pattern
};

// The places of the legend's colours among those that differ, and these.
std::pair<std::vector<std::size_t>, std::vector<LegendShade>> different(
    std::span<const LegendColour> legend) {
  std::map<Rgb, std::size_t> places;
  std::vector<std::size_t> of;
  std::vector<LegendShade> out;
  for (const LegendColour& c : legend) {
    const auto [at, is_new] = places.emplace(c.colour, out.size());
    of.push_back(at->second);
    if (!is_new) continue;
    out.emplace_back();
    for (const auto& [other, i] : places) {
      if (!alike(c.colour, other)) continue;
      out.back().alike.push_back(i);
      if (other != c.colour) out[i].alike.push_back(at->second);
    }
  }
  return {std::move(of), std::move(out)};
}

}  // namespace

std::vector<Pattern> patterns_of(std::span<const LegendColour> legend) {
  auto [place, shades] = different(legend);
  std::vector<Pattern> out(legend.size(), Pattern::kNone);
  for (std::size_t i = 0; i < legend.size(); ++i)
    if (legend[i].plain) ++shades[place[i]].uses[0];
  for (std::size_t i = 0; i < legend.size(); ++i) {
    if (legend[i].plain) continue;
    // How often it would be taken for another: for one of just this colour first.
    LegendShade& own = shades[place[i]];
    std::array<std::pair<std::size_t, std::size_t>, kPatterns> taken = {};
    for (std::size_t k = 0; k < kPatterns; ++k) {
      taken[k].first = own.uses[k];
      for (const std::size_t other : own.alike) taken[k].second += shades[other].uses[k];
    }
    if (i > 0 && std::ranges::count(own.alike, place[i - 1]) > 0)
      taken[static_cast<std::size_t>(out[i - 1])].first = legend.size() + 1;
    const auto chosen = static_cast<std::size_t>(std::ranges::min_element(taken) - taken.begin());
    ++own.uses[chosen];
    out[i] = static_cast<Pattern>(chosen);
  }
  return out;
}

}  // namespace margay::scene::internal
