// Gain and loss over p, beside the picture: a click takes the step that is drawn there; the wheel, and with
// the focus the arrow keys step, Home and End go to the first and the last. Under the mouse a step is framed,
// its p and parts are below, and the tooltip says the rest.
//
// Thread safety: none; belongs to the thread of the window. Cost: linear in the steps, a paint or a move of
// the mouse each.
#pragma once

#include <QWidget>
#include <cstdint>
#include <optional>

#include "paint_quality.h"
#include "session.h"

namespace margay::viewer {

class QualityView : public QWidget {
  Q_OBJECT

 public:
  explicit QualityView(Session& session, QWidget* parent = nullptr);
  QSize sizeHint() const override { return {240, 170}; }
  // Where its steps are, within the widget.
  QualityPlot plot() const;
  // Of the session's steps, whose room this is; -1: none, or above or below the curves.
  std::int64_t step_at(QPointF at) const;
  // Everything about a step, as rich text. REQUIRES: there is such a step.
  QString details(std::int64_t step) const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  // A window is panned and zoomed far more often than there are other steps.
  void update_if_other();
  double middle_of_pixel(double x) const;
  void tell(const QPoint& at, const QPoint& global);

  Session& session_;
  std::optional<QPointF> mouse_;  // within the widget
  scene::Steps painted_;
  scene::Palette painted_with_;
};

}  // namespace margay::viewer
