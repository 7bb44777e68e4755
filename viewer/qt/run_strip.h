// The whole run as a strip, in the cuts of its temporal partition, with its phases along the upper edge and
// its alerts along the lower one; a frame is what of it is seen.
//
// Mouse: the frame is dragged, or one of its edges; beside it a drag is the stretch to be seen; a click
// brings what is there into the middle; the wheel zooms; the right button goes back.
//
// Its picture is the session's (Session::whole_run()), asked for only while the strip is on the screen. A run
// that goes on is drawn anew when something in the strip has moved by a pixel, not with each report.
//
// Thread safety: none; belongs to the thread of the window. Cost of painting: linear in the bars (256 at
// most), phases and alerts; of a report: linear in the alerts.
#pragma once

#include <QStringList>
#include <QWidget>
#include <optional>
#include <vector>

#include "margay/scene/temporal_bars.h"
#include "margay/scene/whole_run.h"
#include "session.h"

namespace margay::viewer {

class RunStrip : public QWidget {
  Q_OBJECT

 public:
  explicit RunStrip(Session& session, QWidget* parent = nullptr);
  // Where the run is drawn; beside it is its name.
  QRectF area() const;
  // What of it is framed; within area().
  QRectF frame() const;
  // What the mouse does in it, as View::mouse().
  static QStringList mouse();
  // How often it was painted, for tests.
  int painted() const { return painted_; }
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  bool event(QEvent* event) override;

 private:
  // What there is to see of it; another one has to be painted.
  struct Seen {
    scene::Frame frame;
    double known = 0;  // up to which pixel there are bars
    std::size_t phases = 0, alerts = 0;
    int firing = 0;
    scene::Theme theme = scene::Theme::kLight;
    scene::Hues hues = scene::Hues::kOkabeIto;
    scene::ColourMap given;  // colours
    std::size_t states = 0;  // that are told apart by patterns
    bool operator==(const Seen&) const = default;
  };
  Seen seen() const;
  void look();
  // The run as it is, or as it was when the mouse took hold of it.
  scene::Strip strip() const;
  TimeNs time_at(double x) const;
  scene::Grip grip_at(QPointF at) const;
  void show_cursor(QPointF at);
  void paint_marks(QPainter& p, const scene::Strip& strip);
  void paint_frame(QPainter& p);

  Session& session_;
  std::vector<scene::Bar> bars_;
  Seen seen_;
  int painted_ = 0;
  struct Drag {
    double x = 0;
    TimeNs from{};
    scene::Grip grip = scene::Grip::kElsewhere;
    scene::TimeRange seen;
    scene::Strip strip;
    bool moved = false;
  };
  std::optional<Drag> drag_;
};

}  // namespace margay::viewer
