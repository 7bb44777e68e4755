#include "margay/scene/palette.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <set>

namespace margay::scene {
namespace palette_test {

using testing::HasSubstr;

constexpr std::array kMainFamilies = {
    wire::FAMILY_COMPUTE, wire::FAMILY_POINT_TO_POINT, wire::FAMILY_COLLECTIVE, wire::FAMILY_WAIT,
    wire::FAMILY_IO,      wire::FAMILY_START_END,      wire::FAMILY_OTHER};

// Machado, Oliveira, Fernandes: "A physiologically-based model for simulation of color vision deficiency",
// 2009, table 1, severity 1.0; of linear RGB.
struct Vision {
  const char* name;
  std::array<std::array<double, 3>, 3> m;
};
constexpr std::array<Vision, 4> kVisions = {{
    {"normal", {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}},
    {"protan",
     {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}}},
    {"deutan",
     {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}}},
    {"tritan",
     {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}}},
}};

Rgb seen(const Vision& vision, Rgb c) {
  const auto linear = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
  const std::array<double, 3> in = {linear(c.r / 255.0), linear(c.g / 255.0), linear(c.b / 255.0)};
  std::array<std::uint8_t, 3> out{};
  for (std::size_t i = 0; i < 3; ++i) {
    double v = 0;
    for (std::size_t k = 0; k < 3; ++k) v += vision.m[i][k] * in[k];
    v = std::min(1.0, std::max(0.0, v));
    v = v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
    out[i] = static_cast<std::uint8_t>(std::lround(v * 255));
  }
  return {out[0], out[1], out[2]};
}

TEST(Colour, OklabOfKnownColours) {
  // From Ottosson's article and its reference implementation.
  const Oklab white = oklab_of({255, 255, 255});
  EXPECT_NEAR(white.l, 1, 1e-6);
  EXPECT_NEAR(white.a, 0, 1e-6);
  EXPECT_NEAR(white.b, 0, 1e-6);
  const Oklab red = oklab_of({255, 0, 0});
  EXPECT_NEAR(red.l, 0.627955, 1e-5);
  EXPECT_NEAR(red.a, 0.224863, 1e-5);
  EXPECT_NEAR(red.b, 0.125846, 1e-5);
  const Oklch blue = oklch_of({0, 0, 255});
  EXPECT_NEAR(blue.l, 0.452014, 1e-5);
  EXPECT_NEAR(blue.c, 0.313214, 1e-5);
  EXPECT_NEAR(blue.h, 264.052, 1e-2);
  EXPECT_EQ(oklch_of({128, 128, 128}).h, 0);
}

TEST(Colour, ThereAndBack) {
  std::mt19937 rng(1);
  for (int i = 0; i < 5000; ++i) {
    const Rgb c{static_cast<std::uint8_t>(rng()), static_cast<std::uint8_t>(rng()),
                static_cast<std::uint8_t>(rng())};
    ASSERT_EQ(rgb_of(oklch_of(c)), c) << text_of(c);
    ASSERT_EQ(rgb_of(oklab_of(c)), c) << text_of(c);
  }
}

TEST(Colour, OutOfGamutLosesChromaOnly) {
  for (double h = 0; h < 360; h += 7) {
    const Oklch back = oklch_of(rgb_of(Oklch{0.6, 0.4, h}));
    EXPECT_NEAR(back.l, 0.6, 0.01) << h;
    EXPECT_LT(back.c, 0.4);
    const double turned = std::fabs(std::remainder(back.h - h, 360));
    EXPECT_LT(turned, 2) << h;
  }
  EXPECT_EQ(rgb_of(Oklch{2, 0, 0}), (Rgb{255, 255, 255}));
  EXPECT_EQ(rgb_of(Oklch{-1, 0.2, 0}), (Rgb{0, 0, 0}));
  EXPECT_EQ(rgb_of(Oklch{std::nan(""), 0, 0}), (Rgb{0, 0, 0}));
  EXPECT_EQ(rgb_of(Oklch{1, std::numeric_limits<double>::infinity(), 1e300}), (Rgb{255, 255, 255}));
}

TEST(Colour, TextIsReadable) {
  EXPECT_EQ(text_on({255, 255, 255}), (Rgb{0, 0, 0}));
  EXPECT_EQ(text_on({0, 0, 0}), (Rgb{255, 255, 255}));
  EXPECT_EQ(text_on({255, 255, 0}), (Rgb{0, 0, 0}));
  EXPECT_EQ(text_on({0, 0, 200}), (Rgb{255, 255, 255}));
}

// Each palette in each theme.
std::vector<Palette> palettes() {
  std::vector<Palette> out;
  for (const Hues hues : {Hues::kOkabeIto, Hues::kTol})
    for (const Theme theme : {Theme::kLight, Theme::kDark}) out.emplace_back(theme, ColourMap(), hues);
  return out;
}

