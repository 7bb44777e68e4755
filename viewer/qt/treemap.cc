#include "treemap.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QToolTip>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <limits>

#include "margay/scene/temporal_bars.h"
#include "margay/scene/time_axis.h"
#include "paint.h"
#include "picture_file.h"

namespace margay::viewer {
namespace {

constexpr std::uint32_t kAllLevels = std::numeric_limits<std::uint32_t>::max();
constexpr int kBarsOfMap = 36, kAxisOfMap = 22;

}  // namespace

View* make_treemap(Session& session, QWidget* parent) {
  return new TreemapView(session, parent);
}

MapWidget::MapWidget(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), depth_(kAllLevels) {
  setMinimumSize(200, 120);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Treemap of the resources"));
}

std::uint32_t MapWidget::deepest() {
  if (deepest_) return *deepest_;
  std::uint32_t out = 0;
  for (const scene::Node& n : session_.data().nodes) out = std::max(out, n.depth);
  deepest_ = out;
  return out;
}

std::uint32_t MapWidget::depth() {
  return std::min(depth_, deepest());
}

void MapWidget::set_depth(std::uint32_t depth) {
  depth_ = depth >= deepest() ? kAllLevels : depth;
  forget();
}

void MapWidget::set_size_by(scene::TreemapSize by) {
  by_ = by;
  forget();
}

void MapWidget::forget() {
  sheet_.reset();
  deepest_.reset();
  update();
  emit changed();
}

void MapWidget::look_at_selection() {
  if (sheet_) sheet_->look_at_time();
  update();
  emit changed();
}

const TreemapSheet& MapWidget::sheet() {
  if (!sheet_) sheet_.emplace(QRectF(rect()), QFontMetricsF(font()), session_, by_, depth_);
  return *sheet_;
}

void MapWidget::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.fillRect(rect(), colour_of(session_.palette().background()));
  sheet().paint(p, &names_);
  if (!session_.data().empty()) return;
  p.setPen(colour_of(session_.palette().ink()));
  p.drawText(rect(), Qt::AlignCenter,
             session_.trouble().isEmpty() ? tr("nothing to see yet") : session_.trouble());
}

void MapWidget::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  sheet_.reset();
}

// The slices that are selected stay so.
void MapWidget::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return QWidget::mousePressEvent(event);
  const scene::TreemapCell* c = sheet().at(event->position());
  if (c == nullptr) return;
  const MapTime time = map_time(session_);
  session_.select(Session::Selection{c->node, static_cast<std::uint32_t>(time.first),
                                     static_cast<std::uint32_t>(time.last)});
}

void MapWidget::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const scene::TreemapCell* c = sheet().at(event->position()); c != nullptr && c->node != 0)
    session_.into(c->node);
}

void MapWidget::wheelEvent(QWheelEvent* event) {
  const int by = event->angleDelta().y();
  if (by == 0) return;
  const std::uint32_t now = depth();
  set_depth(by > 0 ? now + 1 : std::max(now, 2u) - 1);
  event->accept();
}

bool MapWidget::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const scene::TreemapCell* c = sheet().at(help->pos());
  QToolTip::showText(help->globalPos(), c == nullptr ? QString() : sheet().text(*c), this);
  return true;
}

MapTimeLine::MapTimeLine(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Time line of the treemap"));
  setToolTip(tr("press or drag: the treemap shows the slice under the hand"));
}

QRectF MapTimeLine::area() const {
  return QRectF(rect()).adjusted(kPad, 2, -kPad, -kAxisOfMap);
}
QSize MapTimeLine::sizeHint() const {
  return {400, kBarsOfMap + kAxisOfMap + 2};
}

void MapTimeLine::forget() {
  drawn_ = {};
  update();
}

void MapTimeLine::draw(QPainter& p) const {
  const scene::Palette& palette = session_.palette();
  p.fillRect(rect(), colour_of(palette.background()));
  const scene::ViewData& d = session_.data();
  if (d.empty()) return;
  const QRectF a = area();
  const scene::ViewData& together = session_.temporal().empty() ? d : session_.temporal();
  scene::BarOptions options;
  options.least_share = 3 / a.height();
  paint_bars(p, a, together, scene::temporal_bars(together, options), d.range(), palette);
  paint_axis(p, {a.left(), a.bottom(), a.width(), kAxisOfMap}, d.range(), session_.times(), palette);
}

