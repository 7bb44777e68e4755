// The states that a session knows, and their colours.
#include <unordered_set>

#include "session.h"

namespace margay::viewer {
namespace {

// What a resource can do: marks, variables and links are names in the same table.
bool is_state(wire::StateFamily family) {
  return family != wire::FAMILY_REGION && family != wire::FAMILY_VARIABLE && family != wire::FAMILY_MARK &&
         family != wire::FAMILY_LINK;
}

}  // namespace

bool Session::learn(const std::vector<scene::State>& states) {
  scene::ViewData all;
  all.states = states_;
  std::unordered_set<std::string> known;
  for (const scene::State& s : states_) known.insert(s.name);
  for (const scene::State& s : states) {
    if (all.states.size() >= kMostStates) break;
    if (!s.name.empty() && is_state(s.family) && known.insert(s.name).second) all.states.push_back(s);
  }
  if (all.states.size() == states_.size()) return false;
  states_.clear();
  for (const std::uint32_t i : scene::states_in_order(all)) states_.push_back(all.states[i]);
  palette_.tell_apart(states_);
  return true;
}

void Session::set_palette(scene::Theme theme, scene::ColourMap given, scene::Hues hues) {
  palette_ = scene::Palette(theme, std::move(given), hues);
  palette_.tell_apart(states_);
}

void Session::set_theme(scene::Theme theme) {
  set_palette(theme, palette_.overrides(), palette_.hues());
  emit view_changed();
}
void Session::set_hues(scene::Hues hues) {
  set_palette(palette_.theme(), palette_.overrides(), hues);
  emit view_changed();
}
void Session::set_colour(const std::string& state, std::optional<scene::Rgb> colour) {
  scene::ColourMap colours = palette_.overrides();
  if (colour)
    colours[state] = *colour;
  else
    colours.erase(state);
  set_palette(palette_.theme(), std::move(colours), palette_.hues());
  // What another window has kept meanwhile counts from now on here, too.
  if (auto kept = colours_.change(state, colour)) {
    set_palette(palette_.theme(), std::move(*kept), palette_.hues());
    colours_trouble_.clear();
  } else {
    colours_trouble_ = tr("this colour is not kept: %1").arg(QString::fromStdString(kept.error().message));
    emit said(colours_trouble_);
  }
  emit view_changed();
}

}  // namespace margay::viewer