TEST(Palette, FamiliesStayApartForAllEyes) {
  for (const Palette& palette : palettes())
    for (const Vision& vision : kVisions)
      for (const auto a : kMainFamilies)
        for (const auto b : kMainFamilies) {
          if (a >= b) continue;
          const double apart = distance(seen(vision, palette.family(a)), seen(vision, palette.family(b)));
          EXPECT_GE(apart, vision.name == std::string_view("normal") ? 0.11 : 0.09)
              << vision.name << ": " << family_name(a) << " and " << family_name(b);
        }
}

TEST(Palette, EyesAreThoseOfTheArticle) {
  std::mt19937 rng(5);
  for (int i = 0; i < 1000; ++i) {
    const Rgb c{static_cast<std::uint8_t>(rng()), static_cast<std::uint8_t>(rng()),
                static_cast<std::uint8_t>(rng())};
    for (std::size_t v = 0; v < kVisions.size(); ++v)
      ASSERT_EQ(seen_by(static_cast<Eyes>(v), c), seen(kVisions[v], c)) << kVisions[v].name;
  }
}

// Their families have other colours: who cannot tell two in one may try the other.
TEST(Palette, TheTwoDiffer) {
  for (const Theme theme : {Theme::kLight, Theme::kDark})
    for (const auto family :
         {wire::FAMILY_COLLECTIVE, wire::FAMILY_WAIT, wire::FAMILY_COMPUTE, wire::FAMILY_IO})
      EXPECT_GT(ciede2000(Palette::family(theme, family), Palette::family(theme, family, Hues::kTol)),
                kToldApart)
          << family_name(family);
}

TEST(Palette, ShadesStayWithTheirFamily) {
  for (const Palette& palette : palettes()) {
    for (const auto family : kMainFamilies)
      for (int i = 0; i < 200; ++i) {
        const Rgb shade = palette.look("state" + std::to_string(i), family).colour;
        const double own = distance(shade, palette.family(family));
        for (const auto other : kMainFamilies)
          if (other != family) {
            ASSERT_LT(own, distance(shade, palette.family(other)))
                << family_name(family) << " " << text_of(shade) << " " << family_name(other);
          }
      }
  }
}

TEST(Palette, CommonCallsOfAFamilyDiffer) {
  const std::vector<std::pair<wire::StateFamily, std::vector<const char*>>> calls = {
      {wire::FAMILY_POINT_TO_POINT, {"MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Sendrecv"}},
      {wire::FAMILY_COLLECTIVE, {"MPI_Allreduce", "MPI_Bcast", "MPI_Barrier", "MPI_Reduce", "MPI_Alltoall"}},
      {wire::FAMILY_WAIT, {"MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Test"}},
      {wire::FAMILY_START_END, {"MPI_Init", "MPI_Finalize"}}};
  for (const Palette& palette : palettes()) {
    for (const auto& [family, names] : calls)
      for (const char* a : names)
        for (const char* b : names)
          if (std::string_view(a) < b) {
            EXPECT_GE(distance(palette.look(a, family).colour, palette.look(b, family).colour), 0.02)
                << a << " " << b;
          }
  }
}

TEST(Palette, SameInEveryRun) {
  // Written down: people get used to colours.
  const Palette light(Theme::kLight), dark(Theme::kDark);
  EXPECT_EQ(text_of(light.look("MPI_Send", wire::FAMILY_POINT_TO_POINT).colour), "#0071c0");
  EXPECT_EQ(text_of(light.look("Compute", wire::FAMILY_COMPUTE).colour), "#00dc9e");
  EXPECT_EQ(text_of(dark.look("MPI_Send", wire::FAMILY_POINT_TO_POINT).colour), "#3e60c1");
  EXPECT_EQ(light.look("x", wire::FAMILY_IO), Palette(Theme::kLight).look("x", wire::FAMILY_IO));
}

TEST(Palette, WhatIsNotThereIsGreyAndHatched) {
  for (const Palette& palette : palettes()) {
    for (const Look& look : {palette.unknown(), palette.others(), palette.look("absent", wire::FAMILY_ABSENT),
                             palette.look("unknown", wire::FAMILY_UNKNOWN)}) {
      EXPECT_TRUE(look.hatch);
      EXPECT_LT(oklch_of(look.colour).c, 0.02);
      EXPECT_GT(distance(look.colour, palette.background()), 0.1);
    }
    EXPECT_FALSE(palette.look("MPI_Send", wire::FAMILY_POINT_TO_POINT).hatch);
  }
}

TEST(Palette, MeasuredVariablesHaveHuesOfTheirOwn) {
  const Palette palette(Theme::kLight);
  std::set<int> hues;
  for (const char* name : {"load", "temperature", "residual", "energy", "iterations", "mesh"})
    hues.insert(static_cast<int>(oklch_of(palette.look(name, wire::FAMILY_VARIABLE).colour).h / 15));
  EXPECT_GE(hues.size(), 4u);
}

