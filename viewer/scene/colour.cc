#include <algorithm>
#include <cmath>
#include <numbers>

#include "margay/scene/palette.h"

namespace margay::scene {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

double linear_of(std::uint8_t channel) {
  const double v = channel / 255.0;
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

std::uint8_t channel_of(double linear) {
  const double v = linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(std::clamp(v, 0.0, 1.0) * 255));
}

struct Linear {
  double r, g, b;
  bool in_gamut() const {
    constexpr double kSlack = 1e-4;  // less than a channel can tell
    return std::min({r, g, b}) >= -kSlack && std::max({r, g, b}) <= 1 + kSlack;
  }
};

// The matrices are those of B. Ottosson, "A perceptual color space for image processing", 2020.
Linear linear_of(const Oklab& lab) {
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(lab.l + 0.3963377774 * lab.a + 0.2158037573 * lab.b);
  const double m = cube(lab.l - 0.1055613458 * lab.a - 0.0638541728 * lab.b);
  const double s = cube(lab.l - 0.0894841775 * lab.a - 1.2914855480 * lab.b);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

Oklab lab_of(const Oklch& c) {
  return {c.l, c.c * std::cos(c.h * kDegree), c.c * std::sin(c.h * kDegree)};
}

Oklch lch_of(const Oklab& lab) {
  const double chroma = std::hypot(lab.a, lab.b);
  if (chroma < 1e-4) return {lab.l, 0, 0};  // of a grey only rounding has a hue
  const double hue = std::atan2(lab.b, lab.a) / kDegree;
  return {lab.l, chroma, hue < 0 ? hue + 360 : hue};
}

double finite(double x) {
  return std::isfinite(x) ? x : 0;
}

double luminance(Rgb c) {
  return 0.2126 * linear_of(c.r) + 0.7152 * linear_of(c.g) + 0.0722 * linear_of(c.b);
}

}  // namespace

Oklab oklab_of(Rgb colour) {
  const double r = linear_of(colour.r), g = linear_of(colour.g), b = linear_of(colour.b);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

Oklch oklch_of(Rgb colour) {
  return lch_of(oklab_of(colour));
}

Rgb rgb_of(Oklch colour) {
  Oklch c{std::clamp(finite(colour.l), 0.0, 1.0), std::clamp(finite(colour.c), 0.0, 1.0),
          std::fmod(finite(colour.h), 360.0)};
  if (c.l <= 0 || c.l >= 1) c.c = 0;
  if (!linear_of(lab_of(c)).in_gamut()) {
    double low = 0, high = c.c;  // a grey is always in it
    for (int i = 0; i < 24; ++i) {
      c.c = (low + high) / 2;
      (linear_of(lab_of(c)).in_gamut() ? low : high) = c.c;
    }
    c.c = low;
  }
  const Linear rgb = linear_of(lab_of(c));
  return {channel_of(rgb.r), channel_of(rgb.g), channel_of(rgb.b)};
}

Rgb rgb_of(Oklab colour) {
  return rgb_of(lch_of({finite(colour.l), finite(colour.a), finite(colour.b)}));
}

double distance(Rgb a, Rgb b) {
  const Oklab x = oklab_of(a), y = oklab_of(b);
  return std::hypot(x.l - y.l, x.a - y.a, x.b - y.b);
}

Rgb text_on(Rgb background) {
  // Contrast with white is 1.05 / (L + 0.05), with black (L + 0.05) / 0.05.
  const double l = luminance(background) + 0.05;
  return l * l > 1.05 * 0.05 ? Rgb{0, 0, 0} : Rgb{255, 255, 255};
}

Rgb with_strength(Rgb colour, double share, Rgb background) {
  const double s = std::isnan(share) ? 0 : std::clamp(share, 0.0, 1.0);
  const double own = distance(colour, background);
  if (s >= 1 || own < 1e-3) return colour;
  const double part =
      std::min(1.0, (kFaintest + (1 - kFaintest) * s) * std::pow(kUsualDistance / own, 1 - s));
  const Oklab from = oklab_of(background), to = oklab_of(colour);
  return rgb_of(Oklab{from.l + (to.l - from.l) * part, from.a + (to.a - from.a) * part,
                      from.b + (to.b - from.b) * part});
}

}  // namespace margay::scene
