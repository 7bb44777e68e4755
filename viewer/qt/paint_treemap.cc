#include "paint_treemap.h"

#include <QStaticText>
#include <algorithm>

#include "box_painter.h"
#include "margay/scene/rows.h"
#include "margay/scene/statistics.h"
#include "name_cache.h"
#include "paint.h"
#include "picture_table.h"

namespace margay::viewer {
namespace {

constexpr double kLeastHatched = 16;  // pixels; hatching takes longer than a colour
constexpr double kSmallestSplit = 8, kMapFrame = 2, kLeastFor = 4;
constexpr std::size_t kMostTold = 6;  // states, in words

// Of a state that has so much of a cell that is too small to be divided.
QColor faded(const QColor& full, const QColor& ground, float share) {
  const float s = std::clamp(share, 0.15F, 1.0F);
  const auto mixed = [s](int a, int b) {
    return static_cast<int>(static_cast<float>(a) + static_cast<float>(b - a) * s);
  };
  return {mixed(ground.red(), full.red()), mixed(ground.green(), full.green()),
          mixed(ground.blue(), full.blue())};
}

}  // namespace

MapTime map_time(const Session& session) {
  const scene::ViewData& data = session.data();
  const auto& s = session.selection();
  if (s && s->first < s->last && s->last <= data.slices()) return {s->first, s->last};
  return {0, data.slices()};
}

TreemapSheet::TreemapSheet(const QRectF& room, const QFontMetricsF& metrics, const Session& session,
                           scene::TreemapSize by, std::uint32_t depth)
    : room_(room), metrics_(metrics), session_(session), by_(by), depth_(depth), time_(map_time(session)) {
  const scene::ViewData& data = session.data();
  if (data.empty()) return;
  for (const std::uint32_t s : scene::states_in_order(data))
    if (data.states[s].known()) order_.push_back(s);
  for (const scene::State& s : data.states) looks_.push_back(session.palette().look(s.name, s.family));
  lay_out();
}

void TreemapSheet::lay_out() {
  const scene::ViewData& data = session_.data();
  scene::TreemapOptions o;
  o.width = room_.width(), o.height = room_.height();
  o.depth = depth_;
  o.least = session_.threshold();
  o.frame = kMapFrame;
  o.head = metrics_.height() + 2;
  scene::TreemapContents contents;
  if (!scene::has_room_for_contents(data)) by_ = scene::TreemapSize::kResources;
  if (by_ == scene::TreemapSize::kAmount) contents = scene::contents_of(data, time_.first, time_.last);
  cells_ = scene::treemap(data, scene::treemap_sizes(data, contents, by_), o);
  filled_ = scene::filled_cells(data, cells_);
  cell_of_.assign(data.nodes.size(), -1);
  for (std::size_t i = 0; i < cells_.size(); ++i) cell_of_[cells_[i].node] = static_cast<std::int32_t>(i);
  shares_ = scene::cell_shares(data, cells_, filled_, time_.first, time_.last);
}

void TreemapSheet::look_at_time() {
  const MapTime now = map_time(session_);
  if (now == time_ || session_.data().empty()) return;
  time_ = now;
  if (by_ == scene::TreemapSize::kAmount) return lay_out();
  shares_ = scene::cell_shares(session_.data(), cells_, filled_, time_.first, time_.last);
}

QRectF TreemapSheet::rect(const scene::TreemapCell& c) const {
  return {room_.left() + c.x, room_.top() + c.y, c.width, c.height};
}

const scene::TreemapCell* TreemapSheet::at(const QPointF& point) const {
  const std::int64_t i = scene::cell_at(cells_, point.x() - room_.left(), point.y() - room_.top());
  return i < 0 ? nullptr : &cells_[static_cast<std::size_t>(i)];
}

const scene::TreemapCell* TreemapSheet::of(std::uint32_t node) const {
  const scene::ViewData& data = session_.data();
  if (cells_.empty() || node >= data.nodes.size()) return nullptr;
  while (cell_of_[node] < 0 && node != 0) node = data.nodes[node].parent;
  return cell_of_[node] < 0 ? nullptr : &cells_[static_cast<std::size_t>(cell_of_[node])];
}

// States side by side, as wide as their shares; what is not known is hatched, or grey.
void TreemapSheet::paint_cells(QPainter& p) const {
  const QColor ground = colour_of(session_.palette().background()),
               faint = colour_of(session_.palette().faint()),
               nothing = colour_of(session_.palette().unknown().colour);
  BoxPainter boxes(p, room_);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const scene::TreemapCell& cell = cells_[i];
    if (!cell.filled) continue;
    const double gap = std::min(cell.width, cell.height) > kLeastFor ? 0.5 : 0;
    const QRectF box = rect(cell).adjusted(gap, gap, -gap, -gap);
    const float* shares = shares_.data() + i * looks_.size();
    if (std::min(box.width(), box.height()) < kSmallestSplit) {
      const auto most = std::max_element(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return shares[a] < shares[b];
      });
      if (most != order_.end() && shares[*most] > 0)
        boxes.fill(box, faded(colour_of(looks_[*most].colour), ground, shares[*most]));
      continue;
    }
    double x = box.left();
    for (const std::uint32_t s : order_) {
      const double width = std::min(box.width() * static_cast<double>(shares[s]), box.right() - x);
      if (!(width > 0)) continue;
      const QColor colour = colour_of(looks_[s].colour);
      const QRectF strip(x, box.top(), width, box.height());
      if (width < kSmallestSplit)
        boxes.fill(strip, colour);
      else
        boxes.fill(strip, colour, looks_[s].pattern, colour_of(scene::text_on(looks_[s].colour)));
      x += width;
    }
    const QRectF rest(QPointF(x, box.top()), box.bottomRight());
    if (std::min(rest.width(), rest.height()) >= kLeastHatched)
      boxes.hatch(rest, ground, nothing);
    else if (rest.width() > 0.5)
      boxes.fill(rest, faint);
  }
  boxes.finish();
}