TEST(Strength, GoesFromNearTheBackgroundToTheColour) {
  const Palette palette(Theme::kLight);
  const Rgb blue = Palette::family(Theme::kLight, wire::FAMILY_POINT_TO_POINT);
  EXPECT_EQ(palette.at(blue, 1), blue);
  EXPECT_EQ(palette.at(blue, 7), blue);
  EXPECT_EQ(palette.at(blue, -1), palette.at(blue, 0));
  EXPECT_EQ(palette.at(blue, std::nan("")), palette.at(blue, 0));
  EXPECT_GT(distance(palette.at(blue, 0), palette.background()), 0.03);
  double last = 0;
  for (double s = 0; s <= 1; s += 0.05) {
    const double d = distance(palette.at(blue, s), palette.background());
    EXPECT_GT(d, last);
    last = d;
  }
}

TEST(Strength, GrowsForAnyColourAndBackground) {
  std::mt19937 rng(2);
  for (int i = 0; i < 500; ++i) {
    const auto any = [&] { return static_cast<std::uint8_t>(rng()); };
    const auto grey = any();
    const Rgb c{any(), any(), any()}, background{grey, grey, grey};
    const double full = distance(c, background);
    double last = 0;
    for (const double s : {0.0, 0.25, 0.5, 0.75, 1.0}) {
      const double d = distance(with_strength(c, s, background), background);
      const double f = kFaintest + (1 - kFaintest) * s;
      ASSERT_NEAR(d, std::min(full, f * std::pow(full, s) * std::pow(kUsualDistance, 1 - s)), 0.02)
          << text_of(c) << " on " << text_of(background) << " at " << s;
      ASSERT_GE(d, last - 0.01);
      last = d;
    }
  }
  EXPECT_EQ(with_strength({9, 9, 9}, 0.5, {9, 9, 9}), (Rgb{9, 9, 9}));
}

TEST(Strength, OfTwoStatesAtTheSameShareIsAboutEqual) {
  for (const Palette& palette : palettes()) {
    for (const double share : {0.0, 0.1, 0.3, 0.5, 0.8, 1.0}) {
      double least = 9, most = 0;
      for (const auto family : kMainFamilies) {
        const double d = distance(palette.at(palette.family(family), share), palette.background());
        least = std::min(least, d);
        most = std::max(most, d);
      }
      EXPECT_LT(most / least, 1.1 + 0.55 * share) << share;
    }
  }
}

TEST(ColourMap, ParsesAndPrints) {
  const auto map = parse_colours(
      "# colours of mine\n\nMPI_Send=#0072B2\r\n  my region = #abc \n// "
      "x=#000000\na=b=#010203\nMPI_Send=#ff0000");
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(*map,
            (ColourMap{{"MPI_Send", {255, 0, 0}}, {"my region", {0xaa, 0xbb, 0xcc}}, {"a=b", {1, 2, 3}}}));
  EXPECT_EQ(text_of(*map), "MPI_Send=#ff0000\na=b=#010203\nmy region=#aabbcc\n");
  EXPECT_EQ(*parse_colours(text_of(*map)), *map);
  EXPECT_TRUE(parse_colours("")->empty());
}

TEST(ColourMap, NamesTheLineThatIsWrong) {
  const auto message = [](std::string_view text) { return parse_colours(text).error().message; };
  EXPECT_EQ(message("a=#000000\nnonsense"), "line 2: \"nonsense\" is not name=#rrggbb");
  EXPECT_EQ(message("a=red"), "line 1: \"red\" is no colour: it should look like #0072b2");
  EXPECT_EQ(message("a=#12345g"), "line 1: \"#12345g\" is no colour: it should look like #0072b2");
  EXPECT_THAT(message("=#000000"), HasSubstr("no name"));
  EXPECT_FALSE(parse_rgb("#12345"));
  EXPECT_FALSE(parse_rgb(""));
  EXPECT_FALSE(parse_rgb("0072b20"));
}

TEST(ColourMap, OverridesTheStateOfThatName) {
  const Palette palette(Theme::kDark, {{"MPI_Send", {1, 2, 3}}, {"unknown", {4, 5, 6}}});
  EXPECT_EQ(palette.look("MPI_Send", wire::FAMILY_POINT_TO_POINT).colour, (Rgb{1, 2, 3}));
  EXPECT_EQ(palette.look("unknown", wire::FAMILY_UNKNOWN), (Look{{4, 5, 6}, true}));  // hatched all the same
  EXPECT_EQ(palette.look("MPI_Recv", wire::FAMILY_POINT_TO_POINT),
            Palette(Theme::kDark).look("MPI_Recv", wire::FAMILY_POINT_TO_POINT));
  EXPECT_EQ(palette.overrides().size(), 2u);
}

}  // namespace palette_test
}  // namespace margay::scene
