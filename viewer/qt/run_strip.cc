#include "run_strip.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "margay/scene/times.h"
#include "paint.h"
#include "sheet.h"

namespace margay::viewer {
namespace {

constexpr int kStripHeight = 34;
constexpr double kAbove = 4, kBelow = 4;       // pixels, round the strip
constexpr double kPhases = 4, kAlertMark = 4;  // pixels, high
constexpr double kNarrowestMark = 2;
constexpr double kLeastBar = 3;      // pixels: smaller shares are hatched together
constexpr double kLeastDragged = 4;  // what is shorter is a click
constexpr double kWheelNotch = 0.8;
constexpr int kUnseen = 150;  // of 255: how much of the ground lies over what is not seen

}  // namespace

RunStrip::RunStrip(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setFixedHeight(kStripHeight);
  setAccessibleName(tr("The whole run, and what of it is seen"));
  connect(&session_, &Session::whole_run_changed, this, [this] {
    bars_.clear();
    if (const ViewPtr& all = session_.whole_run())
      bars_ = scene::temporal_bars(*all, {0, kLeastBar / std::max(1.0, area().height())});
    update();
  });
  // A run that is followed changes its view with each report.
  for (const auto signal : {&Session::data_changed, &Session::view_changed, &Session::report_changed})
    connect(&session_, signal, this, &RunStrip::look);
}

QSize RunStrip::sizeHint() const {
  return {400, kStripHeight};
}

QRectF RunStrip::area() const {
  const double left = Sheet(rect()).picture.left();
  return {left, kAbove, std::max(1.0, width() - left), kStripHeight - kAbove - kBelow};
}

scene::Strip RunStrip::strip() const {
  if (drag_) return drag_->strip;
  return {session_.bounds().value_or(scene::TimeRange{}), area().width()};
}

TimeNs RunStrip::time_at(double x) const {
  return scene::time_at(strip(), x - area().left());
}

scene::Grip RunStrip::grip_at(QPointF at) const {
  return scene::grip_at(strip(), session_.time(), at.x() - area().left());
}

QRectF RunStrip::frame() const {
  const scene::Frame f = scene::frame_of(strip(), session_.time());
  return area().adjusted(f.from, 0, f.to - area().width(), 0);
}

RunStrip::Seen RunStrip::seen() const {
  const double pixel = 1 / devicePixelRatioF();
  const auto whole = [pixel](double x) { return std::round(x / pixel); };
  Seen out;
  const scene::Strip s = strip();
  const scene::Frame f = scene::frame_of(s, session_.time());
  out.frame = {whole(f.from), whole(f.to)};
  if (const ViewPtr& all = session_.whole_run())
    out.known = whole(scene::frame_of(s, {s.run.from, all->range().to}).to);
  if (const wire::Report* r = session_.report()) out.phases = static_cast<std::size_t>(r->phases_size());
  out.alerts = session_.alerts().size();
  for (const terminal::AlertView& a : session_.alerts()) out.firing += a.firing ? 1 : 0;
  const scene::Palette& palette = session_.palette();
  out.theme = palette.theme();
  out.hues = palette.hues();
  out.given = palette.overrides();
  out.states = session_.states().size();
  return out;
}

void RunStrip::look() {
  if (seen() != seen_) update();
}

void RunStrip::paintEvent(QPaintEvent*) {
  ++painted_;
  seen_ = seen();
  const scene::Palette& palette = session_.palette();
  QPainter p(this);
  p.fillRect(rect(), colour_of(palette.background()));
  const scene::Strip s = strip();
  if (!(s.run.from < s.run.to)) return;
  const QRectF a = area();
  p.setPen(colour_of(palette.ink()));
  p.drawText(QRectF(0, a.top(), a.left() - 8, a.height()), Qt::AlignRight | Qt::AlignVCenter,
             tr("whole run"));
  const QRectF bars = a.adjusted(0, kPhases, 0, -kAlertMark);
  if (const ViewPtr& all = session_.whole_run()) {
    paint_bars(p, bars, *all, bars_, s.run, palette);
    hatch_beyond(p, bars, all->range(), s.run, palette);
  } else {
    hatch_beyond(p, bars, {s.run.from, s.run.from}, s.run, palette);
  }
  paint_marks(p, s);
  paint_frame(p);
}

// Phases above, alerts below.
void RunStrip::paint_marks(QPainter& p, const scene::Strip& s) {
  const scene::Palette& palette = session_.palette();
  const QRectF a = area();
  const auto mark = [&](TimeNs from, TimeNs to, double top, double height, double least, const QColor& ink) {
    if (to <= s.run.from || from >= s.run.to) return;
    const scene::Viewport view{a.width(), 1, s.run, {0, 1}};
    const double x0 = std::clamp(scene::x_of(view, from), 0.0, a.width() - least);
    const double x1 = std::clamp(scene::x_of(view, to), x0 + least, a.width());
    p.fillRect(QRectF(a.left() + x0, top, x1 - x0, height), ink);
  };
  for (const scene::PhaseStretch& phase : phases_of(session_))
    mark(phase.from, phase.to, a.top(), kPhases - 1, 0, phase_colour(phase.longest, palette));
  for (const terminal::AlertView& alert : session_.alerts()) {
    const TimeNs end = alert.end_ns && !alert.firing ? TimeNs(*alert.end_ns) : session_.now();
    mark(TimeNs(alert.onset_ns), std::max(end, TimeNs(alert.onset_ns + 1)), a.bottom() - kAlertMark + 1,
         kAlertMark - 1, kNarrowestMark, alert_colour(palette));
  }
}

void RunStrip::paint_frame(QPainter& p) {
  if (session_.data().empty()) return;
  const scene::Palette& palette = session_.palette();
  const QRectF a = area(), f = frame();
  QColor veil = colour_of(palette.background());
  veil.setAlpha(kUnseen);
  p.fillRect(QRectF(a.topLeft(), QPointF(f.left(), a.bottom())), veil);
  p.fillRect(QRectF(QPointF(f.right(), a.top()), a.bottomRight()), veil);
  p.setPen(QPen(colour_of(palette.ink()), 1));
  p.setBrush(Qt::NoBrush);
  p.drawRect(f.adjusted(0.5, -0.5, -0.5, 0.5));
  // What can be taken hold of.
  for (const double x : {f.left(), f.right() - 3})
    p.fillRect(QRectF(x, a.center().y() - 6, 3, 12), colour_of(palette.ink()));
}

QStringList RunStrip::mouse() {
  return {tr("drag the frame in the strip of the whole run|another time"),
          tr("drag an edge of the frame|more or less of the time"), tr("drag beside the frame|see that time"),
          tr("click in the strip|bring that time into the middle")};
}

void RunStrip::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::BackButton || event->button() == Qt::RightButton) return session_.back();
  if (event->button() == Qt::ForwardButton) return session_.forward();
  const scene::Strip s = strip();
  if (event->button() != Qt::LeftButton || session_.data().empty() || !(s.run.from < s.run.to)) return;
  const double x = event->position().x();
  if (x < area().left() - scene::kGrip) return;
  drag_ = Drag{x, time_at(x), grip_at(event->position()), session_.time(), s, false};
}

