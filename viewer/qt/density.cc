#include "density.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "margay/base/text.h"
#include "margay/scene/time_axis.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr double kLeastDrag = 4;  // pixels; what is shorter is a click

}  // namespace

DensityView::DensityView(const scene::EventPages& pages, Session& session, QWidget* parent)
    : QWidget(parent), pages_(pages), session_(session) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setFixedHeight(58);
  setAccessibleName("How many events begin when");
}

void DensityView::set_seen(std::optional<scene::TimeRange> seen) {
  if (seen_ == seen) return;
  seen_ = seen;
  update();
}

TimeNs DensityView::time_at(double x) const {
  const scene::TimeRange& t = pages_.subject().time;
  const double share = std::clamp((x - area().left()) / area().width(), 0.0, 1.0);
  return t.from + DurationNs(static_cast<std::int64_t>(share * static_cast<double>((t.to - t.from).value)));
}

double DensityView::x_of(TimeNs at) const {
  const scene::TimeRange& t = pages_.subject().time;
  if (t.to <= t.from) return area().left();
  const double share = static_cast<double>((at - t.from).value) / static_cast<double>((t.to - t.from).value);
  return area().left() + std::clamp(share, 0.0, 1.0) * area().width();
}

void DensityView::paintEvent(QPaintEvent*) {
  QPainter p(this);
  const scene::Palette& palette = session_.palette();
  p.fillRect(rect(), colour_of(palette.background()));
  const QRectF a = area();
  QColor shade = colour_of(palette.ink());
  shade.setAlpha(30);
  if (seen_)
    p.fillRect(QRectF(QPointF(x_of(seen_->from) - 1, a.top()), QPointF(x_of(seen_->to) + 1, a.bottom())),
               shade);
  const std::vector<std::uint64_t>& density = pages_.density();
  const std::uint64_t most = density.empty() ? 0 : *std::max_element(density.begin(), density.end());
  const double width = a.width() / static_cast<double>(std::max<std::size_t>(density.size(), 1));
  for (std::size_t i = 0; i < density.size() && most > 0; ++i) {
    if (density[i] == 0) continue;
    // What is there is seen, however little it is.
    const double height =
        std::max(1.0, a.height() * static_cast<double>(density[i]) / static_cast<double>(most));
    p.fillRect(QRectF(a.left() + static_cast<double>(i) * width, a.bottom() - height,
                      std::max(1.0, width - 0.5), height),
               colour_of(palette.faint()));
  }
  if (!pages_.density_complete())
    p.fillRect(QRectF(QPointF(x_of(pages_.density_until()), a.top()), a.bottomRight()),
               QBrush(shade, Qt::BDiagPattern));
  if (from_ && to_) {
    shade.setAlpha(50);
    p.fillRect(QRectF(QPointF(*from_, a.top()), QPointF(*to_, a.bottom())).normalized(), shade);
  }
  p.setPen(QPen(colour_of(palette.faint()), 1));
  p.drawLine(a.bottomLeft(), a.bottomRight());
}

void DensityView::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) from_ = event->position().x();
}

void DensityView::mouseMoveEvent(QMouseEvent* event) {
  if (!from_) return;
  if (std::abs(event->position().x() - *from_) >= kLeastDrag) to_ = event->position().x();
  update();
}

void DensityView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !from_) return;
  const auto from = std::exchange(from_, std::nullopt), to = std::exchange(to_, std::nullopt);
  update();
  if (pages_.subject().time.to <= pages_.subject().time.from) return;
  if (to)
    emit chosen({time_at(std::min(*from, *to)), time_at(std::max(*from, *to))});
  else
    emit clicked(time_at(*from));
}

bool DensityView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const std::vector<std::uint64_t>& density = pages_.density();
  QString text = tr("How many events begin when. Drag: only that time; click: the list from there on.");
  if (!density.empty()) {
    const double share = std::clamp((help->pos().x() - area().left()) / area().width(), 0.0, 1.0);
    const auto bin =
        std::min(static_cast<std::size_t>(share * static_cast<double>(density.size())), density.size() - 1);
    const auto edge = [&](std::size_t i) {
      return time_at(area().left() +
                     area().width() * static_cast<double>(i) / static_cast<double>(density.size()));
    };
    text = tr("%1 events begin in %2")
               .arg(text_of(grouped(density[bin])),
                    text_of(scene::range_text({edge(bin), edge(bin + 1)}, session_.times()))) +
           "\n" + text;
  }
  QToolTip::showText(help->globalPos(), text, this);
  return true;
}

}  // namespace margay::viewer
