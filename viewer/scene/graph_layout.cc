#include "margay/scene/graph_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace margay::scene {
namespace {

constexpr double kNearest = 1e-9;     // places that are nearer are the same
constexpr std::size_t kDeepest = 40;  // squares within squares
constexpr double kAgain = 0.05;       // of the width, when a graph changes a little
const double kGoldenAngle = std::numbers::pi * (3 - std::sqrt(5.0));

// A square with some of the nodes.
struct Square {
  double x = 0, y = 0, mass = 0;  // where they are in the mean
  double side = 0;
  // Children by quarter; -1: none. A leaf has the nodes [first, last) of the order.
  std::array<std::int32_t, 4> quarters{-1, -1, -1, -1};
  std::uint32_t first = 0, last = 0;
  bool leaf = true;
};

class Squares {
 public:
  Squares(std::span<const Place> places, std::span<const double> masses) : places_(places), masses_(masses) {
    if (places.empty()) return;
    double left = places[0].x, right = left, top = places[0].y, bottom = top;
    for (const Place& p : places) {
      left = std::min(left, p.x), right = std::max(right, p.x);
      top = std::min(top, p.y), bottom = std::max(bottom, p.y);
    }
    order_.resize(places.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
    squares_.reserve(2 * places.size());
    const double side = std::max({right - left, bottom - top, kNearest});
    divide(0, static_cast<std::uint32_t>(order_.size()), (left + right) / 2, (top + bottom) / 2, side, 0);
  }

  Place push_on(std::uint32_t node, double theta) const {
    Place out;
    const Place at = places_[node];
    std::array<std::int32_t, 4 * kDeepest> open;
    std::size_t n = 0;
    if (!squares_.empty()) open[n++] = 0;
    while (n > 0) {
      const Square& s = squares_[static_cast<std::size_t>(open[--n])];
      const double dx = at.x - s.x, dy = at.y - s.y, d2 = dx * dx + dy * dy;
      if (!s.leaf && s.side * s.side >= theta * theta * d2) {
        for (const std::int32_t q : s.quarters)
          if (q >= 0) open[n++] = q;
        continue;
      }
      if (!s.leaf) {
        push(out, dx, dy, d2, s.mass);
        continue;
      }
      for (std::uint32_t i = s.first; i < s.last; ++i) {
        const Place& p = places_[order_[i]];
        const double x = at.x - p.x, y = at.y - p.y;
        if (order_[i] != node) push(out, x, y, x * x + y * y, masses_[order_[i]]);
      }
    }
    return {out.x * masses_[node], out.y * masses_[node]};
  }

  static void push(Place& out, double dx, double dy, double d2, double mass) {
    if (d2 < kNearest * kNearest) return;
    out.x += mass * dx / d2, out.y += mass * dy / d2;
  }

 private:
  std::int32_t divide(std::uint32_t first, std::uint32_t last, double x, double y, double side,
                      std::size_t depth) {
    const auto at = static_cast<std::int32_t>(squares_.size());
    Square& made = squares_.emplace_back();
    made.first = first, made.last = last, made.side = side;
    for (std::uint32_t i = first; i < last; ++i) {
      const std::uint32_t node = order_[i];
      made.mass += masses_[node];
      made.x += masses_[node] * places_[node].x, made.y += masses_[node] * places_[node].y;
    }
    made.x /= made.mass, made.y /= made.mass;
    if (last - first <= kTogether || depth + 1 >= kDeepest) return at;
    const auto begin = order_.begin();
    const auto below = [&](std::uint32_t n) { return places_[n].y < y; };
    const auto before = [&](std::uint32_t n) { return places_[n].x < x; };
    const auto middle = std::partition(begin + first, begin + last, below);
    const auto upper = std::partition(begin + first, middle, before);
    const auto lower = std::partition(middle, begin + last, before);
    const std::array<std::uint32_t, 5> ends = {first, static_cast<std::uint32_t>(upper - begin),
                                               static_cast<std::uint32_t>(middle - begin),
                                               static_cast<std::uint32_t>(lower - begin), last};
    std::array<std::int32_t, 4> quarters{-1, -1, -1, -1};
    for (std::size_t q = 0; q < 4; ++q)
      if (ends[q] < ends[q + 1])
        quarters[q] = divide(ends[q], ends[q + 1], x + (q % 2 == 0 ? -side : side) / 4,
                             y + (q < 2 ? -side : side) / 4, side / 2, depth + 1);
    Square& whole = squares_[static_cast<std::size_t>(at)];
    whole.quarters = quarters;
    whole.leaf = false;
    return at;
  }

  static constexpr std::uint32_t kTogether = 4;  // nodes that are not divided further
  std::span<const Place> places_;
  std::span<const double> masses_;
  std::vector<std::uint32_t> order_;
  std::vector<Square> squares_;
};

// Round the middle of what it belongs to: the i-th of a sunflower's seeds.
Place seed(std::size_t i, Place middle, double scale) {
  const auto n = static_cast<double>(i);
  const double r = scale * std::sqrt(n + 0.5);
  return {middle.x + r * std::cos(n * kGoldenAngle), middle.y + r * std::sin(n * kGoldenAngle)};
}

}  // namespace

std::vector<Place> push_exactly(std::span<const Place> places, std::span<const double> masses) {
  std::vector<Place> out(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = 0; j < places.size(); ++j) {
      const double dx = places[i].x - places[j].x, dy = places[i].y - places[j].y;
      if (i != j) Squares::push(out[i], dx, dy, dx * dx + dy * dy, masses[j]);
    }
    out[i].x *= masses[i], out[i].y *= masses[i];
  }
  return out;
}

