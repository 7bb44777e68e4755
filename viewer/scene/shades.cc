#include "shades.h"

#include <algorithm>
#include <array>

namespace margay::scene::internal {
namespace {

struct Shades {
  Oklch full;
  std::array<std::uint32_t, 8> by_name;  // 0: no more
};
// Other, compute, point-to-point, collective, wait, I/O, start/end as in wire::StateFamily, and idle.
using ThemeShades = std::array<Shades, 8>;

// By palette, then by theme.
constexpr std::array<ThemeShades, 4> kShades = {{
    {{
        {{0.541, 0, 0}, {0x4e666f, 0x716a56, 0x46412e, 0x483b6b, 0x598777, 0x4f612c, 0x767b8f, 0x61434e}},
        {{0.764, 0.172, 157},
         {0x00dc9e, 0x2faf83, 0x23f9e6, 0x8cfc92, 0xa8fb1f, 0x3fca03, 0x89c6b5, 0x9fc675}},
        {{0.572, 0.163, 258}, {0x573ced, 0x184998, 0x6965a8, 0x1f00b5, 0x0071c0, 0x8577f9}},
        {{0.679, 0.116, 1}, {0xef6168, 0x9d72a7, 0xb37583, 0xb33dcc, 0xcca3c7, 0xf5b4a3, 0xdd75e4, 0xb1467f}},
        {{0.576, 0.159, 46}, {0x7f0010, 0x8c3701, 0xa34b4e, 0xe67b18, 0xb87759, 0x9a6704}},
        {{0.678, 0.133, 112}, {0xc5b886, 0x488516, 0x97834a, 0xeac941, 0x99a43c, 0x809c72}},
        {{0.663, 0.126, 229.4}, {0x24aaf4, 0x339a9f, 0x3786a8, 0x7e98c1, 0xa3c9f9, 0x77c6d4}},
        {{0.84, 0.02, 250}, {0xc6e4f0, 0xf4d8c3, 0xa1b597, 0xb0aabf}},
    }},
    {{
        {{0.575, 0, 0}, {0x5b6175, 0x5e7975, 0x71484b, 0xaa908d, 0x5c571b, 0x80899d, 0x78614c, 0x86806b}},
        {{0.655, 0.11, 152},
         {0x27cd7b, 0x009e5a, 0x137b25, 0x429082, 0x79ae30, 0x7db8a3, 0x849b6f, 0x65850a}},
        {{0.552, 0.157, 275}, {0x4717d2, 0x7e48fb, 0x8e82fd, 0x674988, 0x3e60c1, 0x7b72af}},
        {{0.741, 0.145, 353},
         {0xc33ca0, 0xd85cf3, 0xb483b6, 0xec9ffe, 0xf9c8e7, 0xfcb0a2, 0xea497d, 0xfa8aaf}},
        {{0.65, 0.158, 55.6}, {0x9b750f, 0xb15c46, 0xaf1306, 0xda840d, 0xf68f5f, 0xb28968}},
        {{0.763, 0.114, 107.5}, {0xbaa878, 0xa1a223, 0xa8fb1f, 0xf0b648, 0xc6e4b7, 0xe9db89}},
        {{0.748, 0.121, 230.6}, {0xa9ebf7, 0x5794fa, 0x2fbecc, 0x5dbdfc, 0xb6d1fd, 0x369bbd}},
        {{0.4, 0.02, 250}, {0x685866, 0x443217, 0x1c394c, 0x586551}},
    }},
    {{
        {{0.708, 0, 0}, {0x85a1a6, 0xcfb0d0, 0xa4cbbf, 0x989a7a, 0x918bba, 0xcfa19c, 0x667b88, 0x977d7e}},
        {{0.563, 0.141, 128.1},
         {0x80a715, 0x877d42, 0x484809, 0x496f0c, 0x67916f, 0x47b566, 0x1a472d, 0x2f714a}},
        {{0.64, 0.188, 266}, {0x626db0, 0x6a42f4, 0xb194fe, 0x07608d, 0x167eec, 0x1536a1}},
        {{0.592, 0.166, 330},
         {0xc137cb, 0x7f2c3e, 0xb575a7, 0xf172fa, 0x905e6d, 0x7410b5, 0x62155f, 0xae2375}},
        {{0.653, 0.2, 18.9}, {0xf987c0, 0xbf324d, 0xba7368, 0xee6677, 0xf87b4f, 0xf13295}},
        {{0.751, 0.155, 79.1}, {0xbd7723, 0xb79909, 0xc0bb74, 0xf9aa16, 0xe4b697, 0xfadf32}},
        {{0.747, 0.147, 230.2}, {0x0bb0b8, 0x95b4e6, 0x369bbd, 0x29a7fe, 0x91cbe2, 0x2be9fb}},
        {{0.84, 0.02, 250}, {0xc6e4f0, 0xf4d8c3, 0xa1b597, 0xb0aabf}},
    }},
    {{
        {{0.764, 0, 0}, {0x98b5b0, 0xcddda1, 0x9993a8, 0xbc977f, 0xc5d6e9, 0xc2bca6, 0xbbaee6, 0xeed2cf}},
        {{0.526, 0.174, 141.5},
         {0x04b275, 0x458b74, 0x346044, 0x7e8818, 0x4b5813, 0x6a7a4e, 0x2b7a15, 0x5aaa10}},
        {{0.619, 0.192, 261}, {0x126185, 0xa08bfe, 0x7674b0, 0x060fb6, 0x3076e9, 0x1d4be5}},
        {{0.503, 0.2, 340.2},
         {0xbf45ed, 0x8a0d51, 0x69177a, 0x5e4b74, 0xc41f5f, 0x8023da, 0xa00929, 0xac3699}},
        {{0.605, 0.12, 1.1}, {0x855b77, 0xaa7474, 0xf235b4, 0xec7c99, 0xc42f20, 0x854b42}},
        {{0.704, 0.143, 87.1}, {0xa2ac67, 0xb8721d, 0x958354, 0xf6b95f, 0xf1e316, 0xbd9605}},
        {{0.732, 0.157, 236.5}, {0x189ef4, 0x4b95ab, 0x27e3fd, 0x80cafd, 0x5bb9c9, 0x849fda}},
        {{0.4, 0.02, 250}, {0x685866, 0x443217, 0x1c394c, 0x586551}},
    }},
}};

const Shades& find_shades(Hues hues, Theme theme, wire::StateFamily family) {
  const ThemeShades& of = kShades[(hues == Hues::kTol ? 2 : 0) + (theme == Theme::kDark ? 1 : 0)];
  if (family == wire::FAMILY_IDLE) return of.back();
  return of[family <= wire::FAMILY_START_END ? static_cast<std::size_t>(family) : 0];
}

}  // namespace

const Oklch& full_shade(Hues hues, Theme theme, wire::StateFamily family) {
  return find_shades(hues, theme, family).full;
}

std::span<const std::uint32_t> shades_of(Hues hues, Theme theme, wire::StateFamily family) {
  const auto& all = find_shades(hues, theme, family).by_name;
  return {all.begin(), std::find(all.begin(), all.end(), 0u)};
}

}  // namespace margay::scene::internal
