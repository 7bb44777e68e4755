#include "paint_topology.h"

#include <QStaticText>
#include <algorithm>
#include <cmath>

#include "margay/base/text.h"
#include "margay/scene/statistics.h"
#include "name_cache.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr double kLargest = 26, kSmallest = 2.5;       // radii
constexpr double kLeastPie = 5;                        // radius of a node whose states are drawn apart
constexpr double kGraphMargin = 34, kNameMargin = 16;  // at the foot names as well
constexpr std::size_t kFewNodes = 1500;                // of more nothing is smoothed
constexpr std::size_t kMostNames = 400;
constexpr double kWidestName = 160;
constexpr std::size_t kManyLinks = 2000;
constexpr std::size_t kMovingLinks = 4000;
constexpr int kSteps = 8;        // of a link's strength
constexpr int kTurn = 16 * 360;  // Qt's angles

}  // namespace

std::vector<float> node_shares(const Session& session, const scene::Topology& topology) {
  const scene::ViewData& data = session.data();
  if (data.empty() || !scene::has_room_for_contents(data)) return {};
  const MapTime time = map_time(session);
  const scene::TreemapContents contents = scene::contents_of(data, time.first, time.last);
  std::vector<float> out;
  out.reserve(topology.nodes.size() * contents.states);
  for (const std::uint32_t n : topology.nodes) {
    const auto of = contents.of(n);
    out.insert(out.end(), of.begin(), of.end());
  }
  return out;
}

TopologySheet::TopologySheet(const QRectF& room, const QFontMetricsF& metrics, const Session& session,
                             const scene::Topology& topology, const scene::GraphLayout& layout,
                             scene::LinkMeasure measure, scene::TopologySize size)
    : room_(room),
      metrics_(metrics),
      session_(session),
      topology_(topology),
      layout_(layout),
      measure_(measure),
      lens_(whole(room, layout)),
      radii_(scene::radii_of(topology, session.data(), size)) {
  for (const std::uint32_t s : scene::states_in_order(session.data()))
    if (session.data().states[s].known()) order_.push_back(s);
}

Lens TopologySheet::whole(const QRectF& room, const scene::GraphLayout& layout) {
  if (layout.places().empty()) return {};
  double left = layout.places()[0].x, right = left, top = layout.places()[0].y, bottom = top;
  for (const scene::Place& p : layout.places()) {
    left = std::min(left, p.x), right = std::max(right, p.x);
    top = std::min(top, p.y), bottom = std::max(bottom, p.y);
  }
  const double width = std::max(right - left, 1.0), height = std::max(bottom - top, 1.0);
  return {{(left + right) / 2, (top + bottom) / 2},
          std::max(1e-3, std::min((room.width() - 2 * kGraphMargin) / width,
                                  (room.height() - 2 * kGraphMargin - kNameMargin) / height))};
}

QPointF TopologySheet::point(const scene::Place& place) const {
  return middle() +
         QPointF((place.x - lens_.middle.x) * lens_.scale, (place.y - lens_.middle.y) * lens_.scale);
}

QPointF TopologySheet::middle() const {
  return room_.center() - QPointF(0, kNameMargin / 2);
}

scene::Place TopologySheet::place(const QPointF& point) const {
  const QPointF from = point - middle();
  return {lens_.middle.x + from.x() / lens_.scale, lens_.middle.y + from.y() / lens_.scale};
}

// Two that are joined rest about 1 apart: they do not touch.
double TopologySheet::radius(std::size_t node) const {
  return std::max(kSmallest, radii_[node] * std::min(kLargest, 0.4 * lens_.scale));
}

QRectF TopologySheet::box(std::size_t node) const {
  const QPointF c = point(layout_.places()[node]);
  const double r = radius(node);
  return {c.x() - r, c.y() - r, 2 * r, 2 * r};
}

std::optional<std::uint32_t> TopologySheet::at(const QPointF& at) const {
  std::optional<std::uint32_t> out;
  double nearest = 0;
  for (std::size_t i = 0; i < layout_.places().size(); ++i) {
    const QPointF apart = point(layout_.places()[i]) - at;
    const double d = std::hypot(apart.x(), apart.y());
    if (d <= std::max(radius(i), 5.0) && (!out || d < nearest))
      out = static_cast<std::uint32_t>(i), nearest = d;
  }
  return out;
}

