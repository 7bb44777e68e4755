#include "paint_treemap.h"

#include <algorithm>

#include "margay/scene/marked.h"
#include "margay/scene/statistics.h"
#include "margay/scene/time_axis.h"
#include "margay/text/csv.h"
#include "paint.h"
#include "patterns.h"
#include "picture_table.h"

namespace margay::viewer {
namespace {

constexpr double kBetweenCells = 1, kSmallestSplit = 8, kMapFrame = 2;
constexpr std::size_t kMostTold = 6;  // states, in words

}  // namespace

MapTime map_time(const Session& session) {
  const scene::ViewData& data = session.data();
  const auto& s = session.selection();
  if (s && s->first < s->last && s->last <= data.slices()) return {s->first, s->last};
  return {0, data.slices()};
}

TreemapSheet::TreemapSheet(const QRectF& room, const QFontMetricsF& metrics, const Session& session,
                           MapTime time, scene::TreemapSize by, std::uint32_t depth)
    : room_(room), metrics_(metrics), session_(session), time_(time) {
  const scene::ViewData& data = session.data();
  if (data.empty()) return;
  contents_ = scene::contents_of(data, time.first, time.last);
  scene::TreemapOptions o;
  o.width = room.width(), o.height = room.height();
  o.depth = depth;
  o.least = session.threshold();
  o.frame = kMapFrame;
  o.head = metrics.height() + 2;
  cells_ = scene::treemap(data, scene::treemap_sizes(data, contents_, by), o);
  cell_of_.assign(data.nodes.size(), -1);
  for (std::size_t i = 0; i < cells_.size(); ++i) cell_of_[cells_[i].node] = static_cast<std::int64_t>(i);
  for (const std::uint32_t s : scene::states_in_order(data))
    if (data.states[s].known()) order_.push_back(s);
  for (const scene::State& s : data.states) looks_.push_back(session.palette().look(s.name, s.family));
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

// States side by side, as wide as their shares; what is not known is the ground.
void TreemapSheet::paint_cell(QPainter& p, const scene::TreemapCell& cell) const {
  const double gap = std::min(cell.width, cell.height) > 4 * kBetweenCells ? kBetweenCells / 2 : 0;
  const QRectF box = rect(cell).adjusted(gap, gap, -gap, -gap);
  const auto shares = contents_.of(cell.node);
  if (std::min(box.width(), box.height()) < kSmallestSplit) {
    // Too small to be divided: what it has most of, as strong as that is.
    std::uint32_t most = 0;
    float share = 0;
    for (const std::uint32_t s : order_)
      if (shares[s] > share) most = s, share = shares[s];
    if (share > 0) {
      const QColor ground = colour_of(session_.palette().background()), full = colour_of(looks_[most].colour);
      const auto mixed = [&](int a, int b) {
        return static_cast<int>(a + (b - a) * std::clamp(share, 0.15F, 1.0F));
      };
      p.fillRect(box, QColor(mixed(ground.red(), full.red()), mixed(ground.green(), full.green()),
                             mixed(ground.blue(), full.blue())));
    }
    return;
  }
  p.fillRect(box, colour_of(session_.palette().faint()));
  double x = box.left();
  for (const std::uint32_t s : order_) {
    const double width = box.width() * shares[s];
    if (width <= 0) continue;
    const QRectF strip(x, box.top(), std::min(width, box.right() - x), box.height());
    if (width < kSmallestSplit)
      p.fillRect(strip, colour_of(looks_[s].colour));
    else
      fill_box(p, strip, looks_[s]);
    x += width;
  }
}

void TreemapSheet::paint_name(QPainter& p, const scene::TreemapCell& cell) const {
  const QRectF box = rect(cell);
  const scene::Node& node = session_.data().nodes[cell.node];
  const double line = metrics_.height();
  if (box.height() < line + 4 || box.width() < 4 * metrics_.averageCharWidth()) return;
  if (!cell.filled && cell.height < 3 * (line + 2)) return;
  QString name = text_of(node.name.empty() ? node.path : node.name);
  if (cell.filled && node.leaf_count > 1) name += QObject::tr(" (%1)").arg(node.leaf_count);
  const QRectF room = box.adjusted(kPad, cell.filled ? 2 : 0, -kPad, 0);
  const QString shown = metrics_.elidedText(name, Qt::ElideRight, room.width());
  if (cell.filled) {  // on states of any colour
    const QRectF under(room.left() - 2, room.top(), metrics_.horizontalAdvance(shown) + 4, line);
    QColor ground = colour_of(session_.palette().background());
    ground.setAlphaF(0.75F);
    p.fillRect(under, ground);
  }
  p.setPen(colour_of(session_.palette().ink()));
  p.drawText(QRectF(room.left(), room.top(), room.width(), line + 2), Qt::AlignLeft | Qt::AlignTop, shown);
}

void TreemapSheet::paint_alerts(QPainter& p) const {
  const scene::ViewData& data = session_.data();
  const TimeNs from = data.boundaries[time_.first], to = data.boundaries[time_.last];
  p.setBrush(Qt::NoBrush);
  p.setPen(QPen(alert_colour(session_.palette()), 2));
  for (const terminal::AlertView& a : session_.alerts()) {
    const TimeNs end(a.end_ns && !a.firing ? *a.end_ns : std::max(a.onset_ns, session_.now().value));
    if (TimeNs(a.onset_ns) >= to || end <= from) continue;
    for (const std::string& path : a.paths)
      for (const std::uint32_t n : scene::nodes_named(data, path))
        if (const scene::TreemapCell* c = of(n)) p.drawRect(rect(*c).adjusted(1, 1, -1, -1));
  }
}

void TreemapSheet::paint(QPainter& p) const {
  if (cells_.empty()) return;
  p.save();
  p.setRenderHint(QPainter::Antialiasing, false);
  p.setClipRect(room_);
  for (const scene::TreemapCell& c : cells_)
    if (c.filled) paint_cell(p, c);
  for (const scene::TreemapCell& c : cells_) paint_name(p, c);
  paint_alerts(p);
  if (session_.selection())
    if (const scene::TreemapCell* c = of(session_.selection()->node); c != nullptr && c->node != 0) {
      p.setPen(QPen(colour_of(session_.palette().ink()), 2, Qt::DashLine));
      p.drawRect(rect(*c).adjusted(1, 1, -1, -1));
    }
  p.restore();
}

QString cell_text(const TreemapSheet& sheet, const scene::TreemapCell& cell, const scene::ViewData& data) {
  const scene::Node& node = data.nodes[cell.node];
  QString out = text_of(node.path.empty() ? "/" : node.path);
  if (node.leaf_count > 1) out += QObject::tr(", %1 resources").arg(node.leaf_count);
  std::vector<std::pair<float, std::uint32_t>> most;
  const auto shares = sheet.contents().of(cell.node);
  for (std::uint32_t s = 0; s < shares.size(); ++s)
    if (shares[s] > 0 && data.states[s].known()) most.emplace_back(-shares[s], s);
  std::sort(most.begin(), most.end());
  if (most.size() > kMostTold) most.resize(kMostTold);
  QStringList words;
  for (const auto& [share, s] : most)
    words << QString("%1 %2").arg(
        text_of(data.states[s].name),
        data.unit.empty() ? share_text(-share) : text_of(scene::amount_text(data.unit, -share * data.full)));
  return words.isEmpty() ? out + QObject::tr(": nothing is known") : out + ": " + words.join(", ");
}

std::string treemap_csv(const Session& session, MapTime time, scene::TreemapSize by) {
  const scene::ViewData& data = session.data();
  const scene::TreemapContents contents = scene::contents_of(data, time.first, time.last);
  const std::vector<double> sizes = scene::treemap_sizes(data, contents, by);
  return scene::nodes_csv(data, contents, sizes);
}

}  // namespace margay::viewer