void MapTimeLine::paintEvent(QPaintEvent*) {
  if (drawn_.deviceIndependentSize() != QSizeF(size())) {
    drawn_ = QPixmap(size() * devicePixelRatio());
    drawn_.setDevicePixelRatio(devicePixelRatio());
    QPainter p(&drawn_);
    p.setFont(font());
    draw(p);
  }
  QPainter p(this);
  p.drawPixmap(0, 0, drawn_);
  const scene::ViewData& d = session_.data();
  if (d.empty()) return;
  const QRectF a = area();
  const MapTime time = map_time(session_);
  const scene::TimeRange range = d.range();
  const auto x = [&](TimeNs t) {
    return a.left() + a.width() * static_cast<double>((t - range.from).value) /
                          static_cast<double>((range.to - range.from).value);
  };
  p.setPen(QPen(colour_of(session_.palette().ink()), 2));
  p.drawRect(
      QRectF(QPointF(x(d.boundaries[time.first]), a.top()), QPointF(x(d.boundaries[time.last]), a.bottom())));
}

void MapTimeLine::select_at(double x) {
  const scene::ViewData& d = session_.data();
  if (d.empty()) return;
  const QRectF a = area();
  const double share = std::clamp((x - a.left()) / a.width(), 0.0, 1.0);
  const scene::TimeRange range = d.range();
  const TimeNs at =
      range.from +
      DurationNs(static_cast<std::int64_t>(share * static_cast<double>((range.to - range.from).value - 1)));
  const auto slice = static_cast<std::uint32_t>(d.slice_at(at));
  const auto& s = session_.selection();
  session_.select(Session::Selection{s ? s->node : 0, slice, slice + 1});
}

void MapTimeLine::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) select_at(event->position().x());
}
void MapTimeLine::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & Qt::LeftButton) select_at(event->position().x());
}

TreemapView::TreemapView(Session& session, QWidget* parent)
    : View(session, parent), palette_(session.palette()), threshold_(session.threshold()) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(8, 3, 8, 3);
  line->setSpacing(8);  // not the column's
  line->addWidget(new QLabel(tr("As large as"), this));
  size_ = new QComboBox(this);
  size_->setObjectName("treemap-size");
  size_->setAccessibleName(tr("What the area of a rectangle stands for"));
  size_->addItems({tr("its resources are many"), tr("what is measured is much")});
  line->addWidget(size_);
  status_ = new ElidedLabel(this);
  line->addWidget(status_, 1);
  column->addLayout(line);
  map_ = new MapWidget(session, this);
  column->addWidget(map_, 1);
  time_ = new MapTimeLine(session, this);
  column->addWidget(time_);
  setFocusProxy(map_);
  connect(size_, &QComboBox::currentIndexChanged, this, [this](int index) {
    map_->set_size_by(index == 0 ? scene::TreemapSize::kResources : scene::TreemapSize::kAmount);
  });
  connect(&session_, &Session::data_changed, this, [this] {
    map_->forget();
    time_->forget();
  });
  connect(&session_, &Session::view_changed, this, &TreemapView::view_changed);
  connect(&session_, &Session::status_changed, time_, &MapTimeLine::forget);
  connect(map_, &MapWidget::changed, this, &TreemapView::refresh);
  refresh();
}

// Of a selection areas and bars stay.
void TreemapView::view_changed() {
  const bool other_look = !(palette_ == session_.palette()) || threshold_ != session_.threshold();
  if (!other_look) {
    map_->look_at_selection();
    return time_->update();
  }
  palette_ = session_.palette(), threshold_ = session_.threshold();
  map_->forget();
  time_->forget();
}

void TreemapView::refresh() {
  const scene::ViewData& d = session_.data();
  if (d.empty() || !isVisible()) return status_->setText({});
  const MapTime time = map_time(session_);
  const scene::TimeRange range{d.boundaries[time.first], d.boundaries[time.last]};
  status_->setText(
      tr("%1, levels: %2").arg(text_of(scene::range_text(range, session_.times()))).arg(map_->depth()));
}

QStringList TreemapView::mouse() const {
  return {tr("click|select the node"), tr("double click|go into the node"), tr("wheel|more levels, or fewer"),
          tr("press or drag on the time line|the slice under the hand")};
}

QString TreemapView::save(const QString& path, const QString& title) {
  return save_picture(path, session_, size(), title, picture_kind("treemap"));
}

}  // namespace margay::viewer
