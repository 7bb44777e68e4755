#include "margay/scene/layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "mixture.h"
#include "shared_cuts.h"

namespace margay::scene {
namespace {

// Of 64 bits and a sign.
double difference(TimeNs a, TimeNs b) {
  const auto from = static_cast<std::uint64_t>(b.value), to = static_cast<std::uint64_t>(a.value);
  return a < b ? -static_cast<double>(from - to) : static_cast<double>(to - from);
}

bool usable(const Viewport& v) {
  return v.width > 0 && v.height > 0 && std::isfinite(v.width) && std::isfinite(v.height) &&
         v.time.from < v.time.to && v.rows.top < v.rows.bottom && std::isfinite(v.rows.top) &&
         std::isfinite(v.rows.bottom);
}

constexpr std::size_t kFirstRects = 8192;  // there is room for so many at once

struct Stretch {
  std::uint32_t first = 0;  // slices [first, last)
  std::uint32_t last = 0;
};

// What fills a stretch in some rows: the parts listed_[begin, end).
struct Item {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  Mark mark = Mark::kNone;
};

// A part that is drawn with others.
struct Pooled {
  std::uint32_t part = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

struct RowRange {
  std::uint32_t first = 0;  // rows [first, last)
  std::uint32_t last = 0;
};

class Painter {
 public:
  Painter(const ViewData& data, const Rows& rows, const Viewport& viewport, double threshold,
          double most_whole)
      : data_(data),
        rows_(rows),
        view_(viewport),
        threshold_(threshold * (1 - 1e-9)),  // what is meant to be just as high is high enough
        most_whole_(threshold > 0 ? most_whole * threshold * (1 + 1e-9) : 0),
        px_per_ns_(viewport.width / difference(viewport.time.to, viewport.time.from)),
        px_per_unit_(viewport.height / (viewport.rows.bottom - viewport.rows.top)),
        mixture_(data),
        cuts_(data.slices()),
        open_(kMostDepth + 2),
        component_(data.slices()) {
    x_.reserve(data.boundaries.size());
    for (const TimeNs t : data.boundaries) x_.push_back(x_of(viewport, t));
    leaves_before_.reserve(rows.rows.size() + 1);
    leaves_before_.push_back(0);
    for (const Row& row : rows.rows)
      leaves_before_.push_back(leaves_before_.back() + data.nodes[row.node].leaf_count);
    listed_.reserve(data.parts.size());
    out_.rects.reserve(std::min(data.parts.size(), kFirstRects));
  }

  Layout paint() {
    open_[0] = {{0, static_cast<std::uint32_t>(data_.slices())}};
    draw(0, 1);
    return std::move(out_);
  }

 private:
  // ---- measures

  double edge(std::uint32_t row) const { return row < rows_.rows.size() ? rows_.rows[row].y : rows_.height; }
  double y_px(std::uint32_t row) const { return y_of(view_, edge(row)); }
  RowRange rows_below(std::uint32_t node) const { return {rows_.first_row[node], rows_.last_row[node]}; }
  // From differences, so that panning and scrolling change nothing.
  double height_px(RowRange r) const { return (edge(r.last) - edge(r.first)) * px_per_unit_; }
  bool low(RowRange r) const { return height_px(r) < threshold_; }
  bool narrow(std::uint32_t first, std::uint32_t last) const {
    return difference(data_.boundaries[last], data_.boundaries[first]) * px_per_ns_ < threshold_;
  }
  bool in_view(RowRange r) const {
    return edge(r.last) > view_.rows.top && edge(r.first) < view_.rows.bottom;
  }
  // Leaves of the node that the rows show: all of them at a fold or below it.
  double visible_leaves(std::uint32_t node) const {
    const RowRange r = rows_below(node);
    if (r.first == r.last) return 0;
    if (rows_.rows[r.first].node < node) return static_cast<double>(data_.nodes[node].leaf_count);
    return static_cast<double>(leaves_before_[r.last] - leaves_before_[r.first]);
  }

  // ---- the walk

