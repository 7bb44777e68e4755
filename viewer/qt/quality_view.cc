#include "quality_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include "paint.h"
#include "picture_table.h"

namespace margay::viewer {

QualityView::QualityView(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), painted_with_(session.palette()) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMinimumSize(160, 120);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName("Gain and loss over p");
  setToolTip(
      tr("gain (complexity that aggregation saves) and loss (information that it hides) of each significant "
         "p; click one, or use "
         "the wheel, < and >\n"
         "dotted: before the largest fall of quality"));
  connect(&session_, &Session::data_changed, this, &QualityView::update_if_other);
  connect(&session_, &Session::view_changed, this, &QualityView::update_if_other);
  connect(&session_, &Session::status_changed, this, &QualityView::update_if_other);
}

void QualityView::update_if_other() {
  if (painted_ != session_.steps() || painted_with_ != session_.palette()) update();
}

QualityPlot QualityView::plot() const {
  return QualityPlot::among_words(rect(), QFontMetricsF(font()), session_.steps());
}

// A pixel is painted as its middle is; the mouse is at its left edge.
double QualityView::middle_of_pixel(double x) const {
  return x + 0.5 / devicePixelRatioF();
}

std::int64_t QualityView::step_at(QPointF at) const {
  const QualityPlot plot = this->plot();
  const QRectF& box = plot.box();
  return at.y() >= box.top() && at.y() <= box.bottom() ? plot.step_at(middle_of_pixel(at.x())) : -1;
}

QString QualityView::details(std::int64_t step) const {
  const scene::Steps& steps = session_.steps();
  const scene::Step& s = steps.steps[static_cast<std::size_t>(step)];
  QString out = "<b>" + step_text(s) + "</b>";
  out += "<br>" + tr("gain %1 bits, %2 of the whole's: complexity that aggregation saves")
                      .arg(QString::number(s.gain, 'g', 4), share_text(s.gain_share));
  out += "<br>" + tr("loss %1 bits, %2 of the whole's: information that it hides")
                      .arg(QString::number(s.loss, 'g', 4), share_text(s.loss_share));
  if (step == steps.current) out += "<br>" + tr("the picture shows this one");
  if (step == steps.jump) out += "<br>" + tr("the last before the largest fall of quality (policy jump)");
  if (!steps.complete) out += "<br><i>" + tr("there may be more steps than are known") + "</i>";
  return out;
}

void QualityView::paintEvent(QPaintEvent*) {
  QPainter p(this);
  const scene::Palette& palette = session_.palette();
  painted_ = session_.steps();
  painted_with_ = palette;
  p.fillRect(rect(), colour_of(palette.background()));
  const QualityPlot plot = this->plot();
  const std::int64_t under_mouse = mouse_ ? step_at(*mouse_) : -1;
  paint_quality(p, plot, session_.steps(), palette, under_mouse);
  paint_quality_words(p, rect(), plot, session_.steps(), palette, under_mouse);
  if (!hasFocus()) return;
  p.setPen(QPen(this->palette().highlight().color(), 1));
  p.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
}

void QualityView::keyPressEvent(QKeyEvent* event) {
  const auto all = static_cast<int>(session_.steps().steps.size());
  switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Down:
      return session_.step_p(-1);
    case Qt::Key_Right:
    case Qt::Key_Up:
      return session_.step_p(1);
    case Qt::Key_Home:
      return session_.step_p(-all);
    case Qt::Key_End:
      return session_.step_p(all);
    default:
      QWidget::keyPressEvent(event);
  }
}

void QualityView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return QWidget::mousePressEvent(event);
  // Also above and below the curves: there is nothing else there to be hit.
  session_.set_step(plot().step_at(middle_of_pixel(event->position().x())));
}

void QualityView::mouseMoveEvent(QMouseEvent* event) {
  mouse_ = event->position();
  update();
}

void QualityView::leaveEvent(QEvent*) {
  mouse_.reset();
  update();
}

void QualityView::wheelEvent(QWheelEvent* event) {
  mouse_.reset();  // the line below is to say where one is, not where the mouse was left
  session_.step_p(event->angleDelta().y() > 0 ? 1 : -1);
  event->accept();
}

void QualityView::tell(const QPoint& at, const QPoint& global) {
  const std::int64_t step = step_at(at);
  if (step < 0) return QToolTip::showText(global, toolTip(), this);
  // Of a step that is left another one is told.
  QToolTip::showText(global, details(step), this,
                     plot().room(static_cast<std::size_t>(step)).toAlignedRect());
}

bool QualityView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  tell(help->pos(), help->globalPos());
  return true;
}

}  // namespace margay::viewer