std::vector<Place> push_by_squares(std::span<const Place> places, std::span<const double> masses,
                                   double theta) {
  const Squares squares(places, masses);
  std::vector<Place> out(places.size());
  for (std::uint32_t i = 0; i < places.size(); ++i) out[i] = squares.push_on(i, theta);
  return out;
}

double GraphLayout::width() const {
  return std::max(1.0, std::sqrt(static_cast<double>(nodes_.size())));
}

void GraphLayout::set(std::vector<GraphNode> nodes, std::vector<GraphEdge> edges) {
  std::map<std::string, Place, std::less<>> before;
  for (std::size_t i = 0; i < nodes_.size(); ++i) before.emplace(nodes_[i].name, places_[i]);
  nodes_ = std::move(nodes);
  const bool other_edges = edges != edges_;
  edges_ = std::move(edges);
  places_.assign(nodes_.size(), {});
  masses_.clear();
  pinned_.assign(nodes_.size(), 0);
  std::map<std::string, std::size_t, std::less<>> under;  // how many began there
  std::size_t fresh = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    masses_.push_back(nodes_[i].mass);
    if (const auto pin = pins_.find(nodes_[i].name); pin != pins_.end()) {
      places_[i] = pin->second, pinned_[i] = 1;
      continue;
    }
    const auto known = before.find(nodes_[i].name);
    if (known != before.end()) {
      places_[i] = known->second;
      continue;
    }
    ++fresh;
    // What it belongs to was drawn as one, or what belongs to it was drawn by itself.
    const auto over = before.find(nodes_[i].under);
    if (over != before.end() && !nodes_[i].under.empty()) {
      places_[i] = seed(under[nodes_[i].under]++, over->second, 0.3);
      continue;
    }
    Place sum;
    std::size_t n = 0;
    for (auto b = before.lower_bound(nodes_[i].name);
         b != before.end() && b->first.starts_with(nodes_[i].name); ++b)
      if (b->first.size() > nodes_[i].name.size() && b->first[nodes_[i].name.size()] == '/')
        sum.x += b->second.x, sum.y += b->second.y, ++n;
    places_[i] =
        n > 0 ? Place{sum.x / static_cast<double>(n), sum.y / static_cast<double>(n)} : seed(i, {}, 1);
  }
  const double part = nodes_.empty() ? 0 : static_cast<double>(fresh) / static_cast<double>(nodes_.size());
  if (part > 0.5)
    heat_ = options_.first_step;
  else if (fresh > 0 || before.size() != nodes_.size() || other_edges)
    heat_ = std::max(heat_, kAgain);
}

bool GraphLayout::step() {
  if (at_rest() || nodes_.empty()) return false;
  const std::vector<Place> pushes = push_by_squares(places_, masses_, options_.theta);
  std::vector<Place> force = pushes;
  for (const GraphEdge& e : edges_) {
    const double dx = places_[e.b].x - places_[e.a].x, dy = places_[e.b].y - places_[e.a].y;
    const double pull = e.weight * std::hypot(dx, dy);
    force[e.a].x += pull * dx, force[e.a].y += pull * dy;
    force[e.b].x -= pull * dx, force[e.b].y -= pull * dy;
  }
  const double longest = heat_ * width();
  double furthest = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (pinned_[i] != 0) continue;
    force[i].x -= options_.middle * masses_[i] * places_[i].x;
    force[i].y -= options_.middle * masses_[i] * places_[i].y;
    // What is heavy is moved less by the same force.
    const double size = std::hypot(force[i].x, force[i].y) / masses_[i];
    if (size < kNearest) continue;
    const double by = std::min(size, longest);
    places_[i].x += force[i].x / masses_[i] / size * by, places_[i].y += force[i].y / masses_[i] / size * by;
    furthest = std::max(furthest, by);
  }
  heat_ = std::min(heat_ * options_.cooling, std::max(furthest / width(), heat_ * options_.cooling * 0.5));
  return true;
}

void GraphLayout::settle(std::size_t most) {
  for (std::size_t i = 0; i < most && step(); ++i) {
  }
}

void GraphLayout::warm_up() {
  heat_ = std::max(heat_, kAgain);
}

void GraphLayout::pin(std::uint32_t node, Place place) {
  if (!pins_.contains(nodes_[node].name) && pins_.size() >= kMostPins) return;
  pins_[nodes_[node].name] = place;
  places_[node] = place, pinned_[node] = 1;
}

void GraphLayout::let_go(std::uint32_t node) {
  pins_.erase(nodes_[node].name);
  pinned_[node] = 0;
}

}  // namespace margay::scene