  // The parts of a node that is high enough, and of all below it, in the stretches open_[level - 1], which
  // neither the node nor what is above it has filled yet. Of nodes that have the same rows, each the only
  // child shown of the one before, all parts are drawn together: they lie beside each other.
  void draw(std::uint32_t node, std::size_t level) {
    const RowRange rows = rows_below(node);
    items_.clear();
    take_own(node, open_[level - 1], open_[level]);
    for (std::uint32_t only = only_child(node); only != node && !open_[level].empty();
         only = only_child(node)) {
      node = only;
      ++level;
      take_own(node, open_[level - 1], open_[level]);
    }
    std::vector<Stretch>& open = open_[level];
    if (open.empty()) return flush(rows, node);
    const auto children = data_.children_of(node);
    const auto drawn = [&](std::uint32_t child) { return rows_.shows(child) && !low(rows_below(child)); };
    const bool none = std::none_of(children.begin(), children.end(), drawn);
    if (rows_.is_row[node] != 0 || (none && height_px(rows) <= most_whole_)) {
      aggregate(node + 1, data_.nodes[node].end, open);
      return flush(rows, node);
    }
    const auto wide =
        std::stable_partition(open.begin(), open.end(), [&](Stretch s) { return narrow(s.first, s.last); });
    aggregate(node + 1, data_.nodes[node].end, {open.begin(), wide});
    open.erase(open.begin(), wide);
    flush(rows, node);
    if (open.empty()) return;
    for (std::size_t i = 0; i < children.size();) {
      if (!rows_.shows(children[i])) {
        ++i;
      } else if (drawn(children[i])) {
        if (in_view(rows_below(children[i]))) draw(children[i], level + 1);
        ++i;
      } else {
        std::size_t end = i + 1;
        while (end < children.size() && !drawn(children[end])) ++end;
        draw_low(node, children.subspan(i, end - i), open);
        i = end;
      }
    }
  }

  // The child that has all rows of the node; the node itself if there is none.
  std::uint32_t only_child(std::uint32_t node) const {
    if (rows_.is_row[node] != 0) return node;
    for (const std::uint32_t child : data_.children_of(node))
      if (rows_.shows(child)) return rows_.last_row[child] == rows_.last_row[node] ? child : node;
    return node;
  }

  // Low children that follow each other: as one or, where that is too high, as groups that are just high
  // enough. What is left over joins the last.
  void draw_low(std::uint32_t node, std::span<const std::uint32_t> low_ones, std::span<const Stretch> open) {
    const auto rows_of = [&](std::size_t begin, std::size_t end) {
      return RowRange{rows_.first_row[low_ones[begin]], rows_.last_row[low_ones[end - 1]]};
    };
    const bool whole = height_px(rows_of(0, low_ones.size())) <= most_whole_;
    for (std::size_t begin = 0; begin < low_ones.size();) {
      std::size_t end = whole ? low_ones.size() : begin + 1;
      while (end < low_ones.size() && low(rows_of(begin, end))) ++end;
      if (end < low_ones.size() && low(rows_of(end, low_ones.size()))) end = low_ones.size();
      if (const RowRange rows = rows_of(begin, end); in_view(rows)) {
        items_.clear();
        aggregate(low_ones[begin], data_.nodes[low_ones[end - 1]].end, open);
        flush(rows, node);
      }
      begin = end;
    }
  }

  // The node's own parts become items; of `from` what they leave goes to `open`. Both in order of time.
  void take_own(std::uint32_t node, const std::vector<Stretch>& from, std::vector<Stretch>& open) {
    open.clear();
    const std::span<const Part> own = data_.parts_of(node);
    auto part = own.begin();
    for (const Stretch s : from) {
      std::uint32_t at = s.first;
      // Parts before it lie in stretches that the parent was drawn over.
      while (part != own.end() && part->first < s.first) ++part;
      for (; part != own.end() && part->first < s.last; ++part) {
        if (part->first > at) open.push_back({at, part->first});
        items_.push_back({part->first, part->last, listed_.size(), listed_.size() + 1, Mark::kNone});
        listed_.push_back(static_cast<std::uint32_t>(data_.index_of(*part)));
        at = part->last;
      }
      if (at < s.last) open.push_back({at, s.last});
    }
  }

