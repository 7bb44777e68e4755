#include "topology.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QTimerEvent>
#include <QToolTip>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <cmath>

#include "margay/base/text.h"
#include "paint.h"
#include "paint_sums.h"
#include "picture_file.h"

namespace margay::viewer {
namespace {

constexpr int kFrame = 16;                                          // ms
constexpr double kNearer = 1.2, kFurthest = 0.01, kNearest = 2000;  // of the wheel; pixels a unit

}  // namespace

View* make_topology(Session& session, QWidget* parent) {
  return new TopologyView(session, parent);
}

GraphWidget::GraphWidget(const SumsSource& source, Session& session, QWidget* parent)
    : QWidget(parent), source_(source), session_(session) {
  setMinimumSize(200, 120);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Graph of who talks to whom"));
}

void GraphWidget::set_measure(scene::LinkMeasure measure) {
  measure_ = measure;
  refresh();
}

void GraphWidget::set_size_by(scene::TopologySize size) {
  size_ = size;
  update();
}

void GraphWidget::refresh() {
  topology_ = {};
  if (source_.sums() != nullptr && !session_.data().empty())
    topology_ = scene::topology_of(scene::matrix_of(*source_.sums(), session_.data(), session_.rows()),
                                   session_.rows(), measure_);
  layout_.set(scene::graph_nodes(topology_, session_.data()), scene::graph_edges(topology_, measure_));
  shares_ = node_shares(session_, topology_);
  held_.reset();
  move();
  describe();
  update();
}

void GraphWidget::look_at_selection() {
  shares_ = node_shares(session_, topology_);
  update();
}

// To somebody who does not see which link is the strongest.
void GraphWidget::describe() {
  setAccessibleDescription(topology_.links.empty() ? tr("no messages")
                                                   : tr("most: %1").arg(sheet().text(topology_.links[0].a)));
}

TopologySheet GraphWidget::sheet() const {
  TopologySheet out(QRectF(rect()), QFontMetricsF(font()), session_, topology_, layout_, measure_, size_);
  if (lens_) out.set_lens(*lens_);
  return out;
}

void GraphWidget::move() {
  if (isVisible() && !layout_.at_rest()) timer_.start(kFrame, this);
}

bool GraphWidget::step() {
  const bool moved = layout_.step();
  if (moved) update();
  return moved;
}

void GraphWidget::timerEvent(QTimerEvent* event) {
  if (event->timerId() != timer_.timerId()) return QWidget::timerEvent(event);
  if (!step() && !held_) timer_.stop();
}

void GraphWidget::hideEvent(QHideEvent* event) {
  timer_.stop();
  QWidget::hideEvent(event);
}

void GraphWidget::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.fillRect(rect(), colour_of(session_.palette().background()));
  if (!topology_.nodes.empty()) return sheet().paint(p, shares_, &names_);
  p.setPen(colour_of(session_.palette().ink()));
  p.drawText(rect(), Qt::AlignCenter, session_.data().empty() ? tr("nothing to see yet") : source_.told());
}

void GraphWidget::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || topology_.nodes.empty()) return QWidget::mousePressEvent(event);
  from_ = event->position();
  dragged_ = false;
  held_ = sheet().at(event->position());
}

void GraphWidget::mouseMoveEvent(QMouseEvent* event) {
  if (!from_ || !(event->buttons() & Qt::LeftButton)) return QWidget::mouseMoveEvent(event);
  const QPointF by = event->position() - *from_;
  if (!dragged_ && std::hypot(by.x(), by.y()) < 4) return;
  dragged_ = true;
  if (held_) {
    // Others make room, while all that is seen stays where it is.
    if (!lens_) lens_ = TopologySheet::whole(QRectF(rect()), layout_);
    layout_.pin(*held_, sheet().place(event->position()));
    layout_.warm_up();
    move();
  } else {
    Lens lens = lens_ ? *lens_ : TopologySheet::whole(QRectF(rect()), layout_);
    lens.middle.x -= by.x() / lens.scale, lens.middle.y -= by.y() / lens.scale;
    lens_ = lens;
    from_ = event->position();
  }
  update();
}

void GraphWidget::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !from_) return QWidget::mouseReleaseEvent(event);
  const std::optional<std::uint32_t> held = held_;
  from_.reset();
  held_.reset();
  if (dragged_ || !held || *held >= topology_.nodes.size()) return;
  if (event->modifiers() & Qt::ShiftModifier) {
    layout_.let_go(*held);
    layout_.warm_up();
    return move();
  }
  const MapTime time = map_time(session_);
  session_.select(Session::Selection{topology_.nodes[*held], static_cast<std::uint32_t>(time.first),
                                     static_cast<std::uint32_t>(time.last)});
}

