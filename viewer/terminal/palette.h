// How each state is drawn: hue by family, and by name where the source says no family
// (margay/wire/family_by_name.h); a shade inside the family, and a letter of its own where there is no
// colour. The hues are those of Okabe and Ito (Color Universal Design, 2008), which colour-blind people tell
// apart; vermillion is kept for what is wrong.
//
// Thread safety: a value. Cost: building is linear in the state table, at most kMostStates of it.
#pragma once

#include <string>
#include <vector>

#include "canvas.h"
#include "margay/wire/report.pb.h"

namespace margay::terminal {

struct StateLook {
  std::string name;    // printable, at most 40 columns
  std::string family;  // "collective"
  char32_t letter = '#';
  Ink ink;
  char32_t glyph = 0;  // drawn instead of a filled cell (absent, unknown), or 0
};

class Palette {
 public:
  static constexpr int kMostStates = 1024;
  Palette(const wire::Report& report, bool unicode);
  // Any id: one that is not in the table reads "state 4711?" and looks unknown.
  StateLook look(std::uint32_t state) const;

  // Phases: a background each by the place of the letter in the alphabet, and a text colour readable on it.
  static Style phase_style(const std::string& name);
  static Style bad();  // firing, lost
  static Style bad_text();
  static Style good();   // live, resolved
  static Style faint();  // rules, axis, help
  static Style strong();
  static Ink on_ink();  // of a letter on a state's colour

 private:
  std::vector<StateLook> looks_;
  bool unicode_;
};

}  // namespace margay::terminal
