#include "margay/scene/palette.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace margay::scene {
namespace {

// The hues are those of Okabe and Ito, as in the terminal view; lightness and chroma were searched for so
// that families stay as far apart as can be for the four kinds of eyes, at about one distance from the
// background.
struct FamilyLook {
  std::string_view name;
  Oklch light;
  Oklch dark;
};
// In the order of wire::StateFamily. Variables, marks and links have hues by name.
constexpr std::array<FamilyLook, 14> kFamilies = {{
    {"other", {0.541, 0, 0}, {0.575, 0, 0}},
    {"compute", {0.764, 0.172, 157}, {0.655, 0.11, 152}},
    {"point-to-point", {0.572, 0.163, 258}, {0.552, 0.157, 275}},
    {"collective", {0.679, 0.116, 1}, {0.741, 0.145, 353}},
    {"wait", {0.576, 0.159, 46}, {0.65, 0.158, 55.6}},
    {"I/O", {0.678, 0.133, 112}, {0.763, 0.114, 107.5}},
    {"start/end", {0.663, 0.126, 229.4}, {0.748, 0.121, 230.6}},
    {"absent", {0.72, 0, 0}, {0.45, 0, 0}},
    {"unknown", {0.62, 0, 0}, {0.55, 0, 0}},
    {"region", {0.541, 0.04, 300}, {0.575, 0.04, 300}},
    {"variable", {0.62, 0.12, 0}, {0.66, 0.12, 0}},
    {"mark", {0.62, 0.12, 0}, {0.66, 0.12, 0}},
    {"link", {0.62, 0.12, 0}, {0.66, 0.12, 0}},
    {"idle", {0.84, 0.02, 250}, {0.4, 0.02, 250}},
}};
constexpr Rgb kBackground[] = {{255, 255, 255}, {30, 30, 32}};
constexpr Rgb kInk[] = {{24, 24, 28}, {232, 232, 236}};
constexpr Rgb kFaint[] = {{200, 200, 204}, {78, 78, 84}};

std::size_t index_of(Theme theme) {
  return theme == Theme::kDark ? 1 : 0;
}

const FamilyLook& look_of(wire::StateFamily family) {
  const auto i = static_cast<std::size_t>(family);
  return kFamilies[i < kFamilies.size() ? i : 0];
}

const Oklch& full_colour(Theme theme, wire::StateFamily family) {
  const FamilyLook& look = look_of(family);
  return theme == Theme::kDark ? look.dark : look.light;
}

// How far a shade goes from its family's colour: less than half of what families are apart.
constexpr double kShadeLightness = 0.035;
constexpr double kShadeHue = 9;

// FNV-1a, well mixed. Of some hundred thousand salts the one with which the MPI calls that are used most get
// shades the furthest apart within their families.
constexpr std::uint64_t kSalt = 491597;
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

}  // namespace

Palette::Palette(Theme theme, ColourMap overrides) : theme_(theme), overrides_(std::move(overrides)) {}

Rgb Palette::background() const {
  return kBackground[index_of(theme_)];
}

Rgb Palette::ink() const {
  return kInk[index_of(theme_)];
}

Rgb Palette::faint() const {
  return kFaint[index_of(theme_)];
}

Look Palette::look(std::string_view name, wire::StateFamily family) const {
  const bool hatch = family == wire::FAMILY_ABSENT || family == wire::FAMILY_UNKNOWN;
  if (const auto own = overrides_.find(name); own != overrides_.end()) return {own->second, hatch};
  Oklch colour = full_colour(theme_, family);
  if (hatch) return {rgb_of(colour), true};
  const auto [u, v] = two_of(hash_of(name));
  if (family == wire::FAMILY_VARIABLE || family == wire::FAMILY_MARK || family == wire::FAMILY_LINK) {
    colour.h = 180 * (v + 1);
    colour.l += 0.04 * u;
  } else {
    colour.l += kShadeLightness * u;
    colour.h += kShadeHue * v;
  }
  return {rgb_of(colour), false};
}

Look Palette::unknown(Theme theme) {
  return {rgb_of(full_colour(theme, wire::FAMILY_UNKNOWN)), true};
}

Look Palette::others() const {
  return {rgb_of(full_colour(theme_, wire::FAMILY_OTHER)), true};
}

Rgb Palette::at(Rgb colour, double strength) const {
  return with_strength(colour, strength, background());
}

Rgb Palette::family(Theme theme, wire::StateFamily family) {
  return rgb_of(full_colour(theme, family));
}

std::string_view family_name(wire::StateFamily family) {
  return look_of(family).name;
}

}  // namespace margay::scene