  // What the visible parts of nodes [begin, end) do in `stretches`, as items: one for each stretch between
  // cuts that they share. No part lies across the end of a stretch.
  void aggregate(std::uint32_t begin, std::uint32_t end, std::span<const Stretch> stretches) {
    if (stretches.empty()) return;
    constexpr std::uint32_t kOutside = std::numeric_limits<std::uint32_t>::max();
    std::fill(component_.begin(), component_.end(), kOutside);
    for (const Stretch s : stretches) std::fill_n(component_.begin() + s.first, s.last - s.first, 0u);
    pooled_.clear();
    for (auto i = data_.part_begin[begin]; i < data_.part_begin[end]; ++i) {
      const Part& p = data_.parts[i];
      if (component_[p.first] == kOutside || !rows_.shows(p.node)) continue;
      cuts_.add(p.first, p.last);
      pooled_.push_back({i, p.first, p.last});
    }
    const std::size_t first_item = items_.size();
    for (const Stretch s : stretches) {
      ends_.clear();
      cuts_.ends(s.first, s.last, ends_);
      std::uint32_t at = s.first;
      for (const std::uint32_t e : ends_) {
        std::fill_n(component_.begin() + at, e - at, static_cast<std::uint32_t>(items_.size()));
        items_.push_back({at, e, 0, 0, Mark::kNone});
        at = e;
      }
    }
    // Parts sorted by item: counted, then put in place.
    for (const Pooled& t : pooled_) ++items_[component_[t.first]].end;
    std::size_t at = listed_.size();
    for (std::size_t i = first_item; i < items_.size(); ++i) {
      const std::size_t count = items_[i].end;
      items_[i].begin = items_[i].end = at;
      if (count > 1) items_[i].mark = Mark::kDiagonal;
      at += count;
    }
    listed_.resize(at);
    for (const Pooled& t : pooled_) {
      Item& item = items_[component_[t.first]];
      listed_[item.end++] = t.part;
      if (t.first != item.first || t.last != item.last) item.mark = Mark::kCross;
    }
  }

  // ---- items to rectangles

  // Narrow items that follow each other become one, as many as are wide enough together; what is left over
  // joins the last.
  void flush(RowRange rows, std::uint32_t node) {
    const auto earlier = [](const Item& a, const Item& b) { return a.first < b.first; };
    if (!std::is_sorted(items_.begin(), items_.end(), earlier))
      std::sort(items_.begin(), items_.end(), earlier);
    for (std::size_t i = 0; i < items_.size();) {
      std::size_t run = i;  // one past the last of the narrow ones that touch
      while (run < items_.size() && narrow(items_[run].first, items_[run].last) &&
             (run == i || items_[run].first == items_[run - 1].last))
        ++run;
      if (run <= i + 1) {
        emit({&items_[i], 1}, rows, node);
        ++i;
        continue;
      }
      while (i < run) {
        std::size_t end = i + 1;
        while (end < run && narrow(items_[i].first, items_[end - 1].last)) ++end;
        if (narrow(items_[end == run ? run - 1 : end].first, items_[run - 1].last)) end = run;
        emit({&items_[i], end - i}, rows, node);
        i = end;
      }
    }
    items_.clear();
  }

  void emit(std::span<const Item> items, RowRange rows, std::uint32_t node) {
    Rect r;
    r.first = items.front().first;
    r.last = items.back().last;
    r.x0 = std::clamp(x_[r.first], 0.0, view_.width);
    r.x1 = std::clamp(x_[r.last], 0.0, view_.width);
    r.y0 = std::clamp(y_px(rows.first), 0.0, view_.height);
    r.y1 = std::clamp(y_px(rows.last), 0.0, view_.height);
    if (!(r.x1 > r.x0) || !(r.y1 > r.y0)) return;
    r.first_row = rows.first;
    r.last_row = rows.last;
    const bool one = items.size() == 1 && items[0].end == items[0].begin + 1;
    if (one) {
      r.part = listed_[items[0].begin];
      const Part& part = data_.parts[static_cast<std::size_t>(r.part)];
      r.node = part.node;
      r.state = part.mode;
      r.strength = static_cast<float>(part.strength);
      r.known = static_cast<float>(part.known);
      ++out_.aggregates;
    } else {
      r.node = node;  // or the one above it of the same rows, if it is of that one
      r.mark = Mark::kDiagonal;
      r.parts = 0;
      mixture_.clear();
      for (const Item& item : items) {
        if (item.mark == Mark::kCross) r.mark = Mark::kCross;
        r.parts += static_cast<std::uint32_t>(item.end - item.begin);
        for (std::size_t i = item.begin; i < item.end; ++i) {
          prefetch(i, item.end);
          const Part& part = data_.parts[listed_[i]];
          r.node = std::min(r.node, part.node);  // those above come first
          mixture_.add(part, visible_leaves(part.node) * data_.seconds(part.first, part.last));
        }
      }
      const internal::Mode mode = mixture_.mode();
      r.state = mode.state;
      r.strength = static_cast<float>(mode.strength);
      r.known = static_cast<float>(mixture_.known());
      ++out_.visual;
    }
    out_.rects.push_back(r);
  }

