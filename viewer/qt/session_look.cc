// How a run looks: the states that a session knows, their colours, how times are told; what is measured of
// it, and what is left out.
#include <set>
#include <unordered_set>
#include <utility>

#include "margay/base/zone.h"
#include "margay/scene/statistics.h"
#include "margay/transport/transport.h"
#include "margay/wire/columns.h"
#include "session.h"

namespace margay::viewer {
namespace {

// What a resource can do: marks, variables and links are names in the same table.
bool is_state(wire::StateFamily family) {
  return family != wire::FAMILY_REGION && family != wire::FAMILY_VARIABLE && family != wire::FAMILY_MARK &&
         family != wire::FAMILY_LINK;
}

constexpr std::int64_t kReplayedSlices = 256;
constexpr DurationNs kOneDay = seconds(86'400);

// What else of a question may come later: a p, a token of more digits.
constexpr std::size_t kSpare = 64;
// As the daemon has it.
constexpr std::size_t kMostChosenStates = 256;

bool fits(const scene::Subject& subject) {
  wire::ControlRequest request;
  request.set_version(wire::kWireVersion);
  request.set_kind(wire::ControlRequest::VIEW);
  *request.mutable_view() = scene::question_of(subject, 1, true);
  return subject.states.size() + subject.filter.states.size() + subject.filter.resources.size() <=
             kMostChosenStates &&
         request.ByteSizeLong() + kSpare <= static_cast<std::size_t>(transport::kQuestions.largest);
}

}  // namespace

bool Session::learn(const std::vector<scene::State>& states) {
  scene::ViewData all;
  all.states = known_.states;
  std::unordered_set<std::string> known;
  for (const scene::State& s : known_.states) known.insert(s.name);
  for (const scene::State& s : states) {
    if (all.states.size() >= kMostStates) break;
    if (!s.name.empty() && is_state(s.family) && known.insert(s.name).second) all.states.push_back(s);
  }
  if (all.states.size() == known_.states.size()) return false;
  known_.states.clear();
  for (const std::uint32_t i : scene::states_in_order(all)) known_.states.push_back(all.states[i]);
  palette_.tell_apart(known_.states);
  return true;
}

void Session::set_palette(scene::Theme theme, scene::ColourMap given, scene::Hues hues) {
  palette_ = scene::Palette(theme, std::move(given), hues);
  palette_.tell_apart(known_.states);
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
  out.unit = look_.unit;
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

// What is followed is what has been played, as much of it as a run's picture has: an archive's newest slices
// are those of its end.
std::optional<scene::TimeRange> Session::replayed_time() const {
  if (!follows() || !report_ || !report_->has_replay() || report_->replay().at_end()) return std::nullopt;
  const DurationNs length(std::max<std::int64_t>(report_->slice_ns(), 1) * kReplayedSlices);
  const TimeNs begin(report_->replay().begin_ns());
  const TimeNs from = now() - length < begin ? begin : now() - length;
  return from < now() ? std::optional(scene::TimeRange{from, now()}) : std::nullopt;
}

void Session::set_by_clock(bool by_clock) {
  if (std::exchange(look_.by_clock, by_clock) == by_clock) return;
  emit view_changed();
  emit status_changed();
}

void Session::set_unit(scene::TimeUnit unit) {
  if (std::exchange(look_.unit, unit) != unit) emit view_changed();
}

void Session::set_measure(const std::string& measure) {
  scene::Subject s = history_.now();
  const auto of_variable = [](const std::string& m) { return scene::measure_kind(m).of_variable; };
  if (of_variable(s.measure) || of_variable(measure)) s.states.clear(), s.filter.states.clear();
  s.measure = measure;
  s.p.reset();
  go(std::move(s));
}
std::vector<std::string> Session::variables() const {
  std::set<std::string> names;
  for (const scene::Annotation& a : data_->annotations)
    if (a.kind == scene::Annotation::Kind::kVariable && a.name < data_->annotation_names.size())
      names.insert(data_->annotation_names[a.name]);
  return {names.begin(), names.end()};
}
bool Session::go_if_it_fits(scene::Subject s) {
  if (!fits(s)) {
    const std::size_t terms = s.filter.states.size() + s.filter.resources.size();
    const QString sentence =
        terms == 0
            ? tr("%1 states are too many for one request (at most %2 states, %3 bytes): choose fewer")
            : tr("%1 states and patterns are too many for one request (at most %2, and %3 bytes): choose "
                 "fewer");
    emit said(
        sentence.arg(s.states.size() + terms).arg(kMostChosenStates).arg(transport::kQuestions.largest));
    return false;
  }
  go(std::move(s));
  return true;
}
bool Session::set_states(std::vector<std::string> states) {
  scene::Subject s = history_.now();
  s.states = std::move(states);
  return go_if_it_fits(std::move(s));
}
bool Session::set_filter(scene::RunFilter filter) {
  scene::Subject s = history_.now();
  s.filter = std::move(filter);
  // Too many is said in words of the window.
  if (fits(s))
    if (const Status ok = scene::check_filter(s.filter); !ok) {
      emit said(QString::fromStdString(ok.error().message));
      return false;
    }
  return go_if_it_fits(std::move(s));
}
bool Session::set_view(scene::PointOfView view) {
  scene::Subject s = history_.now();
  if (s.view == view) return true;
  // A node of the usual view is a filter in each other one. A node of another is known by its resources.
  if (!s.node.empty() && s.view.is_usual()) {
    s.filter.resources.push_back(s.node);
  } else if (!s.node.empty()) {
    for (std::uint32_t n = 0; n < data_->nodes.size(); ++n)
      if (!data_->nodes[n].resource.empty()) s.filter.resources.push_back(data_->nodes[n].resource);
  }
  if (!s.node.empty() && s.states.empty() && s.filter.states.empty()) s.filter.of_the_rest = true;
  s.node.clear();
  s.view = std::move(view);
  if (!fits(s)) {
    const bool zoomed = !history_.now().node.empty();
    s.filter = history_.now().filter;
    if (!fits(s)) {
      emit said(tr("the groups are too long for one request (at most %1 bytes): give fewer patterns")
                    .arg(transport::kQuestions.largest));
      return false;
    }
    if (zoomed)
      emit said(tr("%1 has too many resources to be looked at from elsewhere: all are shown")
                    .arg(QString::fromStdString(history_.now().node)));
  }
  // Nodes of another view have no meaning elsewhere.
  if (!history_.now().view.is_usual() && chosen_.marked) mark(std::nullopt);
  return go_if_it_fits(std::move(s));
}
void Session::set_bookmarks(std::vector<Bookmark> bookmarks) {
  bookmarks_ = std::move(bookmarks);
  emit view_changed();
}
void Session::mark(std::optional<scene::MarkedArea> area) {
  if (chosen_.marked == area) return;
  chosen_.marked = std::move(area);
  drawn_.marked = chosen_.marked ? scene::place_of(*data_, *chosen_.marked) : scene::Region();
  emit view_changed();
}
void Session::mark_selection() {
  const auto& s = chosen_.selection;
  if (!s || !drawn_.rows.shows(s->node))
    return emit said(tr("select a part first: it is marked, and with another one all that lies between"));
  scene::RowsAndSlices of{drawn_.rows.first_row[s->node], drawn_.rows.last_row[s->node], s->first, s->last};
  if (chosen_.marked) of.add(scene::rows_of(*data_, drawn_.rows, *chosen_.marked));
  auto area = scene::marked_area(*data_, drawn_.rows, of.first_row, of.last_row, of.first, of.last);
  if (!area) return emit said(QString::fromStdString(area.error().message));
  mark(std::move(*area));
}
void Session::set_node(const std::string& path) {
  go(scene::into(history_.now(), path));
}
void Session::show_everything() {
  scene::Subject s = history_.now();
  s.states.clear();
  s.filter = {};
  s.node.clear();
  if (!folding_.search.empty()) search("");
  if (s != history_.now()) go(std::move(s));
}

}  // namespace margay::viewer
