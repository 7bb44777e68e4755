#include "palette.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "margay/text/text.h"
#include "margay/wire/family_by_name.h"

namespace margay::terminal {
namespace {

struct FamilyLook {
  const char* name;
  std::uint32_t rgb;
  std::uint8_t basic, basic_shade;
};
// In the order of wire::StateFamily.
constexpr std::array<FamilyLook, 14> kFamilies = {{{"other", 0x999999, 7, 15},
                                                   {"compute", 0x009E73, 2, 10},
                                                   {"point-to-point", 0x0072B2, 4, 12},
                                                   {"collective", 0xCC79A7, 5, 13},
                                                   {"wait", 0xE69F00, 3, 11},
                                                   {"I/O", 0xF0E442, 14, 6},
                                                   {"start/end", 0x56B4E9, 6, 14},
                                                   {"absent", 0x606060, 8, 8},
                                                   {"unknown", 0xB0B0B0, 7, 15},
                                                   {"region", 0x999999, 7, 15},
                                                   {"variable", 0x999999, 7, 15},
                                                   {"mark", 0x999999, 7, 15},
                                                   {"link", 0x999999, 7, 15},
                                                   {"idle", 0xC0C8D0, 7, 15}}};

std::uint32_t mix(std::uint32_t rgb, std::uint32_t with, double part) {
  std::uint32_t out = 0;
  for (int shift = 0; shift <= 16; shift += 8) {
    const double a = rgb >> shift & 0xFF, b = with >> shift & 0xFF;
    out |= static_cast<std::uint32_t>(std::lround(a + (b - a) * part)) << shift;
  }
  return out;
}

// The nearest colour of xterm's 6 x 6 x 6 cube.
std::uint8_t nearest_xterm(std::uint32_t rgb) {
  constexpr std::array<int, 6> kSteps = {0, 95, 135, 175, 215, 255};
  int index = 16;
  int weight = 36;
  for (int shift = 16; shift >= 0; shift -= 8, weight /= 6) {
    const int v = static_cast<int>(rgb >> shift & 0xFF);
    int best = 0;
    for (int i = 1; i < 6; ++i)
      if (std::abs(kSteps[static_cast<std::size_t>(i)] - v) <
          std::abs(kSteps[static_cast<std::size_t>(best)] - v))
        best = i;
    index += weight * best;
  }
  return static_cast<std::uint8_t>(index);
}

Ink ink(std::uint32_t rgb, std::uint8_t basic) {
  return {true, rgb, nearest_xterm(rgb), basic};
}

Ink shade(const FamilyLook& family, int place) {
  switch (place % 5) {
    case 0:
      return ink(family.rgb, family.basic);
    case 1:
      return ink(mix(family.rgb, 0xFFFFFF, 0.45), family.basic_shade);
    case 2:
      return ink(mix(family.rgb, 0x000000, 0.40), family.basic);
    case 3:
      return ink(mix(family.rgb, 0xFFFFFF, 0.70), family.basic_shade);
    default:
      return ink(mix(family.rgb, 0x000000, 0.62), family.basic);
  }
}

// A free letter that reminds of the name: its capitals, its other letters, then any.
char32_t letter_for(std::string name, std::string& taken) {
  if (name.rfind("MPI_", 0) == 0 && name.size() > 4) name.erase(0, 4);
  const auto upper = [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); };
  std::string wishes;
  if (!name.empty()) wishes += upper(name[0]);
  for (const char c : name)
    if (std::isupper(static_cast<unsigned char>(c))) wishes += c;
  for (const char c : name)
    if (std::isalpha(static_cast<unsigned char>(c))) wishes += upper(c);
  wishes += "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  for (const char c : wishes) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (!fits || taken.find(c) != std::string::npos) continue;
    taken += c;
    return static_cast<char32_t>(c);
  }
  return U'#';
}

