// The colours of the families of states in each palette and theme: the full one, that a family is shown by
// where no state of it is meant, and the shades its states have. Private to the folder.
//
// They were searched for, so that (palette_test, colour_names_test)
//   - families are apart for the four kinds of eyes, and each shade is nearer to its own family's colour than
//     to any other's;
//   - shades of a family are 12 CIEDE2000 apart or nearly so, and shades of different families too; for other
//     eyes as far as the rest allows (Palette::tell_apart() gives patterns to what is left);
//   - all are apart from the background and from the red of alerts.
//
// Thread safety: constants. Cost: constant.
#pragma once

#include <span>

#include "margay/scene/palette.h"

namespace margay::scene::internal {

// Of states, idle and other states among them, and of FAMILY_REGION; of any other family those of other.
const Oklch& full_shade(Hues hues, Theme theme, wire::StateFamily family);
// 0xRRGGBB, at least 4. Their order says which name has which: see the salt in palette.cc.
std::span<const std::uint32_t> shades_of(Hues hues, Theme theme, wire::StateFamily family);

}  // namespace margay::scene::internal
