// Colours of states: hue by family, a shade of it by name, and a pattern where two of a legend look alike.
//
// COLOUR. A state's colour depends on its family, its name, the palette, the theme and what the user says,
// and on nothing else: it is the same in every run and beside any other states. Where the source says no
// family, the name does (margay/wire/family_by_name.h), and where the name does not, the colour is one of
// eight greyish hues by name. Families have 6 or 8 shades, idle ones 4; which one a name has is a hash.
//
// PATTERN. Names are more than shades: of those that are in one legend tell_apart() gives a pattern to each
// that looks like (alike()) one listed before it. A pattern therefore depends on what else is in the legend,
// but not on the order in which it came there.
//
// PALETTES, two, both fit for people with protanopia, deuteranopia and tritanopia (scene_test has the
// distances, after Machado et al. 2009). In Okabe and Ito's, which is the terminal's, what waits is orange to
// brown, collectives are pink to violet, files yellow to olive. In Tol's, after his "bright" scheme, what
// waits is red to pink, collectives are purple to wine, files amber, and work is a yellower green.
//
// STRENGTH. How much of the time the mode has is told by strength, from nearly the background (0) to the full
// colour (1), along a line in OKLab (Ottosson 2020). Two states at the same small share are equally far from
// the background, whatever their full colours; the more they have, the more each is its own colour, which
// differ in contrast (families 0.29 to 0.46 on light, 0.33 to 0.54 on dark; their shades 0.19 to 0.71, idle
// ones from 0.11 on): they have to, to be told apart. Nothing is transparent: what is below does not shine
// through.
//
// Thread safety: values and pure functions. Cost: constant; of a Palette linear in the name.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
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
// L* [0, 100], a* and b* about [-128, 128], for the white of sRGB (D65).
struct Cielab {
  double l = 0, a = 0, b = 0;
};
Cielab cielab_of(Rgb colour);
// How different two colours look by CIEDE2000 (Sharma, Wu, Dalal 2005; all weights 1), 0 to about 120. 1 is
// just to be seen side by side; at 12 both are told apart in boxes that do not touch.
double ciede2000(const Cielab& one, const Cielab& two);
double ciede2000(Rgb one, Rgb two);

// As somebody sees it who lacks one kind of cones (Machado, Oliveira, Fernandes 2009, severity 1).
enum class Eyes { kUsual, kProtan, kDeutan, kTritan };
Rgb seen_by(Eyes eyes, Rgb colour);
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
enum class Hues { kOkabeIto, kTol };

// Drawn over a colour, in black or white.
enum class Pattern : std::uint8_t { kNone, kLines, kDots, kBars, kGrid };
inline constexpr std::size_t kPatterns = 5;  // kNone among them

struct Look {
  Rgb colour;          // of strength 1
  bool hatch = false;  // absent or unknown: grey, and hatched over the background
  Pattern pattern = Pattern::kNone;
  bool operator==(const Look&) const = default;
};

struct State;  // view_data.h

// CIEDE2000 that states of a legend differ by, or they are alike; half as much is asked for of other eyes.
inline constexpr double kToldApart = 12;
// Whether people with usual eyes, protanopia, deuteranopia or tritanopia may take one for the other.
bool alike(Rgb one, Rgb two);

class Palette {
 public:
  explicit Palette(Theme theme, ColourMap overrides = {}, Hues hues = Hues::kOkabeIto);

  Theme theme() const { return theme_; }
  Hues hues() const { return hues_; }
  const ColourMap& overrides() const { return overrides_; }
  bool operator==(const Palette&) const = default;
  Rgb background() const;  // that strengths fade into
  Rgb ink() const;         // text and marks on the background
  Rgb faint() const;       // rules, axes, grid

  Look look(std::string_view name, wire::StateFamily family) const;
  // Of the states of a legend, in any order, those that look alike have patterns from now on: a different one
  // each as long as there are enough, and always another than the one that is listed before it
  // (states_in_order()). Those the user gave a colour have none. What it said before is forgotten. Cost:
  // sorts them, and a few ms.
  void tell_apart(std::span<const State> legend);
  static Look unknown(Theme theme);  // where there is no state
  Look unknown() const { return unknown(theme_); }
  Look others() const;  // pooled small states: hatched
  // A full colour at a strength, [0, 1] (clamped), on this theme's background.
  Rgb at(Rgb colour, double strength) const;

  // The full colour of a family, that shades vary about.
  static Rgb family(Theme theme, wire::StateFamily family, Hues hues = Hues::kOkabeIto);
  Rgb family(wire::StateFamily family) const { return Palette::family(theme_, family, hues_); }

 private:
  Rgb usual_colour(std::string_view name, wire::StateFamily family) const;

  Theme theme_;
  Hues hues_;
  ColourMap overrides_;
  std::map<std::string, Pattern, std::less<>> patterns_;
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