// What is folded unfolds; else what it is below is one.
void GraphWidget::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto row = sheet().at(event->position());
  if (!row) {
    lens_.reset();
    return update();
  }
  const std::uint32_t node = topology_.nodes[*row];
  const bool folded = session_.rows().rows[*row].folded;
  if (folded)
    session_.toggle_fold(node);
  else if (const std::uint32_t above = session_.data().nodes[node].parent; above != node)
    session_.toggle_fold(above);
}

void GraphWidget::wheelEvent(QWheelEvent* event) {
  const int by = event->angleDelta().y();
  if (by == 0 || topology_.nodes.empty()) return;
  const TopologySheet now = sheet();
  const scene::Place under = now.place(event->position());
  Lens lens = lens_ ? *lens_ : TopologySheet::whole(QRectF(rect()), layout_);
  lens.scale = std::clamp(lens.scale * std::pow(kNearer, by / 120.0), kFurthest, kNearest);
  // What is under the hand stays there.
  TopologySheet then = now;
  then.set_lens(lens);
  const scene::Place there = then.place(event->position());
  lens.middle.x += under.x - there.x, lens.middle.y += under.y - there.y;
  lens_ = lens;
  update();
  event->accept();
}

bool GraphWidget::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto row = topology_.nodes.empty() ? std::nullopt : sheet().at(help->pos());
  QToolTip::showText(help->globalPos(), row ? sheet().text(*row) : QString(), this);
  return true;
}

TopologyView::TopologyView(Session& session, QWidget* parent)
    : View(session, parent), source_(session, SumsOf::kMessages) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(8, 3, 8, 3);
  line->setSpacing(8);  // not the column's
  line->addWidget(new QLabel(tr("Links are"), this));
  measure_ = new QComboBox(this);
  measure_->setAccessibleName(tr("What links stand for"));
  measure_->addItems({tr("bytes"), tr("messages")});
  line->addWidget(measure_);
  line->addWidget(new QLabel(tr("as large as"), this));
  size_ = new QComboBox(this);
  size_->setObjectName("topology-size");
  size_->setAccessibleName(tr("What the area of a node stands for"));
  size_->addItems({tr("its resources are many"), tr("it sends and receives much")});
  line->addWidget(size_);
  status_ = new ElidedLabel(this);
  line->addWidget(status_, 1);
  column->addLayout(line);
  graph_ = new GraphWidget(source_, session, this);
  column->addWidget(graph_, 1);
  setFocusProxy(graph_);
  connect(measure_, &QComboBox::currentIndexChanged, this, [this](int index) {
    graph_->set_measure(index == 0 ? scene::LinkMeasure::kBytes : scene::LinkMeasure::kMessages);
    say();
  });
  connect(size_, &QComboBox::currentIndexChanged, this, [this](int index) {
    graph_->set_size_by(index == 0 ? scene::TopologySize::kResources : scene::TopologySize::kTraffic);
  });
  connect(&source_, &SumsSource::changed, this, &TopologyView::refresh);
  connect(&session_, &Session::data_changed, this, &TopologyView::refresh);
  connect(&session_, &Session::view_changed, this, [this] {
    // Rows may have been folded, or the selection is another.
    const bool same = graph_->topology().nodes.size() == session_.rows().rows.size();
    same ? graph_->look_at_selection() : refresh();
  });
  connect(&session_, &Session::status_changed, graph_, qOverload<>(&QWidget::update));
  refresh();
}

void TopologyView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  source_.set_seen(true);
  refresh();  // rows may have been folded meanwhile
}

void TopologyView::hideEvent(QHideEvent* event) {
  View::hideEvent(event);
  source_.set_seen(false);
}

void TopologyView::refresh() {
  if (isVisible()) graph_->refresh();
  say();
}

void TopologyView::say() {
  QStringList words{source_.told()};
  if (const std::uint64_t weaker = graph_->topology().weaker; weaker > 0)
    words << tr("%1 weaker links are not drawn").arg(text_of(grouped(weaker)));
  words.removeAll(QString());
  status_->setText(words.join("  |  "));
  status_->setToolTip(status_->text());
}

QStringList TopologyView::mouse() const {
  return {tr("over a node|what it sent and received, and with whom most"),
          tr("click|select the node, in all views"),
          tr("double click on a node|unfold it, or fold it into the node above"),
          tr("drag a node|it stays where it is put; Shift+click lets it go"),
          tr("drag the ground|move the graph; a double click shows all of it"),
          tr("wheel|nearer, or further away")};
}

QString TopologyView::save(const QString& path, const QString& title) {
  if (source_.sums() == nullptr) return tr("%1: not written: %2").arg(path, source_.told());
  if (path.endsWith(".png", Qt::CaseInsensitive))  // as it is seen
    return grab().save(path, "PNG") ? QString()
                                    : tr("%1: not written: the image cannot be written").arg(path);
  return save_picture(path, session_, size(), title, picture_kind("topology"));
}

}  // namespace margay::viewer
