#include "margay/scene/palette.h"

#include <array>
#include <utility>
#include <vector>

#include "margay/scene/view_data.h"
#include "margay/wire/family_by_name.h"
#include "patterns.h"
#include "shades.h"

namespace margay::scene {
namespace {

// In the order of wire::StateFamily.
constexpr std::array<std::string_view, 14> kFamilyNames = {
    "other",  "compute", "point-to-point", "collective", "wait", "I/O",  "start/end",
    "absent", "unknown", "region",         "variable",   "mark", "link", "idle"};
// What is not there, by theme; and what is measured, whose hues are by name.
constexpr Oklch kAbsent[] = {{0.72, 0, 0}, {0.45, 0, 0}};
constexpr Oklch kUnknown[] = {{0.62, 0, 0}, {0.55, 0, 0}};
constexpr Oklch kMeasured[] = {{0.62, 0.12, 0}, {0.66, 0.12, 0}};
constexpr Rgb kBackground[] = {{255, 255, 255}, {30, 30, 32}};
constexpr Rgb kInk[] = {{24, 24, 28}, {232, 232, 236}};
constexpr Rgb kFaint[] = {{200, 200, 204}, {78, 78, 84}};

std::size_t index_of(Theme theme) {
  return theme == Theme::kDark ? 1 : 0;
}

bool is_measured(wire::StateFamily family) {
  return family == wire::FAMILY_VARIABLE || family == wire::FAMILY_MARK || family == wire::FAMILY_LINK;
}

// FNV-1a, well mixed. The salt was searched for: with it the MPI calls, system calls and words that are used
// most get shades of their own within their families (shades.h).
constexpr std::uint64_t kSalt = 189455229;
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325 ^ kSalt;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccd;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53;
  return h ^ (h >> 33);
}

// 31 bits of the hash each, as [-1, 1].
std::pair<double, double> two_of(std::uint64_t hash) {
  const auto part = [](std::uint64_t half) { return 2 * static_cast<double>(half) / 0x7fffffff - 1; };
  return {part(hash >> 33), part(hash & 0x7fffffff)};
}

Rgb rgb_of_number(std::uint32_t rgb) {
  const auto channel = [&](int shift) { return static_cast<std::uint8_t>(rgb >> shift & 0xFF); };
  return {channel(16), channel(8), channel(0)};
}

}  // namespace

Palette::Palette(Theme theme, ColourMap overrides, Hues hues)
    : theme_(theme), hues_(hues), overrides_(std::move(overrides)) {}

Rgb Palette::background() const {
  return kBackground[index_of(theme_)];
}

Rgb Palette::ink() const {
  return kInk[index_of(theme_)];
}

Rgb Palette::faint() const {
  return kFaint[index_of(theme_)];
}

Rgb Palette::usual_colour(std::string_view name, wire::StateFamily family) const {
  if (family == wire::FAMILY_ABSENT || family == wire::FAMILY_UNKNOWN) return Palette::family(family);
  const std::uint64_t hash = hash_of(name);
  if (is_measured(family)) {
    const auto [u, v] = two_of(hash);
    Oklch colour = kMeasured[index_of(theme_)];
    colour.h = 180 * (v + 1);
    colour.l += 0.04 * u;
    return rgb_of(colour);
  }
  const auto shades = internal::shades_of(hues_, theme_, wire::family_by_name(name, family));
  return rgb_of_number(shades[hash % shades.size()]);
}

Look Palette::look(std::string_view name, wire::StateFamily family) const {
  const bool hatch = family == wire::FAMILY_ABSENT || family == wire::FAMILY_UNKNOWN;
  if (const auto own = overrides_.find(name); own != overrides_.end()) return {own->second, hatch};
  const Rgb colour = usual_colour(name, family);
  if (hatch) return {colour, true};
  const auto pattern = patterns_.find(name);
  return {colour, false, pattern == patterns_.end() ? Pattern::kNone : pattern->second};
}

void Palette::tell_apart(std::span<const State> legend) {
  patterns_.clear();
  ViewData all;
  all.states.assign(legend.begin(), legend.end());
  std::vector<std::string_view> names;
  std::vector<internal::LegendColour> colours;
  for (const std::uint32_t i : states_in_order(all)) {
    const State& s = all.states[i];
    if (!s.known()) continue;
    // A colour that a person has given stays as it was given.
    const auto own = overrides_.find(s.name);
    names.emplace_back(s.name);
    colours.push_back(own != overrides_.end() ? internal::LegendColour{own->second, true}
                                              : internal::LegendColour{usual_colour(s.name, s.family)});
  }
  const std::vector<Pattern> patterns = internal::patterns_of(colours);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (patterns[i] != Pattern::kNone) patterns_.emplace(names[i], patterns[i]);
}

bool alike(Rgb one, Rgb two) {
  if (ciede2000(one, two) < kToldApart) return true;
  for (const Eyes eyes : {Eyes::kProtan, Eyes::kDeutan, Eyes::kTritan})
    if (ciede2000(seen_by(eyes, one), seen_by(eyes, two)) < kToldApart / 2) return true;
  return false;
}

Look Palette::unknown(Theme theme) {
  return {rgb_of(kUnknown[index_of(theme)]), true};
}

Look Palette::others() const {
  return {Palette::family(wire::FAMILY_OTHER), true};
}

Rgb Palette::at(Rgb colour, double strength) const {
  return with_strength(colour, strength, background());
}

Rgb Palette::family(Theme theme, wire::StateFamily family, Hues hues) {
  if (family == wire::FAMILY_ABSENT) return rgb_of(kAbsent[index_of(theme)]);
  if (family == wire::FAMILY_UNKNOWN) return rgb_of(kUnknown[index_of(theme)]);
  return rgb_of(is_measured(family) ? kMeasured[index_of(theme)] : internal::full_shade(hues, theme, family));
}

std::string_view family_name(wire::StateFamily family) {
  const auto i = static_cast<std::size_t>(family);
  return kFamilyNames[i < kFamilyNames.size() ? i : 0];
}

}  // namespace margay::scene
