// How a run looks: the states that a session knows, their colours, how times are told.
#include <ctime>
#include <unordered_set>
#include <utility>

#include "session.h"

namespace margay::viewer {
namespace {

// What a resource can do: marks, variables and links are names in the same table.
bool is_state(wire::StateFamily family) {
  return family != wire::FAMILY_REGION && family != wire::FAMILY_VARIABLE && family != wire::FAMILY_MARK &&
         family != wire::FAMILY_LINK;
}

constexpr DurationNs kOneDay = seconds(86'400);

std::int64_t utc_offset_at(TimeNs wall) {
  const auto then = static_cast<std::time_t>(wall.value / 1'000'000'000);
  std::tm local{};
  return localtime_r(&then, &local) != nullptr ? local.tm_gmtoff : 0;
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

scene::Times Session::times() const {
  const auto all = bounds();
  scene::Times out;
  out.zero = !data_->empty() ? data_->zero : all ? all->from : TimeNs();
  if (scene::is_wall_clock(out.zero)) out.utc_offset_s = utc_offset_at(out.zero);
  out.by_clock = look_.by_clock;
  out.dated = all && all->to - all->from > kOneDay;
  return out;
}

void Session::set_cuts(scene::Cuts cuts) {
  scene::Subject s = history_.now();
  s.cuts = cuts;
  go(std::move(s));
}

void Session::set_time_p(std::optional<double> p) {
  scene::Subject s = history_.now();
  s.time_p = p;
  if (s == history_.now()) return;
  history_.replace(std::move(s));
  ask(history_.now().time || held_);
}

void Session::set_steps_of_time(bool of_time) {
  if (std::exchange(look_.steps_of_time, of_time) == of_time) return;
  // Its significant p are asked for with it.
  if (of_time && !history_.now().time_p && !temporal_->empty()) set_time_p(temporal_->p);
  emit view_changed();
  emit status_changed();
}

void Session::set_by_clock(bool by_clock) {
  if (std::exchange(look_.by_clock, by_clock) == by_clock) return;
  emit view_changed();
  emit status_changed();
}

}  // namespace margay::viewer
