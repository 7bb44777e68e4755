#include "margay/scene/gantt.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace margay::scene {
namespace {

constexpr double kNarrow = 1;  // pixels

class Drawer {
 public:
  Drawer(const ViewData& data, const Viewport& view) : data_(data), view_(view) {}

  void row(std::uint32_t node, double top, double bottom) {
    const std::span<const Visit> visits = data_.visits_of(node);
    top_ = top, bottom_ = bottom, deepest_ = 0;
    for (const Visit& v : visits) deepest_ = std::max(deepest_, v.depth);
    crowds_.assign(deepest_ + std::size_t{1}, {});
    const std::size_t first = out_.boxes.size();
    double known = x_of(view_, data_.range().from);  // up to here
    for (const Visit& v : visits) {
      const double x0 = x_of(view_, v.begin), x1 = x_of(view_, v.end);
      if (v.depth == 0) gap(known, x0), known = std::max(known, x1);
      if (x1 < 0 || x0 > view_.width) continue;
      if (x1 - x0 >= kNarrow)
        add(x0, x1, v.depth, v.state, &v - data_.visits.data());
      else
        crowd(v.depth, static_cast<std::int64_t>(std::floor((x0 + x1) / 2)), v.state, x1 - x0);
    }
    gap(known, x_of(view_, data_.range().to));
    for (std::uint32_t depth = 0; depth <= deepest_; ++depth) end(depth);
    // What is inside others comes after them.
    if (deepest_ > 0)
      std::stable_sort(out_.boxes.begin() + static_cast<std::ptrdiff_t>(first), out_.boxes.end(),
                       [](const VisitBox& a, const VisitBox& b) { return a.y0 < b.y0; });
  }
  Gantt take() { return std::move(out_); }

 private:
  // Of visits of one depth that are narrower than a pixel: how long each state takes in it.
  struct Crowd {
    std::int64_t x = 0;
    std::vector<std::pair<std::uint32_t, double>> states;  // none: there is no crowd
  };

  void gap(double x0, double x1) {
    if (x1 - x0 < kNarrow) return;
    const Gap g{std::clamp(x0, 0.0, view_.width), std::clamp(x1, 0.0, view_.width),
                std::clamp(top_, 0.0, view_.height), std::clamp(bottom_, 0.0, view_.height)};
    if (g.x1 > g.x0 && g.y1 > g.y0) out_.gaps.push_back(g);
  }
  // Visits of a depth come in the order of their begins, so that pixels do, too.
  void crowd(std::uint32_t depth, std::int64_t x, std::uint32_t state, double width) {
    Crowd& c = crowds_[depth];
    if (c.x != x) end(depth);
    c.x = x;
    for (auto& [s, sum] : c.states)
      if (s == state) {
        sum += width;
        return;
      }
    c.states.emplace_back(state, width);
  }
  void end(std::uint32_t depth) {
    Crowd& c = crowds_[depth];
    if (c.states.empty()) return;
    const auto most = std::max_element(c.states.begin(), c.states.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto x = static_cast<double>(c.x);
    add(x, x + 1, depth, most->first, kNoPart);
    c.states.clear();
  }
  void add(double x0, double x1, std::uint32_t depth, std::uint32_t state, std::int64_t visit) {
    const double top = top_ + (bottom_ - top_) * depth / (deepest_ + 1);
    VisitBox b{std::clamp(x0, 0.0, view_.width),
               std::clamp(x1, 0.0, view_.width),
               std::clamp(top, 0.0, view_.height),
               std::clamp(bottom_, 0.0, view_.height),
               state,
               visit};
    if (b.x1 > b.x0 && b.y1 > b.y0) out_.boxes.push_back(b);
  }

  const ViewData& data_;
  const Viewport& view_;
  double top_ = 0, bottom_ = 0;  // of the row
  std::uint32_t deepest_ = 0;
  std::vector<Crowd> crowds_;  // by depth
  Gantt out_;
};

// What of a picture is seen of them.
void add_arrows(const ViewData& data, const Rows& rows, const Viewport& view, Gantt& out) {
  const auto middle = [&](std::uint32_t node) {
    const Row& r = rows.rows[rows.first_row[node]];
    return y_of(view, r.y + r.height / 2);
  };
  for (const Message& m : data.messages) {
    if (!rows.shows(m.from) || !rows.shows(m.to) || rows.first_row[m.from] == rows.first_row[m.to]) continue;
    const Arrow a{x_of(view, m.sent), middle(m.from), x_of(view, m.received), middle(m.to),
                  static_cast<std::uint32_t>(&m - data.messages.data())};
    if (std::max(a.x0, a.x1) < 0 || std::min(a.x0, a.x1) > view.width || std::max(a.y0, a.y1) < 0 ||
        std::min(a.y0, a.y1) > view.height)
      continue;
    out.arrows.push_back(a);
  }
  out.messages_in_sight = out.arrows.size();
  if (out.arrows.size() <= kMostArrows) return;
  const auto took = [&](const Arrow& a) {
    return data.messages[a.message].received - data.messages[a.message].sent;
  };
  const auto end = out.arrows.begin() + static_cast<std::ptrdiff_t>(kMostArrows);
  std::nth_element(out.arrows.begin(), end, out.arrows.end(), [&](const Arrow& a, const Arrow& b) {
    return took(a) != took(b) ? took(a) > took(b) : a.message < b.message;
  });
  out.arrows.erase(end, out.arrows.end());
  std::sort(out.arrows.begin(), out.arrows.end(),
            [](const Arrow& a, const Arrow& b) { return a.message < b.message; });
}

}  // namespace

Gantt gantt(const ViewData& data, const Rows& rows, const Viewport& view) {
  if (data.visits.empty() || !(view.width > 0) || !(view.height > 0) || !std::isfinite(view.width) ||
      !std::isfinite(view.height) || view.time.to <= view.time.from || !(view.rows.bottom > view.rows.top))
    return {};
  Drawer drawer(data, view);
  for (const Row& r : rows.rows) {
    if (r.folded || r.y + r.height <= view.rows.top || r.y >= view.rows.bottom) continue;
    drawer.row(r.node, y_of(view, r.y), y_of(view, r.y + r.height));
  }
  Gantt out = drawer.take();
  add_arrows(data, rows, view, out);
  out.annotations = annotations(data, rows, view);
  return out;
}

std::vector<std::uint32_t> messages_of(const ViewData& data, const Visit& visit) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < data.messages.size(); ++i) {
    const Message& m = data.messages[i];
    if ((m.from == visit.node && m.sent == visit.begin) ||
        (m.to == visit.node && m.received == visit.end && m.arrival_known))
      out.push_back(i);
  }
  return out;
}

std::int64_t visit_at(const Gantt& gantt, double x, double y) {
  for (auto b = gantt.boxes.rbegin(); b != gantt.boxes.rend(); ++b)
    if (x >= b->x0 && x < b->x1 && y >= b->y0 && y < b->y1) return b->visit;
  return kNoPart;
}

}  // namespace margay::scene