void TopologySheet::paint_links(QPainter& p) const {
  const QColor ink = colour_of(session_.palette().ink()), ground = colour_of(session_.palette().background());
  const auto mixed = [&](double share) {
    const auto part = [share](int a, int b) { return static_cast<int>(a + (b - a) * share); };
    return QColor(part(ground.red(), ink.red()), part(ground.green(), ink.green()),
                  part(ground.blue(), ink.blue()));
  };
  // Of very many, lines that are a pixel wide take a hundredth of the time.
  const bool thin = topology_.links.size() > kManyLinks;
  // The weakest first; those that look alike with one pen.
  std::vector<QLineF> lines;
  int last = -1;
  const auto draw = [&] {
    const double share = static_cast<double>(last) / kSteps;
    if (last >= 0) p.setPen(QPen(mixed(0.08 + 0.42 * share), thin ? 0 : 0.5 + 2.5 * share));
    p.drawLines(lines.data(), static_cast<int>(lines.size()));
    lines.clear();
  };
  // While it moves nobody can follow more than the strongest.
  const std::size_t most = layout_.at_rest() ? topology_.links.size() : kMovingLinks;
  for (std::size_t i = std::min(topology_.links.size(), most); i-- > 0;) {
    const scene::Link& l = topology_.links[i];
    if (const int step = static_cast<int>(scene::weight_of(l, topology_, measure_) * kSteps); step != last) {
      draw();
      last = step;
    }
    lines.emplace_back(point(layout_.places()[l.a]), point(layout_.places()[l.b]));
  }
  draw();
}

void TopologySheet::paint_nodes(QPainter& p, const std::vector<float>& shares) const {
  const scene::ViewData& data = session_.data();
  const std::size_t states = data.states.size();
  const QColor nothing = colour_of(session_.palette().faint()), edge = colour_of(session_.palette().ink());
  std::vector<QColor> colours;
  for (const scene::State& s : data.states)
    colours.push_back(colour_of(session_.palette().look(s.name, s.family).colour));
  for (std::size_t i = 0; i < topology_.nodes.size(); ++i) {
    const QRectF b = box(i);
    if (!b.intersects(room_)) continue;
    const bool several = data.nodes[topology_.nodes[i]].leaf_count > 1;
    const float* of = shares.size() >= (i + 1) * states ? shares.data() + i * states : nullptr;
    const auto most = of == nullptr ? order_.end()
                                    : std::max_element(order_.begin(), order_.end(),
                                                       [&](auto x, auto y) { return of[x] < of[y]; });
    const bool known = most != order_.end() && of[*most] > 0;
    if (b.width() < 2 * kLeastPie) {
      p.fillRect(b, known ? colours[*most] : nothing);
      continue;
    }
    p.setPen(Qt::NoPen);
    p.setBrush(nothing);
    several ? p.drawRect(b) : p.drawEllipse(b);
    // As a pie, from above; of several as strips.
    double done = 0;
    for (const std::uint32_t s : order_) {
      if (of == nullptr || !(of[s] > 0)) continue;
      p.setBrush(colours[s]);
      if (several)
        p.drawRect(
            QRectF(b.left() + done * b.width(), b.top(), static_cast<double>(of[s]) * b.width(), b.height()));
      else
        p.drawPie(b, kTurn / 4 - static_cast<int>(done * kTurn), -static_cast<int>(std::ceil(of[s] * kTurn)));
      done += static_cast<double>(of[s]);
    }
    p.setBrush(Qt::NoBrush);
    p.setPen(QPen(edge, layout_.is_pinned(static_cast<std::uint32_t>(i)) ? 2 : 0.7));
    several ? p.drawRect(b) : p.drawEllipse(b);
  }
}

