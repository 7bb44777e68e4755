#include "margay/scene/gantt.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace margay::scene {
namespace {

constexpr double kNarrow = 1;  // pixels

// Of visits narrower than a pixel, how long each state takes there; by depth and pixel.
using Crowd = std::map<std::pair<std::uint32_t, std::int64_t>, std::map<std::uint32_t, double>>;

class Drawer {
 public:
  Drawer(const ViewData& data, const Viewport& view) : data_(data), view_(view) {}

  void row(std::uint32_t node, double top, double bottom) {
    const std::span<const Visit> visits = data_.visits_of(node);
    std::uint32_t deepest = 0;
    for (const Visit& v : visits) deepest = std::max(deepest, v.depth);
    const auto top_of = [&](std::uint32_t depth) { return top + (bottom - top) * depth / (deepest + 1); };
    crowd_.clear();
    const std::size_t first = boxes_.size();
    for (const Visit& v : visits) {
      const double x0 = x_of(view_, v.begin), x1 = x_of(view_, v.end);
      if (x1 < 0 || x0 > view_.width) continue;
      if (x1 - x0 >= kNarrow)
        add(x0, x1, top_of(v.depth), bottom, v.state, &v - data_.visits.data());
      else
        crowd_[{v.depth, static_cast<std::int64_t>(std::floor((x0 + x1) / 2))}][v.state] +=
            std::max(x1 - x0, 1e-9);
    }
    for (const auto& [where, states] : crowd_) {
      const auto most = std::max_element(states.begin(), states.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      const auto x = static_cast<double>(where.second);
      add(x, x + 1, top_of(where.first), bottom, most->first, kNoPart);
    }
    // What is inside others comes after them.
    std::stable_sort(boxes_.begin() + static_cast<std::ptrdiff_t>(first), boxes_.end(),
                     [](const VisitBox& a, const VisitBox& b) { return a.y0 < b.y0; });
  }
  std::vector<VisitBox> take() { return std::move(boxes_); }

 private:
  void add(double x0, double x1, double y0, double y1, std::uint32_t state, std::int64_t visit) {
    VisitBox b{std::clamp(x0, 0.0, view_.width),
               std::clamp(x1, 0.0, view_.width),
               std::clamp(y0, 0.0, view_.height),
               std::clamp(y1, 0.0, view_.height),
               state,
               visit};
    if (b.x1 > b.x0 && b.y1 > b.y0) boxes_.push_back(b);
  }

  const ViewData& data_;
  const Viewport& view_;
  Crowd crowd_;
  std::vector<VisitBox> boxes_;
};

}  // namespace

std::vector<VisitBox> gantt(const ViewData& data, const Rows& rows, const Viewport& view) {
  if (data.visits.empty() || !(view.width > 0) || !(view.height > 0) || !std::isfinite(view.width) ||
      !std::isfinite(view.height) || view.time.to <= view.time.from || !(view.rows.bottom > view.rows.top))
    return {};
  Drawer drawer(data, view);
  for (const Row& r : rows.rows) {
    if (r.folded || r.y + r.height <= view.rows.top || r.y >= view.rows.bottom) continue;
    drawer.row(r.node, y_of(view, r.y), y_of(view, r.y + r.height));
  }
  return drawer.take();
}

std::int64_t visit_at(const std::vector<VisitBox>& boxes, double x, double y) {
  for (auto b = boxes.rbegin(); b != boxes.rend(); ++b)
    if (x >= b->x0 && x < b->x1 && y >= b->y0 && y < b->y1) return b->visit;
  return kNoPart;
}

}  // namespace margay::scene
