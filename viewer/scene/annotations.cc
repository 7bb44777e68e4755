#include "margay/scene/annotations.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace margay::scene {
namespace {

constexpr double kBracketStep = 3;  // pixels from one bracket to that inside it
constexpr double kTick = 0.35;      // of a row's height

using Kind = Annotation::Kind;

std::span<const Annotation> of_node(const ViewData& data, std::uint32_t node) {
  const auto range = std::equal_range(
      data.annotations.begin(), data.annotations.end(), Annotation{Kind::kRegion, node, 0, {}, {}, 0, 0},
      [](const Annotation& a, const Annotation& b) { return a.node < b.node; });
  return {range.first, range.second};
}

struct Scale {
  double least = 0, most = 0;
  bool any = false;
  void see(double v) {
    least = any ? std::min(least, v) : v;
    most = any ? std::max(most, v) : v;
    any = true;
  }
  // 0 at the least, 1 at the largest; of a constant the middle.
  double of(double v) const {
    const double range = most / 2 - least / 2;  // of the largest numbers, too
    return range > 0 ? (v / 2 - least / 2) / range : 0.5;
  }
};

class AnnotationDrawer {
 public:
  AnnotationDrawer(const ViewData& data, const Viewport& view)
      : data_(data), view_(view), scales_(data.annotation_names.size()) {
    for (const Annotation& a : data.annotations)
      if (a.kind == Kind::kVariable) scales_[a.name].see(a.value);
  }

  void row(std::uint32_t node, double top, double bottom) {
    const auto all = of_node(data_, node);
    for (auto a = all.begin(); a != all.end();) {
      const auto end = std::find_if(a, all.end(), [&](const Annotation& x) {
        return x.kind != a->kind || (x.kind == Kind::kVariable && x.name != a->name);
      });
      const std::span<const Annotation> alike(a, end);
      if (a->kind == Kind::kRegion) brackets(alike, top);
      if (a->kind == Kind::kMark) ticks(alike, top, bottom);
      if (a->kind == Kind::kVariable) curve(alike, (top + bottom) / 2, bottom - 2);
      a = end;
    }
  }
  AnnotationLayout take() {
    std::stable_sort(out_.brackets.begin(), out_.brackets.end(), [&](const auto& a, const auto& b) {
      return data_.annotations[a.annotation].depth < data_.annotations[b.annotation].depth;
    });
    return std::move(out_);
  }

 private:
  std::uint32_t index_of(const Annotation& a) const {
    return static_cast<std::uint32_t>(&a - data_.annotations.data());
  }
  void brackets(std::span<const Annotation> regions, double top) {
    for (const Annotation& a : regions) {
      const double x0 = x_of(view_, a.begin), x1 = x_of(view_, a.end);
      if (x1 < 0 || x0 > view_.width) continue;
      out_.brackets.push_back({std::max(x0, 0.0), std::min(x1, view_.width), top + 1 + kBracketStep * a.depth,
                               x0 >= 0, x1 <= view_.width, index_of(a)});
    }
  }
  // By name, and of a name by time: names of one moment stand at one place.
  void ticks(std::span<const Annotation> marks, double top, double bottom) {
    std::vector<std::uint32_t> at;
    for (const Annotation& a : marks)
      if (const double x = x_of(view_, a.begin); x >= 0 && x <= view_.width) at.push_back(index_of(a));
    std::stable_sort(at.begin(), at.end(), [&](std::uint32_t a, std::uint32_t b) {
      return data_.annotations[a].begin < data_.annotations[b].begin;
    });
    const std::size_t first = out_.ticks.size();
    for (const std::uint32_t i : at) {
      const double x = x_of(view_, data_.annotations[i].begin);
      if (out_.ticks.size() > first && std::floor(out_.ticks.back().x) == std::floor(x))
        ++out_.ticks.back().count;
      else
        out_.ticks.push_back({x, top, top + (bottom - top) * kTick, i, 1});
    }
  }
  void curve(std::span<const Annotation> values, double top, double bottom) {
    VariableCurve c;
    c.name = values.front().name;
    const Scale& scale = scales_[c.name];
    const auto y_of = [&](double v) { return bottom - (bottom - top) * scale.of(v); };
    for (std::size_t i = 0; i < values.size();) {
      // Those of a pixel.
      const double x = x_of(view_, values[i].begin), pixel = std::floor(x);
      std::size_t end = i;
      double least = values[i].value, most = least;
      for (; end < values.size() && std::floor(x_of(view_, values[end].begin)) == pixel; ++end)
        least = std::min(least, values[end].value), most = std::max(most, values[end].value);
      const double until =
          end < values.size() ? x_of(view_, values[end].begin) : x_of(view_, data_.range().to);
      if (until >= 0 && x <= view_.width) {
        c.points.emplace_back(x, y_of(values[i].value));
        if (end - i > 2) c.points.emplace_back(x, y_of(least)), c.points.emplace_back(x, y_of(most));
        if (end - i > 1) c.points.emplace_back(x, y_of(values[end - 1].value));
        c.points.emplace_back(until, y_of(values[end - 1].value));
      }
      i = end;
    }
    if (!c.points.empty()) out_.curves.push_back(std::move(c));
  }

  const ViewData& data_;
  const Viewport& view_;
  std::vector<Scale> scales_;  // by name
  AnnotationLayout out_;
};

}  // namespace

AnnotationLayout annotations(const ViewData& data, const Rows& rows, const Viewport& view) {
  if (data.annotations.empty() || !(view.width > 0) || !(view.height > 0) || view.time.to <= view.time.from ||
      !(view.rows.bottom > view.rows.top))
    return {};
  AnnotationDrawer drawer(data, view);
  for (const Row& r : rows.rows) {
    if (r.folded || r.y + r.height <= view.rows.top || r.y >= view.rows.bottom) continue;
    drawer.row(r.node, y_of(view, r.y), y_of(view, r.y + r.height));
  }
  return drawer.take();
}

std::vector<std::uint32_t> annotations_at(const ViewData& data, std::uint32_t node, TimeNs time,
                                          DurationNs near) {
  std::vector<std::uint32_t> regions, others;
  const Annotation* value = nullptr;  // the last one of a variable
  const auto index_of = [&](const Annotation& a) {
    return static_cast<std::uint32_t>(&a - data.annotations.data());
  };
  const auto tell = [&] {
    if (value != nullptr) others.push_back(index_of(*value));
    value = nullptr;
  };
  for (const Annotation& a : of_node(data, node)) {
    if (value != nullptr && (a.kind != Kind::kVariable || a.name != value->name)) tell();
    if (a.kind == Kind::kRegion && a.begin <= time && time < a.end) regions.push_back(index_of(a));
    if (a.kind == Kind::kVariable && a.begin <= time) value = &a;
    if (a.kind == Kind::kMark && a.begin - near <= time && time <= a.begin + near)
      others.push_back(index_of(a));
  }
  tell();
  std::stable_sort(regions.begin(), regions.end(), [&](std::uint32_t a, std::uint32_t b) {
    return data.annotations[a].depth < data.annotations[b].depth;
  });
  regions.insert(regions.end(), others.begin(), others.end());
  return regions;
}

}  // namespace margay::scene
