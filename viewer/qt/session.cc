#include "session.h"

#include <algorithm>
#include <set>

#include "margay/base/text.h"
#include "margay/scene/live_view.h"
#include "margay/scene/statistics.h"
#include "margay/wire/columns.h"

namespace margay::viewer {
namespace {

constexpr int kMostAlerts = 256;
constexpr std::int64_t kShortSlices = 8;   // what is shorter is divided
constexpr std::uint32_t kFineSlices = 64;  // into so many
constexpr int kMostAsked = 2;              // questions a second, by following
constexpr int kMostAskedAgain = 20;        // for what the archive has not yet
constexpr int kCurveShare = 30;  // of the time of a view that follows curves take at most one part of so many
constexpr int kCurveAgain = 2000;  // ms, after a daemon had none
}  // namespace

Session::Session(Link* link, scene::Theme theme, QObject* parent)
    : QObject(parent),
      link_(link),
      palette_(theme),
      data_(std::make_shared<const scene::ViewData>()),
      temporal_(data_) {
  if (auto kept = colours_.read())
    palette_ = scene::Palette(theme, std::move(*kept));
  else
    colours_trouble_ = QString::fromStdString(kept.error().message);
  pace_.setSingleShot(true);
  curve_rest_.setSingleShot(true);
  connect(&curve_rest_, &QTimer::timeout, this, &Session::ask_for_curve);
  connect(&pace_, &QTimer::timeout, this, &Session::ask_if_due);
  if (link_ == nullptr) return;
  connect(link_, &Link::reported, this, &Session::reported);
  connect(link_, &Link::answered, this, &Session::answered);
  connect(link_, &Link::said, this, &Session::said);
  connect(link_, &Link::silences_known, this, &Session::silences_known);
  connect(link_, &Link::listed, this, &Session::listed);
  connect(link_, &Link::summed, this, &Session::take_sums);
  connect(link_, &Link::waits_known, this, &Session::waits_known);
  connect(link_, &Link::not_listed, this, &Session::not_listed);
  connect(link_, &Link::refused, this, [this](quint64 token, const QString& why) {
    if (beside_.is(token)) return refuse_beside(why);
    if (whole_run_.refused(token)) return ask_if_due();
    if (token == curve_token_) {
      curve_token_ = 0;
      return curve_rest_.start(kCurveAgain), ask_beside_if_free();
    }
    if (token != asked_token_ && token != temporal_token_) return;
    // There is no picture of where one wanted to go: back to the one there is.
    if (token == asked_token_ && std::exchange(shown_, std::nullopt)) emit view_changed();
    // What cannot be measured would be refused again and again, wherever one goes from here.
    if (token == asked_token_ && !data_->empty() && subject().measure != data_->question.measure()) {
      scene::Subject s = history_.now();
      s.measure = data_->question.measure();
      history_.replace(std::move(s));
    }
    waiting_ = false;
    emit status_changed();
    emit said(why);
    ask_if_due();
  });
  connect(link_, &Link::changed, this, [this](bool there, const QString& why) {
    const bool back = there && !there_;
    there_ = there;
    trouble_ = why;
    // What it says of the same stretch may be more than the one before knew.
    if (back) curve_token_ = 0, beside_.lost(), temporal_of_.reset(), whole_run_.ask_anew(), ask();
    emit status_changed();
  });
  connect(this, &Session::status_changed, this, &Session::ask_beside_if_free);
  connect(this, &Session::view_changed, this, &Session::ask_beside_if_free);
  link_->start();
}

std::optional<scene::TimeRange> Session::bounds() const {
  if (!report_) return std::nullopt;
  if (report_->has_replay())
    return scene::TimeRange{TimeNs(report_->replay().begin_ns()), TimeNs(report_->replay().end_ns())};
  return scene::TimeRange{TimeNs(report_->run_begin_ns()), TimeNs(report_->watermark_ns())};
}

// The picture comes first, then its temporal partition and at last the curve, which takes the longest; of a
// stretch whose curve is known already it costs the daemon nothing.
void Session::ask(bool curve) {
  if (show_report()) return;
  if (link_ == nullptr) {
    emit status_changed();
    return;
  }
  due_ = false;
  // The time line and the curve of the picture before come too late.
  temporal_token_ = curve_token_ = 0;
  asked_slice_ = report_ ? report_->slice_index() : -1;
  asked_token_ = link_->next_token();
  waiting_ = true;
  curve_ = curve;
  send(scene::question_of(asked_for(), asked_token_, curve_));
  pace_.start(1000 / kMostAsked);
  emit status_changed();
}

void Session::ask(wire::EventsQuestion question) {
  if (link_ != nullptr) link_->ask(std::move(question));
}

// Of the picture. What is beside it may have been waiting where this goes, and is gone then.
void Session::send(wire::ViewQuestion question) {
  beside_.lost();
  link_->ask(std::move(question));
}

// Of a picture that stays, where it was left out while the run went on.
void Session::ask_for_curve() {
  if (link_ == nullptr || waiting_ || data_->empty() || data_->question.curve()) return;
  // Of a report that is held the archive need not have the newest slices yet; the curve there is will do.
  if (of_report()) return follows() ? ask_for_live_curve() : void();
  waiting_ = curve_ = true;
  curve_took_.start();
  asked_token_ = link_->next_token();
  send(scene::question_of(of_the_picture(), asked_token_, true));
  emit status_changed();
}

// The archive's newest slices: so near to those of the report that nobody sees it in a curve.
void Session::ask_for_live_curve() {
  if (link_ == nullptr || curve_token_ != 0 || whole_run_.under_way() || curve_rest_.isActive()) return;
  scene::Subject s = history_.now();
  s.slices = static_cast<std::uint32_t>(data_->slices());
  s.p = data_->p;
  curve_token_ = link_->next_token();
  curve_took_.start();
  send(scene::question_of(s, curve_token_, true));
}

// The newest report's partition, where that is what is looked at; false: it has to be asked for.
bool Session::show_report() {
  if (!report_ || !follows() || !scene::is_live(history_.now(), *report_)) return false;
  if (pictured_ != report_) {
    auto picture = scene::live_view_untrusted(*report_);
    auto temporal = scene::live_view_untrusted(*report_, scene::LivePart::kTimeLine);
    if (!picture || !temporal) return false;
    picture->token = link_ != nullptr ? link_->next_token() : data_->token + 1;
    temporal_ = std::make_shared<const scene::ViewData>(std::move(*temporal));
    steps_.time = {};
    temporal_of_.reset();
    take(std::make_shared<const scene::ViewData>(std::move(*picture)));
    pictured_ = report_;
    emit data_changed();
  }
  // What was asked for on the way here comes too late.
  asked_token_ = temporal_token_ = 0;
  due_ = waiting_ = false;
  shown_.reset();
  emit view_changed();
  emit status_changed();
  ask_for_live_curve();
  return true;
}

// Not while an answer is waited for: a daemon that takes longer than the pace would never be heard out.
void Session::ask_if_due() {
  ask_for_whole_run();
  if (due_ && !waiting_ && !whole_run_.under_way() && !pace_.isActive()) ask();
  ask_beside_if_free();
}

scene::Subject Session::of_the_picture() const {
  scene::Subject s = history_.now();
  if (data_->empty()) return s;
  s.time = data_->range();
  s.slices = static_cast<std::uint32_t>(data_->slices());
  return with_calls(std::move(s));
}

scene::Subject Session::with_calls(scene::Subject s) const {
  const bool part = s.time && bounds() && *s.time != *bounds();
  s.visits = look_.calls == Calls::kAlways || (look_.calls == Calls::kCloser && part) ? kMostCalls : 0;
  // Slices of the run would widen what is hardly longer than they are.
  if (s.visits > 0 && s.slices == 0 && s.time && report_ &&
      s.time->to - s.time->from < DurationNs(report_->slice_ns()) * kShortSlices)
    s.slices = kFineSlices;
  return s;
}

// That is zoomed into: calls are shorter than slices.
DurationNs Session::shortest() const {
  return report_ && look_.calls == Calls::kNever ? DurationNs(report_->slice_ns()) : DurationNs(1000);
}

void Session::set_calls(Calls calls) {
  if (std::exchange(look_.calls, calls) != calls && !data_->empty()) ask();
}

void Session::set_messages(bool shown) {
  if (std::exchange(look_.messages, shown) != shown) emit view_changed();
}

void Session::set_bands(bool shown) {
  if (std::exchange(look_.bands, shown) != shown) emit view_changed();
}

scene::Subject Session::asked_for() const {
  if (const auto replayed = replayed_time()) {
    scene::Subject s = history_.now();
    s.time = replayed;
    return s;
  }
  return held_ && !history_.now().time ? of_the_picture() : with_calls(history_.now());
}

void Session::show(ViewPtr data) {
  shown_.reset();
  take(std::move(data));
  emit data_changed();
  emit view_changed();
}

void Session::take(ViewPtr data) {
  pictured_.reset();
  chosen_.selection = selected_in(*data);
  data_ = std::move(data);
  learn(data_->states);
  if (!data_->attributes.empty()) known_.views = {data_->views, data_->attributes};
  drawn_.collectives = scene::collectives(*data_);
  drawn_.marked = chosen_.marked ? scene::place_of(*data_, *chosen_.marked) : scene::Region();
  // The curve there was stays until the new one is there.
  if (!data_->curve.empty() || data_->question.curve()) steps_.picture = scene::steps_of(*data_);
  steps_.picture.current = scene::step_at(steps_.picture, data_->p);
  make_rows();
  show_target();
}

// A selection stays with who and when it is of, as far as that is in the next picture: of a run that is
// followed another one comes twice a second.
std::optional<Session::Selection> Session::selected_in(const scene::ViewData& next) const {
  if (!chosen_.selection || data_->empty() || next.empty()) return std::nullopt;
  const scene::ViewData& now = *data_;
  const std::int64_t node = scene::same_node(now, chosen_.selection->node, next);
  if (node < 0) return std::nullopt;
  Selection out{static_cast<std::uint32_t>(node), 0, static_cast<std::uint32_t>(next.slices())};
  if (chosen_.selection->first == 0 && chosen_.selection->last == now.slices()) return out;
  const TimeNs from = now.boundaries[chosen_.selection->first], to = now.boundaries[chosen_.selection->last];
  if (to <= next.range().from || from >= next.range().to) return std::nullopt;
  out.first = static_cast<std::uint32_t>(next.slice_at(from));
  out.last = static_cast<std::uint32_t>(next.slice_at(TimeNs(to.value - 1)) + 1);
  return out;
}

// Of a picture that was drawn without it.
void Session::take_curve(const scene::ViewData& of) {
  curve_token_ = 0;
  if (!of_report()) return;
  steps_.picture = scene::steps_of(of);
  steps_.picture.current = scene::step_at(steps_.picture, data_->p);
  rest_from_curves();
  emit view_changed();
}

void Session::rest_from_curves() {
  curve_rest_.start(static_cast<int>(std::min<qint64>(curve_took_.elapsed(), 10'000)) * kCurveShare);
  curve_took_.invalidate();
}

void Session::answered(const ViewPtr& data) {
  if (beside_.is(data->token)) return take_beside(data);
  if (whole_run_.answered(data->token)) {
    if (data->temporal && !data->empty()) show_whole_run(data);
    return ask_if_due();
  }
  if (data->token == curve_token_) return take_curve(*data);
  if (data->token == temporal_token_ && data->temporal) {
    temporal_ = data;
    temporal_of_ = temporal_asked_;
    steps_.time = scene::steps_of(*data);
    steps_.time.current = scene::step_at(steps_.time, data->p);
    emit data_changed();
    return temporal_is_there();
  }
  if (data->token != asked_token_) {
    // Of where one was on the way: nearer than what is there, and seen from where one is now.
    if (shown_ && !data->temporal && data->token > data_->token) {
      const auto target = std::exchange(target_, std::nullopt);
      take(data);
      target_ = target;
      emit data_changed();
      emit view_changed();
    }
    return;
  }
  show(data);
  if (lacks_the_newest(*data) && asked_again_ < kMostAskedAgain) {
    ++asked_again_;
    due_ = true;
    waiting_ = false;
    emit status_changed();
    return ask_if_due();
  }
  if (data->question.curve() && curve_took_.isValid()) rest_from_curves();
  // The time line is of the same stretch, at the same p if it has none of its own: the same question, once
  // more.
  scene::Subject alike = of_the_picture();
  alike.cuts = wire::ViewQuestion::TEMPORAL;
  alike.p = alike.time_p.value_or(data->p);
  alike.policy.clear();
  if (alike == temporal_of_) return temporal_is_there();  // the curve came
  temporal_asked_ = alike;
  temporal_token_ = link_->next_token();
  send(scene::question_of(alike, temporal_token_, alike.time_p.has_value()));
}

// What a report has shown comes into the archive with the next commit.
bool Session::lacks_the_newest(const scene::ViewData& answer) const {
  const std::optional<scene::TimeRange>& asked = history_.now().time;
  return report_ && asked && asked->to.value <= report_->watermark_ns() &&
         asked->to.value - answer.range().to.value >= report_->slice_ns();
}

void Session::temporal_is_there() {
  // Pictures of a run that goes on are not kept waiting for a curve that nobody has time to read.
  if (follows() && curve_rest_.isActive()) curve_ = true;
  if (!std::exchange(curve_, true)) {
    curve_took_.start();
    asked_token_ = link_->next_token();
    send(scene::question_of(of_the_picture(), asked_token_, true));
  } else {
    waiting_ = false;
    emit status_changed();
  }
  ask_if_due();
}

void Session::reported() {
  if (ReportPtr report = link_->take_report()) take(std::move(report));
}

void Session::take(ReportPtr report) {
  const bool another =
      report_ && (report->run() != report_->run() || report->run_begin_ns() != report_->run_begin_ns());
  report_ = std::move(report);
  alerts_ = terminal::read_alerts(*report_, kMostAlerts);
  if (another) {
    known_ = {};
    whole_run_.ask_anew();
    whole_run_.show(nullptr);
    emit whole_run_changed();
    held_ = false;
    reset();
    choose_alert({});
    emit said(tr("this is another run now: %1").arg(QString::fromStdString(report_->run())));
  }
  // Of all that a program could do those that somebody does now.
  std::set<std::uint32_t> done;
  for (const wire::NodeBar& n : report_->nodes())
    for (const wire::StateShare& share : n.shares()) done.insert(share.state());
  std::vector<scene::State> states;
  for (const std::uint32_t s : done) {
    if (s >= static_cast<std::uint32_t>(report_->states_size())) continue;
    const wire::Name& n = report_->states(static_cast<int>(s));
    const auto family = static_cast<int>(n.family());
    if (n.name().size() <= scene::kLongestName)
      states.push_back({clean_utf8(n.name()), wire::StateFamily_IsValid(family)
                                                  ? static_cast<wire::StateFamily>(family)
                                                  : wire::FAMILY_OTHER});
  }
  const bool more = learn(states);
  // Whoever hears of it may choose what is looked at: then that is all that is asked.
  emit report_changed();
  if (more) emit view_changed();
  if (show_report()) return ask_for_whole_run();
  due_ = due_ || (follows() && report_->slice_index() != asked_slice_) || data_->empty();
  ask_if_due();
}

void Session::make_rows() {
  drawn_.rows = scene::rows_of(*data_, folding_);
  scroll_ = scene::within(drawn_.rows, scroll_);
}

// What is seen moves at once, and is drawn from what is there.
void Session::moved(const std::optional<scene::TimeRange>& before) {
  const auto& now = history_.now().time;
  if (now != before) shown_ = now;
  asked_again_ = 0;
  ask();
  emit view_changed();
}
void Session::go(scene::Subject subject) {
  // What is held is come back to as it was, not as the run has gone on since.
  if (held_) history_.replace(asked_for());
  drifting_ = false;
  const auto before = history_.now().time;
  history_.go(std::move(subject));
  moved(before);
}
// A wheel's notches and the arrow keys are one step to go back, however many.
void Session::drift(scene::Subject subject) {
  if (subject == history_.now()) return;
  if (!drifting_) {
    go(std::move(subject));
    drifting_ = true;
    return;
  }
  const auto before = history_.now().time;
  history_.replace(std::move(subject));
  moved(before);
}
void Session::back() {
  drifting_ = false;
  const auto before = history_.now().time;
  history_.back();
  moved(before);
}
void Session::forward() {
  drifting_ = false;
  const auto before = history_.now().time;
  history_.forward();
  moved(before);
}
void Session::reset() {
  drifting_ = false;
  const auto before = history_.now().time;
  history_.reset();
  folding_ = {};
  scroll_ = {};
  make_rows();
  moved(before);
}
void Session::whole() {
  scene::Subject s = history_.now();
  s.node.clear();
  const auto all = bounds();
  if (all && all->from < all->to) s.time = all;
  scroll_ = {};
  go(std::move(s));
}
void Session::zoom_to(scene::TimeRange range) {
  const DurationNs least = shortest();
  go(scene::zoomed_to(history_.now(), range, least));
}
void Session::zoom_by(double factor, TimeNs about) {
  const DurationNs least = shortest();
  drift(scene::zoomed_by(history_.now(), time(), factor, about, bounds(), least));
}
void Session::slide_to(scene::TimeRange range, bool first) {
  const DurationNs least = shortest();
  if (first) drifting_ = false;
  drift(scene::zoomed_to(history_.now(), range, least));
}
void Session::pan_by(double share) {
  drift(scene::panned_by(history_.now(), time(), share, bounds()));
}
void Session::into(std::uint32_t node) {
  if (node < data_->nodes.size()) go(scene::into(history_.now(), data_->nodes[node].path));
}
void Session::into(const Selection& s) {
  if (s.node >= data_->nodes.size() || s.first >= s.last || s.last > data_->slices()) return;
  scene::Subject next = history_.now();
  // What has the whole picture's time can be followed further.
  if (s.first > 0 || s.last < data_->slices())
    next = scene::zoomed_to(std::move(next), {data_->boundaries[s.first], data_->boundaries[s.last]});
  const scene::Node& n = data_->nodes[s.node];
  if (n.leaf_count > 1) next = scene::into(std::move(next), n.path);
  go(std::move(next));
}
void Session::up() {
  go(scene::up(history_.now()));
}
void Session::follow() {
  held_ = false;
  go(scene::following(history_.now()));
}
void Session::hold(bool held) {
  held_ = held;
  held_ ? ask_for_curve() : ask();
  emit status_changed();
}
void Session::set_p(double p) {
  scene::Subject s = history_.now();
  s.p = p;
  s.policy.clear();
  history_.replace(std::move(s));
  ask(history_.now().time || held_);
}
void Session::set_policy(const std::string& policy) {
  scene::Subject s = history_.now();
  s.p.reset();
  s.policy = policy;
  history_.replace(std::move(s));
  ask(history_.now().time || held_);
}
void Session::step_p(int by) {
  const std::int64_t step = scene::next_step(steps(), steps().current, by);
  if (step != steps().current) set_step(step);
}
void Session::set_step(std::int64_t step) {
  scene::Steps& of = look_.steps_of_time ? steps_.time : steps_.picture;
  if (step < 0 || step >= static_cast<std::int64_t>(of.steps.size())) return;
  of.current = step;  // so that quick steps add up
  const double p = of.steps[static_cast<std::size_t>(step)].ask;
  look_.steps_of_time ? set_time_p(p) : set_p(p);
}
void Session::set_slices(std::uint32_t slices) {
  scene::Subject s = history_.now();
  s.slices = slices;
  go(std::move(s));
}
void Session::set_level(DurationNs level) {
  scene::Subject s = history_.now();
  s.level = level;
  go(std::move(s));
}
void Session::toggle_fold(std::uint32_t node) {
  scene::toggle(folding_, *data_, node);
  make_rows();
  emit view_changed();
}
void Session::set_folding(scene::Folding folding) {
  folding_ = std::move(folding);
  make_rows();
  emit view_changed();
}
void Session::search(const std::string& text) {
  folding_.search = text;
  scroll_ = {};
  make_rows();
  emit view_changed();
}
void Session::select(std::optional<Selection> selection) {
  if (chosen_.selection == selection) return;
  chosen_.selection = selection;
  emit view_changed();
}
void Session::set_threshold(double pixels) {
  pixels =
      pixels >= scene::kLeastThreshold ? std::min(pixels, scene::kMostThreshold) : scene::kLeastThreshold;
  if (std::exchange(look_.threshold, pixels) != pixels) emit view_changed();
}
void Session::set_scroll(scene::Scroll scroll) {
  scroll_ = scene::within(drawn_.rows, scroll);
  emit view_changed();
}

}  // namespace margay::viewer