  // Parts lie by node, and are listed by time: each is in another place of memory, and so are its shares.
  void prefetch(std::size_t at, std::size_t end) const {
    constexpr std::size_t kAhead = 8;
    if (at + 2 * kAhead < end) __builtin_prefetch(&data_.parts[listed_[at + 2 * kAhead]]);
    if (at + kAhead < end) __builtin_prefetch(data_.shares_of(data_.parts[listed_[at + kAhead]]).data());
  }

  const ViewData& data_;
  const Rows& rows_;
  const Viewport& view_;
  const double threshold_;
  const double most_whole_;  // pixels
  const double px_per_ns_;
  const double px_per_unit_;
  std::vector<double> x_;                     // of each boundary
  std::vector<std::uint64_t> leaves_before_;  // of each row, in the rows above it
  internal::Mixture mixture_;
  internal::SharedCuts cuts_;
  std::vector<std::vector<Stretch>> open_;  // by level of the walk
  std::vector<Item> items_;                 // of the rows being drawn
  std::vector<Pooled> pooled_;              // by aggregate(): scratch
  std::vector<std::uint32_t> listed_;       // parts of items; each part comes once
  std::vector<std::uint32_t> component_;    // of each slice the item it is in
  std::vector<std::uint32_t> ends_;
  Layout out_;
};

}  // namespace

double next_threshold(double threshold, int by) {
  constexpr std::array<double, 10> kThresholds = {kLeastThreshold, 2, kUsualThreshold, 4, 6, 8, 12, 16, 32,
                                                  kMostThreshold};
  if (std::isnan(threshold)) return kUsualThreshold;
  if (by > 0) {
    const auto next = std::upper_bound(kThresholds.begin(), kThresholds.end(), threshold);
    return next == kThresholds.end() ? kMostThreshold : *next;
  }
  const auto here = std::lower_bound(kThresholds.begin(), kThresholds.end(), threshold);
  return here == kThresholds.begin() ? kLeastThreshold : *(here - 1);
}

Layout layout(const ViewData& data, const Rows& rows, const Viewport& viewport,
              const LayoutOptions& options) {
  if (data.empty() || rows.rows.empty() || !usable(viewport)) return {};
  const double threshold = options.threshold > 0 ? options.threshold : 0;
  // Below three a group could be all there is, beside which narrow parts of the node itself would stay alone.
  const double most_whole = options.most_whole >= 3 ? options.most_whole : 3;
  return Painter(data, rows, viewport, threshold, most_whole).paint();
}

std::int64_t rect_at(const Layout& layout, double x, double y) {
  const auto inside = [&](const Rect& r) { return x >= r.x0 && x < r.x1 && y >= r.y0 && y < r.y1; };
  const auto found = std::find_if(layout.rects.begin(), layout.rects.end(), inside);
  return found == layout.rects.end() ? -1 : found - layout.rects.begin();
}

LeafRange leaves_of(const ViewData& data, const Rows& rows, const Rect& rect) {
  if (rect.first_row >= rect.last_row || rect.last_row > rows.rows.size()) return {};
  const Node& first = data.nodes[rows.rows[rect.first_row].node];
  const Node& last = data.nodes[rows.rows[rect.last_row - 1].node];
  return {first.first_leaf, last.first_leaf + last.leaf_count - first.first_leaf};
}

double x_of(const Viewport& v, TimeNs time) {
  if (!usable(v)) return 0;
  return difference(time, v.time.from) * (v.width / difference(v.time.to, v.time.from));
}

TimeNs time_at(const Viewport& v, double x) {
  if (!usable(v) || std::isnan(x)) return v.time.from;
  constexpr double kMost = 4e19;  // more than there is from the first time to the last
  const double ns = std::clamp(x * (difference(v.time.to, v.time.from) / v.width), -kMost, kMost);
  const __int128 time = static_cast<__int128>(ns) + v.time.from.value;
  using Limits = std::numeric_limits<std::int64_t>;
  return TimeNs(static_cast<std::int64_t>(std::clamp<__int128>(time, Limits::min(), Limits::max())));
}

double y_of(const Viewport& v, double row_units) {
  return usable(v) ? (row_units - v.rows.top) * (v.height / (v.rows.bottom - v.rows.top)) : 0;
}

double row_units_at(const Viewport& v, double y) {
  return usable(v) ? v.rows.top + y * ((v.rows.bottom - v.rows.top) / v.height) : 0;
}

}  // namespace margay::scene
