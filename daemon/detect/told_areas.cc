#include "told_areas.h"

#include <algorithm>

#include "margay/partition/set_apart.h"

namespace margay::detect {

void ToldAreas::tell(const std::string& id, const std::set<std::uint32_t>& leaves, SliceIndex first,
                     SliceIndex last) {
  auto it = std::find_if(told_.begin(), told_.end(), [&](const Told& t) { return t.id == id; });
  if (it == told_.end()) {
    if (told_.size() >= most_) told_.pop_front();
    it = told_.insert(told_.end(), Told{id, {}, first, last});
  }
  it->leaves = leaves;
  it->first = first;
  it->last = std::max(first, last);
}

void ToldAreas::end(const std::string& id, SliceIndex last) {
  const auto it = std::find_if(told_.begin(), told_.end(), [&](const Told& t) { return t.id == id; });
  if (it != told_.end()) it->last = std::max(it->first, last);
}

std::vector<Window::Area> ToldAreas::in(const Window& window) {
  std::erase_if(told_, [&](const Told& t) { return window.size() == 0 || t.last < window.first(); });
  std::vector<Window::Area> out;
  const std::vector<Told> joined = partition::join_areas(told_, joined_);
  for (auto t = joined.rbegin(); t != joined.rend() && out.size() < partition::kMostAreas; ++t) {
    Window::Area& area = out.emplace_back(Window::Area{{}, t->first, t->last});
    for (const std::uint32_t l : t->leaves) area.leaves.emplace_back(l);
  }
  return out;
}

}  // namespace margay::detect
