#include "margay/scene/collectives.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace margay::scene {
namespace {

// More than one at a time are calls within calls of the same name, or of several communicators.
constexpr std::size_t kMostOpen = 16;

// Of one state those that are still going on.
class Grouping {
 public:
  Grouping(const ViewData& data, std::uint32_t state) : data_(data), state_(state) {}

  void add(std::uint32_t visit) {
    const Visit& v = data_.visits[visit];
    // What nobody can come to any more.
    std::erase_if(open_, [&](Open& o) {
      if (v.begin < o.what.first_out) return false;
      finish(o.what);
      return true;
    });
    auto to =
        std::find_if(open_.begin(), open_.end(), [&](const Open& o) { return !o.nodes.contains(v.node); });
    if (to == open_.end()) {
      if (open_.size() >= kMostOpen) return;
      open_.push_back({{state_, {}, visit, v.begin, v.begin, v.end, v.end}, {}});
      to = open_.end() - 1;
    }
    Collective& c = to->what;
    to->nodes.insert(v.node);
    c.visits.push_back(visit);
    c.last = visit;
    c.last_in = v.begin;
    c.first_out = std::min(c.first_out, v.end);
    c.last_out = std::max(c.last_out, v.end);
  }
  void end(std::vector<Collective>& out) {
    for (Open& o : open_) finish(o.what);
    open_.clear();
    out.insert(out.end(), std::make_move_iterator(done_.begin()), std::make_move_iterator(done_.end()));
    done_.clear();
  }

 private:
  struct Open {
    Collective what;
    std::unordered_set<std::uint32_t> nodes;
  };
  void finish(Collective& c) {
    if (c.visits.size() < 2) return;
    std::sort(c.visits.begin(), c.visits.end());
    done_.push_back(std::move(c));
  }

  const ViewData& data_;
  const std::uint32_t state_;
  std::vector<Open> open_;
  std::vector<Collective> done_;
};

}  // namespace

std::vector<Collective> collectives(const ViewData& data) {
  std::vector<std::uint32_t> visits;
  for (std::uint32_t i = 0; i < data.visits.size(); ++i) {
    const Visit& v = data.visits[i];
    if (data.states[v.state].family == wire::FAMILY_COLLECTIVE && !v.several_calls && v.begin < v.end)
      visits.push_back(i);
  }
  const auto order = [&](std::uint32_t i) {
    const Visit& v = data.visits[i];
    return std::tuple(v.state, v.begin, v.node, i);
  };
  std::sort(visits.begin(), visits.end(),
            [&](std::uint32_t a, std::uint32_t b) { return order(a) < order(b); });
  std::vector<Collective> out;
  for (std::size_t i = 0; i < visits.size();) {
    const std::uint32_t state = data.visits[visits[i]].state;
    Grouping grouping(data, state);
    for (; i < visits.size() && data.visits[visits[i]].state == state; ++i) grouping.add(visits[i]);
    grouping.end(out);
  }
  std::sort(out.begin(), out.end(), [](const Collective& a, const Collective& b) {
    return std::tuple(a.first_in, a.state, a.visits.front()) <
           std::tuple(b.first_in, b.state, b.visits.front());
  });
  return out;
}

const Collective* collective_of(std::span<const Collective> all, std::uint32_t visit) {
  for (const Collective& c : all)
    if (std::binary_search(c.visits.begin(), c.visits.end(), visit)) return &c;
  return nullptr;
}

std::vector<Band> collective_bands(const ViewData& data, std::span<const Collective> all, const Rows& rows,
                                   const Viewport& view) {
  std::vector<Band> out;
  if (!(view.width > 0) || view.time.to <= view.time.from) return out;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const Collective& c = all[i];
    const double x0 = x_of(view, c.first_in), x1 = x_of(view, c.last_out);
    if (x1 < 0 || x0 > view.width || x1 - x0 < kNarrowBand) continue;
    Band band{{}, i};
    std::size_t members = 0;
    for (const std::uint32_t visit : c.visits) {
      const Visit& v = data.visits[visit];
      if (!rows.shows(v.node)) continue;
      const Row& r = rows.rows[rows.first_row[v.node]];
      if (r.folded) continue;
      // Nodes come from top to bottom, as rows do.
      const double y0 = y_of(view, r.y), y1 = y_of(view, r.y + r.height);
      ++members;
      if (y1 <= 0 || y0 >= view.height) continue;
      if (!band.edges.empty() && y1 - band.edges.back().y0 < kNarrowEdge) continue;
      band.edges.push_back({x_of(view, v.begin), x_of(view, v.end), y0, y1});
    }
    if (members > 1 && !band.edges.empty()) out.push_back(std::move(band));
  }
  if (out.size() <= kMostBands) return out;
  const auto longer = [&](const Band& a, const Band& b) {
    const DurationNs la = all[a.collective].last_out - all[a.collective].first_in,
                     lb = all[b.collective].last_out - all[b.collective].first_in;
    return la != lb ? la > lb : a.collective < b.collective;
  };
  const auto end = out.begin() + static_cast<std::ptrdiff_t>(kMostBands);
  std::nth_element(out.begin(), end, out.end(), longer);
  out.erase(end, out.end());
  std::sort(out.begin(), out.end(), [](const Band& a, const Band& b) { return a.collective < b.collective; });
  return out;
}

}  // namespace margay::scene
