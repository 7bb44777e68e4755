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

// CIE XYZ to L*a*b* (CIE 15): the cube root, and near black a line.
double lab_root(double share) {
  constexpr double kSmall = 216.0 / 24389, kSteep = 24389.0 / 27;
  return share > kSmall ? std::cbrt(share) : (kSteep * share + 16) / 116;
}

double seventh(double x) {
  const double cube = x * x * x;
  return cube * cube * x;
}

double hue_degrees(double b, double a) {
  if (a == 0 && b == 0) return 0;
  const double hue = std::atan2(b, a) / kDegree;
  return hue < 0 ? hue + 360 : hue;
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

// The rows of sRGB's matrix are divided by their sums, which are the white point D65.
Cielab cielab_of(Rgb colour) {
  const double r = linear_of(colour.r), g = linear_of(colour.g), b = linear_of(colour.b);
  const double x = lab_root((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
  const double y = lab_root(0.2126729 * r + 0.7151522 * g + 0.0721750 * b);
  const double z = lab_root((0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

// The names are the article's: primes are left out.
double ciede2000(const Cielab& one, const Cielab& two) {
  constexpr double k25 = 6103515625;  // 25^7
  const double mean_c = seventh((std::hypot(one.a, one.b) + std::hypot(two.a, two.b)) / 2);
  const double stretch = 1 + 0.5 * (1 - std::sqrt(mean_c / (mean_c + k25)));
  const double a1 = stretch * one.a, a2 = stretch * two.a;
  const double c1 = std::hypot(a1, one.b), c2 = std::hypot(a2, two.b);
  const double h1 = hue_degrees(one.b, a1), h2 = hue_degrees(two.b, a2);
  const bool grey = c1 * c2 == 0;  // whose hue is none
  double turn = grey ? 0 : h2 - h1;
  if (turn > 180) turn -= 360;
  if (turn < -180) turn += 360;
  double h = h1 + h2;  // of both
  if (!grey && std::fabs(h1 - h2) <= 180)
    h /= 2;
  else if (!grey)
    h = h < 360 ? (h + 360) / 2 : (h - 360) / 2;
  const double l = (one.l + two.l) / 2 - 50, c = (c1 + c2) / 2;
  const double t = 1 - 0.17 * std::cos((h - 30) * kDegree) + 0.24 * std::cos(2 * h * kDegree) +
                   0.32 * std::cos((3 * h + 6) * kDegree) - 0.20 * std::cos((4 * h - 63) * kDegree);
  const double blue = (h - 275) / 25;
  const double turned = 60 * std::exp(-blue * blue) * kDegree;
  const double rotation = -2 * std::sqrt(seventh(c) / (seventh(c) + k25)) * std::sin(turned);
  const double dl = (two.l - one.l) / (1 + 0.015 * l * l / std::sqrt(20 + l * l));
  const double dc = (c2 - c1) / (1 + 0.045 * c);
  const double dh = 2 * std::sqrt(c1 * c2) * std::sin(turn / 2 * kDegree) / (1 + 0.015 * c * t);
  return std::sqrt(std::max(0.0, dl * dl + dc * dc + dh * dh + rotation * dc * dh));
}

double ciede2000(Rgb one, Rgb two) {
  return ciede2000(cielab_of(one), cielab_of(two));
}

Rgb seen_by(Eyes eyes, Rgb colour) {
  constexpr double kSeen[3][3][3] = {
      {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
      {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
      {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};
  if (eyes == Eyes::kUsual) return colour;
  const auto& m = kSeen[static_cast<std::size_t>(eyes) - 1];
  const double r = linear_of(colour.r), g = linear_of(colour.g), b = linear_of(colour.b);
  const auto row = [&](const double(&of)[3]) { return channel_of(of[0] * r + of[1] * g + of[2] * b); };
  return {row(m[0]), row(m[1]), row(m[2])};
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