void RunStrip::mouseMoveEvent(QMouseEvent* event) {
  if (!drag_) return show_cursor(event->position());
  const double x = event->position().x();
  if (!drag_->moved && std::abs(x - drag_->x) < kLeastDragged) return;
  const scene::TimeRange range =
      scene::dragged(drag_->strip, drag_->seen, drag_->grip, drag_->from, time_at(x));
  if (range.from < range.to) session_.slide_to(range, !std::exchange(drag_->moved, true));
}

void RunStrip::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !drag_) return;
  const Drag drag = *std::exchange(drag_, std::nullopt);
  if (!drag.moved) session_.slide_to(scene::centred(drag.strip, drag.seen, drag.from), true);
  show_cursor(event->position());
  look();
}

void RunStrip::show_cursor(QPointF at) {
  const scene::Grip grip = grip_at(at);
  const bool edge = grip == scene::Grip::kBegin || grip == scene::Grip::kEnd;
  setCursor(edge ? Qt::SizeHorCursor : grip == scene::Grip::kInside ? Qt::OpenHandCursor : Qt::ArrowCursor);
}

void RunStrip::wheelEvent(QWheelEvent* event) {
  const double notches = (event->angleDelta().y() + event->angleDelta().x()) / 120.0;
  if (!session_.data().empty())
    session_.zoom_by(std::pow(kWheelNotch, notches), time_at(event->position().x()));
  event->accept();
}

void RunStrip::showEvent(QShowEvent*) {
  session_.look_at_whole_run(true);
}
void RunStrip::hideEvent(QHideEvent*) {
  session_.look_at_whole_run(false);
}

bool RunStrip::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const scene::Times times = session_.times();
  const TimeNs at = time_at(help->pos().x());
  const auto told = [&times](TimeNs t) { return text_of(scene::short_time_text(t, times)); };
  QStringList lines{tr("%1; the run: %2 to %3").arg(told(at), told(strip().run.from), told(strip().run.to))};
  for (const scene::PhaseStretch& phase : phases_of(session_))
    if (phase.from <= at && at < phase.to) lines << tr("phase %1").arg(text_of(scene::phase_text(phase)));
  lines << tr("Drag the frame: another time; an edge of it: more or less; click: that time in the middle.");
  QToolTip::showText(help->globalPos(), lines.join("\n"), this);
  return true;
}

}  // namespace margay::viewer
