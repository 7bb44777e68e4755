// `--picture curve`: gain and loss of all significant p, over p.
#include "margay/scene/time_axis.h"
#include "paint.h"
#include "paint_quality.h"
#include "picture_kind.h"

namespace margay::viewer {
namespace {

constexpr double kShareColumn = 56;  // the column of shares, at the left
constexpr double kSample = 28;       // of a line, in the legend
constexpr int kShareLines = 4;
constexpr double kRightSpace = 8;

QString lacks_curve(const Session& session) {
  if (!session.steps().steps.empty()) return {};
  return QObject::tr(
      "--picture curve: there are no significant p of this stretch: choose another one (--from, --to), or "
      "fewer slices (--slices)");
}

void draw_share_lines(QPainter& p, const QRectF& box, const scene::Palette& palette) {
  const double line = QFontMetricsF(p.font()).height();
  for (int i = 0; i <= kShareLines; ++i) {
    const double y = box.bottom() - box.height() * i / kShareLines;
    p.setPen(QPen(colour_of(palette.faint()), 1));
    p.drawLine(QPointF(box.left() - 5, y), QPointF(box.right(), y));
    p.setPen(colour_of(palette.ink()));
    p.drawText(QRectF(box.left() - kShareColumn, y - line / 2, kShareColumn - 8, line), Qt::AlignRight,
               QString("%1 %").arg(100 * i / kShareLines));
  }
}

// Two columns of two lines.
void draw_curve_legend(QPainter& p, const QRectF& area, const Session& session) {
  const scene::Steps& steps = session.steps();
  const scene::Palette& palette = session.palette();
  const QFontMetricsF metrics(p.font());
  const double line = metrics.height() + 3, half = area.width() / 2;
  const scene::Step& whole = steps.steps.back();
  const auto entry = [&](int column, int row, const QString& text) {
    const QRectF box(area.left() + column * half, area.top() + row * line, half, line);
    p.setPen(colour_of(palette.ink()));
    p.drawText(box.adjusted(kSample + 6, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
               metrics.elidedText(text, Qt::ElideRight, half - kSample - 10));
    return QRectF(box.left(), box.top(), kSample, box.height());
  };
  const auto sample = [&](const QRectF& box, const QPen& pen) {
    p.setPen(pen);
    p.drawLine(QPointF(box.left(), box.center().y()), QPointF(box.right(), box.center().y()));
  };
  sample(
      entry(
          0, 0,
          QObject::tr("gain: complexity that aggregation saves; 100 %: %1 bits").arg(whole.gain, 0, 'g', 4)),
      gain_pen(palette));
  sample(
      entry(0, 1, QObject::tr("loss: information that it hides; 100 %: %1 bits").arg(whole.loss, 0, 'g', 4)),
      loss_pen(palette));
  if (steps.current >= 0) {
    // Where not all steps are known, the partition may be one between two of them.
    const scene::Step& current = steps.steps[static_cast<std::size_t>(steps.current)];
    const QRectF box = entry(1, 0,
                             QObject::tr("shown: p %1, %2 parts; this step: %3")
                                 .arg(text_of(scene::p_text(session.data().p)))
                                 .arg(session.data().parts.size())
                                 .arg(step_text(current)));
    p.fillRect(box.adjusted(0, 3, 0, -3), current_shade(palette));
  }
  if (steps.jump >= 0)
    sample(
        entry(
            1, 1,
            QObject::tr("policy jump: %1").arg(step_text(steps.steps[static_cast<std::size_t>(steps.jump)]))),
        jump_pen(palette));
}

void paint_curve_picture(QPainter& p, const QSizeF& size, const Session& session, const QString& title) {
  const scene::ViewData& data = session.data();
  const scene::Steps& steps = session.steps();
  QStringList head{QString(), QString()};
  if (!data.empty() && !steps.steps.empty())
    head = {head_of(title, session),
            QObject::tr("gain and loss of %1 significant p%2: %3")
                .arg(steps.steps.size())
                .arg(steps.complete ? QString() : QObject::tr(" (there may be more)"), measured_of(data))};
  const QRectF page = paint_page(p, size, session, head);
  if (page.isEmpty()) return;
  const QFontMetricsF metrics(p.font());
  if (steps.steps.empty()) return p.drawText(page, Qt::AlignCenter, QObject::tr("no curve yet"));
  const double below = QualityPlot::axis_height(metrics) + metrics.height() + 2 * (metrics.height() + 3) + 8;
  const QRectF box = page.adjusted(kShareColumn, metrics.height() / 2, -kRightSpace, -below);
  const QualityPlot plot(box, steps);
  draw_share_lines(p, box, session.palette());
  paint_quality(p, plot, steps, session.palette());
  const QRectF axis(box.left(), box.bottom() + QualityPlot::axis_height(metrics), box.width(),
                    metrics.height());
  p.setPen(colour_of(session.palette().ink()));
  p.drawText(axis, Qt::AlignCenter,
             metrics.elidedText(
                 QObject::tr("p: 0 is all detail, 1 is one part; each step has some of the axis for itself"),
                 Qt::ElideRight, axis.width()));
  draw_curve_legend(p, {box.left(), axis.bottom() + 4, box.width(), 2 * (metrics.height() + 3)}, session);
}

}  // namespace

PictureKind picture_curve() {
  PictureKind kind;
  kind.curve = true;
  kind.lacks = lacks_curve;
  kind.paint = paint_curve_picture;
  kind.csv = [](const Session& session) { return scene::curve_csv(session.steps()); };
  return kind;
}

}  // namespace margay::viewer
