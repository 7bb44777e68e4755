// How many events of a list begin when: bars over the stretch that is looked at. What was not read yet is
// hatched; the rows in sight are shaded.
//
// Thread safety: none; belongs to the thread of the window. Cost of painting: linear in the bars.
#pragma once

#include <QWidget>
#include <optional>

#include "margay/scene/event_pages.h"
#include "session.h"

namespace margay::viewer {

class DensityView : public QWidget {
  Q_OBJECT

 public:
  // Shows `pages`, which must outlive it.
  DensityView(const scene::EventPages& pages, Session& session, QWidget* parent = nullptr);
  // The rows in sight are of this time.
  void set_seen(std::optional<scene::TimeRange> seen);
  QSize sizeHint() const override { return {400, 58}; }

 signals:
  void chosen(margay::scene::TimeRange range);  // dragged
  void clicked(margay::TimeNs at);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRectF area() const { return QRectF(rect()).adjusted(1, 2, -1, -1); }
  TimeNs time_at(double x) const;
  double x_of(TimeNs t) const;

  const scene::EventPages& pages_;
  Session& session_;
  std::optional<scene::TimeRange> seen_;
  std::optional<double> from_, to_;  // that are dragged
};

}  // namespace margay::viewer
