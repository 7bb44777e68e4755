// The page of the treemap: the hierarchy as nested rectangles, as large as what they stand for, each with its
// states in the slices that are selected; and below it the time line, along which one goes.
//
// Mouse: a click selects a node, a double click goes into it; the wheel shows more levels or fewer; along the
// time line a press or a drag selects the slice under the hand. The selection is the session's, so that all
// pages look at the same thing.
//
// Thread safety: none; belongs to the thread of the window. Cost of painting: TreemapSheet's.
#pragma once

#include <QComboBox>
#include <QPixmap>
#include <optional>

#include "name_cache.h"
#include "paint_treemap.h"
#include "view.h"
#include "widgets.h"

namespace margay::viewer {

// The map itself.
class MapWidget : public QWidget {
  Q_OBJECT

 public:
  explicit MapWidget(Session& session, QWidget* parent = nullptr);
  const TreemapSheet& sheet();
  void set_size_by(scene::TreemapSize by);
  scene::TreemapSize size_by() const { return by_; }
  // Levels below the root that are divided; what is deeper is drawn as one.
  void set_depth(std::uint32_t depth);
  std::uint32_t depth();
  // The picture is another one, or its look.
  void forget();
  // What is selected is another.
  void look_at_selection();

 signals:
  void changed();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  bool event(QEvent* event) override;

 private:
  std::uint32_t deepest();

  Session& session_;
  scene::TreemapSize by_ = scene::TreemapSize::kResources;
  std::uint32_t depth_;
  std::optional<std::uint32_t> deepest_;  // of the picture
  std::optional<TreemapSheet> sheet_;
  NameCache names_;
};

// The time line below it.
class MapTimeLine : public QWidget {
  Q_OBJECT

 public:
  explicit MapTimeLine(Session& session, QWidget* parent = nullptr);
  QRectF area() const;
  QSize sizeHint() const override;
  // The picture is another one, or its look.
  void forget();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  void select_at(double x);
  void draw(QPainter& p) const;

  Session& session_;
  QPixmap drawn_;  // all but where one is
};

class TreemapView : public View {
  Q_OBJECT

 public:
  explicit TreemapView(Session& session, QWidget* parent = nullptr);
  QStringList mouse() const override;
  QString save(const QString& path, const QString& title) override;
  MapWidget& map() { return *map_; }
  MapTimeLine& time_line() { return *time_; }
  QString told() const { return status_->text(); }

 private:
  void view_changed();
  void refresh();

  scene::Palette palette_;  // and threshold: as they were drawn
  double threshold_ = 0;
  MapWidget* map_;
  MapTimeLine* time_;
  QComboBox* size_;
  ElidedLabel* status_;
};

}  // namespace margay::viewer