// Of a divided node above its children; of another one where all of it has room.
void TreemapSheet::paint_names(QPainter& p, NameCache& names) const {
  const double line = metrics_.height(), letter = metrics_.averageCharWidth();
  QColor under = colour_of(session_.palette().background());
  under.setAlphaF(0.75F);
  p.setPen(colour_of(session_.palette().ink()));
  for (const scene::TreemapCell& c : cells_) {
    const std::string& name = session_.data().nodes[c.node].name;
    const double room = c.width - 2 * kPad;
    const bool has_head = !c.filled && c.height >= 3 * (line + 2);
    if (name.empty() || room < 3 * letter || !(c.filled ? c.height >= line + 4 : has_head)) continue;
    // Most do not fit: that is seen without laying them out.
    if (c.filled && static_cast<double>(name.size()) * letter * 0.8 > room) continue;
    const QStaticText& shown = names.name(p.font(), name, room, 1);
    if (c.filled && shown.text() != text_of(name)) continue;
    const QPointF at(room_.left() + c.x + kPad, room_.top() + c.y + (c.filled ? 2 : 0));
    if (c.filled) p.fillRect(QRectF(at.x() - 2, at.y(), shown.size().width() + 4, line), under);
    p.drawStaticText(at, shown);
  }
}

void TreemapSheet::paint_alerts(QPainter& p) const {
  const scene::ViewData& data = session_.data();
  const TimeNs from = data.boundaries[time_.first], to = data.boundaries[time_.last];
  p.setPen(QPen(alert_colour(session_.palette()), 2));
  for (const terminal::AlertView& a : session_.alerts()) {
    const TimeNs end(a.end_ns && !a.firing ? *a.end_ns : std::max(a.onset_ns, session_.now().value));
    if (TimeNs(a.onset_ns) >= to || end <= from) continue;
    for (const std::string& path : a.paths)
      for (const std::uint32_t n : scene::nodes_named(data, path))
        if (const scene::TreemapCell* c = of(n)) p.drawRect(rect(*c).adjusted(1, 1, -1, -1));
  }
}

void TreemapSheet::paint(QPainter& p, NameCache* kept) const {
  if (cells_.empty()) return;
  NameCache own;
  p.save();
  p.setRenderHint(QPainter::Antialiasing, false);
  paint_cells(p);
  p.setBrush(Qt::NoBrush);
  paint_names(p, kept != nullptr ? *kept : own);
  paint_alerts(p);
  if (session_.selection())
    if (const scene::TreemapCell* c = of(session_.selection()->node); c != nullptr && c->node != 0) {
      p.setPen(QPen(colour_of(session_.palette().ink()), 2, Qt::DashLine));
      p.drawRect(rect(*c).adjusted(1, 1, -1, -1));
    }
  p.restore();
}

QString TreemapSheet::text(const scene::TreemapCell& cell) const {
  const scene::ViewData& data = session_.data();
  const scene::Node& node = data.nodes[cell.node];
  QString out = text_of(node.path.empty() ? "/" : node.path);
  if (node.leaf_count > 1) out += QObject::tr(", %1 resources").arg(node.leaf_count);
  const scene::Proportions of = scene::proportions(data, cell.node, time_.first, time_.last);
  std::vector<std::pair<double, std::uint32_t>> most;
  for (std::uint32_t s = 0; s < of.shares.size(); ++s)
    if (of.shares[s] > 0 && data.states[s].known()) most.emplace_back(-of.shares[s], s);
  std::sort(most.begin(), most.end());
  if (most.size() > kMostTold) most.resize(kMostTold);
  QStringList words;
  for (const auto& [share, s] : most)
    words << QString("%1 %2").arg(
        text_of(data.states[s].name),
        data.unit.empty() ? share_text(-share) : text_of(scene::amount_text(data.unit, -share * data.full)));
  return words.isEmpty() ? out + QObject::tr(": nothing is known") : out + ": " + words.join(", ");
}

std::string treemap_csv(const Session& session) {
  const scene::ViewData& data = session.data();
  const MapTime time = map_time(session);
  const scene::TreemapContents contents = scene::contents_of(data, time.first, time.last);
  return scene::nodes_csv(data, contents,
                          scene::treemap_sizes(data, contents, scene::TreemapSize::kResources));
}

}  // namespace margay::viewer
