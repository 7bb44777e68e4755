// Colours of states: hue by family, as in the terminal view, and a shade of it by name.
//
// A state's colour depends on its family, its name, the theme and what the user says, and on nothing else: it
// is the same in every run and beside any other states. Families stay apart for people with protanopia,
// deuteranopia and tritanopia (scene_test has the distances, after Machado et al. 2009). Names that hash to
// like shades look alike within their family: legends and tooltips have the name, and the user may give a
// colour.
//
// STRENGTH. How much of the time the mode has is told by strength, from nearly the background (0) to the full
// colour (1), along a line in OKLab (Ottosson 2020). Two states at the same small share are equally far from
// the background, whatever their full colours; the more they have, the more each is its own colour, which
// differ in contrast (0.29 to 0.46 on light, 0.34 to 0.54 on dark): they have to, to be told apart. Nothing
// is transparent: what is below does not shine through.
//
// Thread safety: values and pure functions. Cost: constant; of a Palette a map look-up for each colour.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "margay/base/result.h"
#include "margay/wire/names.pb.h"

namespace margay::scene {

struct Rgb {  // sRGB
  std::uint8_t r = 0, g = 0, b = 0;
  auto operator<=>(const Rgb&) const = default;
};

// Lightness [0, 1], chroma [0, about 0.33 in sRGB], hue in degrees [0, 360).
struct Oklch {
  double l = 0, c = 0, h = 0;
};
struct Oklab {
  double l = 0, a = 0, b = 0;
};

Oklab oklab_of(Rgb colour);
Oklch oklch_of(Rgb colour);  // the hue of a grey is 0
// The nearest colour of the same lightness and hue that sRGB has: chroma gives way. Not a number reads as 0.
Rgb rgb_of(Oklch colour);
Rgb rgb_of(Oklab colour);
// How different two colours look: Euclidean in OKLab. 0.02 is just to be seen side by side, 1 black and
// white.
double distance(Rgb a, Rgb b);
// Black or white, whichever is easier to read on it (WCAG 2 contrast).
Rgb text_on(Rgb background);

// "#rrggbb" (either case), or "#rgb"; kInvalidArgument.
Result<Rgb> parse_rgb(std::string_view text);
std::string text_of(Rgb colour);  // "#rrggbb"

// By the name of a state.
using ColourMap = std::map<std::string, Rgb, std::less<>>;
// Lines "name=#rrggbb"; the last '=' counts, spaces round name and colour do not. Empty lines and those that
// begin with
// "# " or "//" are skipped; of one name the last line counts. kInvalidArgument names the line.
Result<ColourMap> parse_colours(std::string_view text);
// One line for each, by name; parse_colours() reads it back.
std::string text_of(const ColourMap& colours);

enum class Theme { kLight, kDark };

struct Look {
  Rgb colour;          // of strength 1
  bool hatch = false;  // absent or unknown: grey, and hatched over the background
  bool operator==(const Look&) const = default;
};

class Palette {
 public:
  explicit Palette(Theme theme, ColourMap overrides = {});

  Theme theme() const { return theme_; }
  const ColourMap& overrides() const { return overrides_; }
  Rgb background() const;  // that strengths fade into
  Rgb ink() const;         // text and marks on the background
  Rgb faint() const;       // rules, axes, grid

  Look look(std::string_view name, wire::StateFamily family) const;
  static Look unknown(Theme theme);  // where there is no state
  Look unknown() const { return unknown(theme_); }
  Look others() const;  // pooled small states: hatched
  // A full colour at a strength, [0, 1] (clamped), on this theme's background.
  Rgb at(Rgb colour, double strength) const;

  // The full colour of a family, that shades vary about.
  static Rgb family(Theme theme, wire::StateFamily family);

 private:
  Theme theme_;
  ColourMap overrides_;
};

// `colour` at a share s of [0, 1]: 1 is the colour itself, 0 just tells from the background. For any colour
// and background. Of the distance d between the two, it is at
//     f * d^s * kUsualDistance^(1-s), at most d, with f = kFaintest + (1 - kFaintest) * s.
inline constexpr double kFaintest = 0.15;
inline constexpr double kUsualDistance = 0.4;
Rgb with_strength(Rgb colour, double share, Rgb background);

// "compute", "point-to-point" ... as the terminal view says it.
std::string_view family_name(wire::StateFamily family);

}  // namespace margay::scene
