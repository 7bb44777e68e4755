// The page of the topology: who talks to whom, as a graph that finds its own shape (scene/graph_layout.h).
// Nodes are the rows of the overview: what is folded there is one here.
//
// Mouse: a click selects a node, a double click unfolds or folds it; a node that is dragged stays where it is
// put, with Shift a click lets it go; on the ground a drag moves all, the wheel comes nearer.
//
// Thread safety: none; belongs to the thread of the window. Cost of a frame: a step of the layout and
// TopologySheet's painting, while it moves.
#pragma once

#include <QBasicTimer>
#include <QComboBox>
#include <QSizeF>
#include <optional>

#include "name_cache.h"
#include "paint_topology.h"
#include "sums_source.h"
#include "view.h"
#include "widgets.h"

namespace margay::viewer {

class GraphWidget : public QWidget {
  Q_OBJECT

 public:
  GraphWidget(const SumsSource& source, Session& session, QWidget* parent = nullptr);
  void set_measure(scene::LinkMeasure measure);
  void set_size_by(scene::TopologySize size);
  // Of the picture's rows and the newest sums.
  void refresh();
  // What is selected is another.
  void look_at_selection();
  const scene::Topology& topology() const { return topology_; }
  scene::GraphLayout& layout() { return layout_; }
  TopologySheet sheet() const;
  // One step, as the timer does: false, it is at rest.
  bool step();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void timerEvent(QTimerEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void move();
  void describe();

  const SumsSource& source_;
  Session& session_;
  scene::LinkMeasure measure_ = scene::LinkMeasure::kBytes;
  scene::TopologySize size_ = scene::TopologySize::kResources;
  scene::Topology topology_;
  scene::GraphLayout layout_;
  std::vector<float> shares_;
  NameCache names_;
  std::optional<Lens> lens_;  // nothing: all of it
  std::optional<std::uint32_t> held_;
  std::optional<QPointF> from_;  // of the drag
  bool dragged_ = false;
  QBasicTimer timer_;
};

class TopologyView : public View {
  Q_OBJECT

 public:
  explicit TopologyView(Session& session, QWidget* parent = nullptr);
  QStringList mouse() const override;
  QString save(const QString& path, const QString& title) override;
  GraphWidget& graph() { return *graph_; }
  SumsSource& source() { return source_; }
  QString told() const { return status_->text(); }

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void refresh();
  void say();

  SumsSource source_;
  GraphWidget* graph_;
  QComboBox *measure_, *size_;
  ElidedLabel* status_;
};

}  // namespace margay::viewer
