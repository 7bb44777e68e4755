// The overview: hierarchy at the left, time x hierarchy beside it, a time axis below; the temporal overview
// and the ribbons of phases share its time range.
//
// Mouse: drag a stretch of time to zoom into it, wheel zooms in time, with Ctrl in space, with Shift scrolls;
// double click goes into the aggregate; right click goes back. Keys are the window's.
#pragma once

#include <QImage>
#include <QWidget>
#include <optional>

#include "session.h"
#include "sheet.h"
#include "time_line.h"
#include "view.h"

namespace margay::viewer {

class Overview : public View {
  Q_OBJECT

 public:
  explicit Overview(Session& session, QWidget* parent = nullptr);
  QStringList mouse() const override;
  QString save(const QString& path, const QString& title) override;
  // Everything about an aggregate, as rich text.
  QString details(const scene::Rect& rect) const;
  // Of the picture's visit of that index.
  QString details(std::size_t visit, TimeNs time) const;
  QString annotations(std::uint32_t node, TimeNs time) const;
  // Where everything is within the widget; and of that the picture.
  Sheet sheet() const;
  QRectF picture_area() const;
  const scene::Layout& shown() const { return layout_; }
  // By keyboard: the first call is where the selection begins, the second says how far from there.
  void measure_from_selection();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  TimeNs time_at(double x) const;
  void lay_out();
  void select_below(QPointF at);
  std::int64_t rect_at(QPointF at) const;
  std::int64_t call_at(QPointF at) const;
  std::optional<BelowPicture> below_at(QPointF at) const;
  void paint_picture(QPainter& p);
  void keep_picture(QSize pixels);
  void paint_marks(QPainter& p);
  void paint_badge(QPainter& p);
  void paint_measure(QPainter& p);
  void paint_drag(QPainter& p);
  QRectF dragged() const;
  void mark(QPointF from, QPointF to);
  void paint_flags(QPainter& p);
  QString measured_text(double from, double to) const;
  const Session::Bookmark* flag_at(QPointF at) const;
  QString empty_text() const;
  QString collective_text(std::size_t visit) const;

  scene::Layout layout_;
  std::vector<scene::Bar> bars_;
  scene::Gantt calls_;
  NameCache names_;
  // All but what follows the mouse. What is new is painted into the window and needs no copy; this is for
  // what follows, until the next change.
  QImage picture_;
  bool kept_ = false;       // it is of what is shown now
  std::size_t levels_ = 0;  // coarser ones that have a ribbon
  bool stale_ = true, stale_bars_ = true, stale_picture_ = true;
  std::optional<QPointF> mouse_;  // where it is, within the widget
  std::int64_t hover_ = -1;
  std::optional<QPointF> drag_from_, drag_to_;
  enum class Drag { kZoom, kMeasure, kMark } drag_ = Drag::kZoom;  // what it is for
  std::optional<TimeNs> measured_from_;
};

}  // namespace margay::viewer