// Largest first, where no name is yet: on a grid of what is taken.
void TopologySheet::paint_names(QPainter& p, NameCache& kept) const {
  std::vector<std::uint32_t> nodes(topology_.nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) nodes[i] = i;
  const auto looked_at = nodes.begin() + static_cast<std::ptrdiff_t>(std::min(nodes.size(), kMostNames));
  const auto larger = [&](std::uint32_t a, std::uint32_t b) {
    return radii_[a] != radii_[b] ? radii_[a] > radii_[b] : a < b;
  };
  std::partial_sort(nodes.begin(), looked_at, nodes.end(), larger);
  p.setPen(colour_of(session_.palette().ink()));
  QColor under = colour_of(session_.palette().background());
  under.setAlphaF(0.7F);
  const double line = metrics_.height(), letter = metrics_.averageCharWidth();
  const auto columns = static_cast<int>(room_.width() / letter) + 2,
             rows = static_cast<int>(room_.height() / line) + 2;
  std::vector<std::uint8_t> taken(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows));
  for (auto n = nodes.begin(); n != looked_at; ++n) {
    const QRectF b = box(*n);
    if (!b.intersects(room_)) continue;
    const std::string& own = session_.data().nodes[topology_.nodes[*n]].name;
    const std::string name = own.empty() ? "/" : own;
    const double guess = letter * static_cast<double>(name.size());
    const auto cell = [](double from, double size, int most) {
      return std::clamp(static_cast<int>(from / size), 0, most - 1);
    };
    const int left = cell(b.center().x() - guess / 2 - room_.left(), letter, columns),
              right = cell(b.center().x() + guess / 2 - room_.left(), letter, columns),
              top = cell(b.bottom() - room_.top(), line, rows),
              bottom = cell(b.bottom() + line - room_.top(), line, rows);
    bool is_free = true;
    const auto each = [&](const auto& what) {
      for (int y = top; y <= bottom; ++y)
        for (int x = left; x <= right; ++x)
          what(taken[static_cast<std::size_t>(y) * static_cast<std::size_t>(columns) +
                     static_cast<std::size_t>(x)]);
    };
    each([&](std::uint8_t& c) { is_free = is_free && c == 0; });
    if (!is_free) continue;
    each([](std::uint8_t& c) { c = 1; });
    const QStaticText& text = kept.name(p.font(), name, kWidestName, 1);
    const QPointF at(b.center().x() - text.size().width() / 2, b.bottom());
    p.fillRect(QRectF(at, text.size()), under);
    p.drawStaticText(at, text);
  }
}

void TopologySheet::paint_frames(QPainter& p) const {
  const scene::ViewData& data = session_.data();
  const MapTime time = map_time(session_);
  const TimeNs from = data.boundaries[time.first], to = data.boundaries[time.last];
  const auto frame = [&](std::uint32_t node, double gap) {
    const std::int64_t row = scene::row_of(session_.rows(), node);
    if (row < 0 || static_cast<std::size_t>(row) >= topology_.nodes.size()) return;
    p.drawRect(box(static_cast<std::size_t>(row)).adjusted(-gap, -gap, gap, gap));
  };
  p.setBrush(Qt::NoBrush);
  p.setPen(QPen(alert_colour(session_.palette()), 2));
  for (const terminal::AlertView& a : session_.alerts()) {
    const TimeNs end(a.end_ns && !a.firing ? *a.end_ns : std::max(a.onset_ns, session_.now().value));
    if (TimeNs(a.onset_ns) >= to || end <= from) continue;
    for (const std::string& path : a.paths)
      for (const std::uint32_t n : scene::nodes_named(data, path)) frame(n, 2);
  }
  if (session_.selection() && session_.selection()->node != 0) {
    p.setPen(QPen(colour_of(session_.palette().ink()), 2, Qt::DashLine));
    frame(session_.selection()->node, 4);
  }
}

void TopologySheet::paint(QPainter& p, const std::vector<float>& shares, NameCache* kept) const {
  NameCache own;
  if (session_.data().empty() || topology_.nodes.size() != layout_.places().size()) return;
  p.save();
  p.setClipRect(room_);
  p.setRenderHint(QPainter::Antialiasing, topology_.nodes.size() <= kFewNodes);
  paint_links(p);
  paint_nodes(p, shares);
  paint_names(p, kept != nullptr ? *kept : own);
  paint_frames(p);
  p.restore();
}

QString TopologySheet::text(std::uint32_t row) const {
  const scene::ViewData& data = session_.data();
  const scene::Node& node = data.nodes[topology_.nodes[row]];
  const auto amount = [&](std::uint64_t n) {
    return measure_ == scene::LinkMeasure::kBytes ? text_of(size_text(n))
                                                  : QObject::tr("%1 messages").arg(text_of(grouped(n)));
  };
  QString out = text_of(node.path.empty() ? "/" : node.path);
  if (node.leaf_count > 1) out += QObject::tr(", %1 resources").arg(node.leaf_count);
  out += QObject::tr(": %1 sent and received").arg(amount(topology_.traffic[row]));
  for (const scene::Link& l : topology_.links) {
    if (l.a != row && l.b != row) continue;
    const std::uint32_t other = l.a == row ? l.b : l.a;
    out += QObject::tr(", most with %1: %2")
               .arg(text_of(data.nodes[topology_.nodes[other]].path), amount(scene::strength(l, measure_)));
    break;
  }
  if (topology_.own[row] > 0) out += QObject::tr("; %1 within").arg(amount(topology_.own[row]));
  return out;
}

}  // namespace margay::viewer