// Of all that a program could do, what somebody does: letters are few, and theirs come first.
std::vector<bool> occurring(const wire::Report& report) {
  std::vector<bool> out(static_cast<std::size_t>(report.states_size()));
  const auto occurs = [&](std::uint32_t state) {
    if (state < out.size()) out[state] = true;
  };
  for (const wire::NodeBar& node : report.nodes())
    for (const wire::StateShare& share : node.shares()) occurs(share.state());
  for (const std::uint32_t state : report.spatiotemporal().share_state()) occurs(state);
  return out;
}

}  // namespace

Palette::Palette(const wire::Report& report, bool unicode) : unicode_(unicode) {
  const int count = std::min(report.states_size(), kMostStates);
  looks_.reserve(static_cast<std::size_t>(count));
  std::array<int, kFamilies.size()> seen{};
  std::string taken;
  for (int i = 0; i < count; ++i) {
    const wire::Name& name = report.states(i);
    std::size_t family = name.family() < kFamilies.size() ? name.family() : 0;
    StateLook look;
    look.name = text::printable(std::string_view(name.name()).substr(0, 160), unicode, 40);
    if (look.name.empty()) look.name = "state " + std::to_string(i);
    look.family = kFamilies[family].name;
    const std::size_t hue = wire::family_by_name(name.name(), static_cast<wire::StateFamily>(family));
    look.ink = shade(kFamilies[hue], seen[hue]++);
    if (family == wire::FAMILY_ABSENT) {
      look.letter = '.';
      look.glyph = unicode ? U'\u00B7' : U'.';
    } else if (family == wire::FAMILY_UNKNOWN) {
      look.letter = '?';
      look.glyph = unicode ? U'\u2592' : U'?';
    }
    looks_.push_back(std::move(look));
  }
  const std::vector<bool> first = occurring(report);
  for (const bool now : {true, false})
    for (std::size_t i = 0; i < looks_.size(); ++i)
      if (looks_[i].glyph == 0 && first[i] == now) looks_[i].letter = letter_for(looks_[i].name, taken);
}

StateLook Palette::look(std::uint32_t state) const {
  if (state < looks_.size()) return looks_[state];
  StateLook look;
  look.name = "state " + std::to_string(state) + "?";
  look.family = "unknown";
  look.letter = '?';
  look.glyph = unicode_ ? U'\u2592' : U'?';
  look.ink = ink(kFamilies[8].rgb, kFamilies[8].basic);
  return look;
}

Style Palette::phase_style(const std::string& name) {
  // Pale and greyish, so that no phase is taken for a family of states; neighbours differ in lightness too.
  struct Tone {
    std::uint32_t rgb;
    std::uint8_t basic;
  };
  constexpr std::array<Tone, 8> kTones = {{{0xD5DCE6, 7},
                                           {0xB09BE0, 13},
                                           {0xE6D3B3, 11},
                                           {0x8FB8B3, 14},
                                           {0xF0B8A8, 15},
                                           {0x9A9FC0, 12},
                                           {0xCFE0A8, 10},
                                           {0xA8A8A8, 5}}};
  std::size_t n = 0;
  for (const char c : name.substr(0, 8)) n = n * 26 + static_cast<unsigned char>(c) - 'A';
  const Tone& tone = kTones[n % kTones.size()];
  Style s;
  s.front = ink(0x101010, 0);
  s.back = ink(tone.rgb, tone.basic);
  return s;
}

Style Palette::bad() {
  Style s;
  s.bold = true;
  s.front = {true, 0xFFFFFF, 231, 15};
  s.back = {true, 0xB83A00, 130, 1};
  return s;
}
Style Palette::bad_text() {
  Style s;
  s.bold = true;
  s.front = {true, 0xFF7043, 209, 9};
  return s;
}
Style Palette::good() {
  Style s;
  s.front = {true, 0x2BC49A, 43, 10};
  return s;
}
Style Palette::faint() {
  Style s;
  s.front = {true, 0x8A8A8A, 245, 8};
  return s;
}
Ink Palette::on_ink() {
  return ink(0x101010, 0);
}
Style Palette::strong() {
  Style s;
  s.bold = true;
  return s;
}

}  // namespace margay::terminal
