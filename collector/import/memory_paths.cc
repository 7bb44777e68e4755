#include "memory_paths.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <set>
#include <tuple>

namespace margay::trace::memory {
namespace {

// A leaf where it is in memory.
struct Place {
  std::uint32_t space;
  std::uint32_t structure;
  std::uint64_t number;  // of the page
  std::uint32_t thread, leaf;
  auto key() const { return std::tie(space, structure, number, thread); }
};

std::string address_text(std::uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

// The leaves of one structure or chunk.
class Group {
 public:
  using Take = std::function<Status(std::uint32_t leaf, const model::Attributes&)>;

  Group(const Pages& pages, const Names& names, std::string name, const Structure* structure,
        std::uint64_t first)
      : pages_(pages), names_(names), name_(std::move(name)), structure_(structure), first_(first) {
    const bool indexed =
        structure != nullptr && structure->element > 0 && structure->element <= pages.page_bytes();
    element_ = indexed ? structure->element : 0;
  }

  // [from, to) of `places` are the leaves, ascending.
  Status tell(const std::vector<Place>& places, std::size_t from, std::size_t to, const Take& take) {
    // Depth first, without a stack of calls: the ranges that are still to be cut, and their depths.
    struct Range {
      std::size_t from, to, depth;
    };
    std::vector<Range> open{{from, to, 0}};
    while (!open.empty()) {
      const Range r = open.back();
      open.pop_back();
      const std::uint64_t first = places[r.from].number, last = places[r.to - 1].number;
      ranges_.resize(r.depth);
      if (first == last) {
        for (std::size_t i = r.from; i < r.to; ++i)
          if (Status ok = take(places[i].leaf, attributes(places[i])); !ok) return ok;
        continue;
      }
      if (r.depth > 0) ranges_[r.depth - 1] = range_text(first, last);
      // The first page beyond the lower half.
      const std::uint64_t bit = std::bit_floor((first - first_) ^ (last - first_));
      const std::uint64_t upper = first_ + ((last - first_) & ~(bit - 1));
      const auto middle = std::partition_point(places.begin() + static_cast<std::ptrdiff_t>(r.from),
                                               places.begin() + static_cast<std::ptrdiff_t>(r.to),
                                               [upper](const Place& p) { return p.number < upper; });
      const auto cut = static_cast<std::size_t>(middle - places.begin());
      open.push_back({cut, r.to, r.depth + 1});
      open.push_back({r.from, cut, r.depth + 1});
    }
    return {};
  }

 private:
  // Pages [first, last], as people count them here.
  std::string range_text(std::uint64_t first, std::uint64_t last) const {
    if (element_ == 0)
      return first == last ? "page" + std::to_string(first - first_)
                           : "pages" + std::to_string(first - first_) + "-" + std::to_string(last - first_);
    const std::uint64_t bytes = pages_.page_bytes();
    const std::uint64_t begin = std::max(first * bytes, structure_->begin);
    const std::uint64_t end = std::min(last * bytes + (bytes - 1), structure_->end - 1);
    return "[" + std::to_string((begin - structure_->begin) / element_) + "-" +
           std::to_string((end - structure_->begin) / element_) + "]";
  }

  model::Attributes attributes(const Place& place) const {
    model::Attributes out;
    std::size_t level = 0;
    const auto path = [&](std::string text) { out["path" + std::to_string(++level)] = std::move(text); };
    if (names_.spaces.size() > 1) path("pid" + names_.spaces[place.space]);
    path(name_);
    for (std::size_t i = 0; i + 1 < ranges_.size(); ++i) path(ranges_[i]);
    path(range_text(place.number, place.number));
    if (place.thread != kNobody) {
      const Thread& t = names_.threads[place.thread];
      path(t.shown());
      out["tid"] = t.name;
      if (!t.program.empty()) out["program"] = t.program;
    }
    if (place.space < names_.spaces.size()) out["pid"] = names_.spaces[place.space];
    out["structure"] = name_;
    out["page"] = std::to_string(place.number - first_);
    out["number"] = std::to_string(place.number);
    out["address"] = address_text(place.number * pages_.page_bytes());
    out["base"] = "None";
    return out;
  }

  const Pages& pages_;
  const Names& names_;
  const std::string name_;
  const Structure* const structure_;
  const std::uint64_t first_;  // page
  std::uint64_t element_ = 0;
  std::vector<std::string> ranges_;
};

std::vector<Place> places_of(const Pages& pages) {
  std::vector<Place> places;
  const auto& leaves = pages.leaves();
  for (std::uint32_t l = 0; l < leaves.size(); ++l) {
    const Pages::Page& page = pages[leaves[l].page];
    places.push_back({page.space, leaves[l].structure, page.number, leaves[l].thread, l});
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.key() < b.key(); });
  return places;
}

// Names that two structures have are made different: their paths would be one.
std::vector<std::string> names_of(const Structures& structures) {
  std::vector<std::string> out;
  std::set<std::string> used;
  for (std::uint32_t s = 0; s < structures.size(); ++s) {
    std::string name = structures[s].name;
    for (int again = 1; !used.insert(name).second; ++again)
      name = structures[s].name + " " + address_text(structures[s].begin) +
             (again == 1 ? "" : "#" + std::to_string(again));
    out.push_back(std::move(name));
  }
  return out;
}

}  // namespace

Status describe(const Pages& pages, const Names& names, const Group::Take& take) {
  const std::vector<Place> places = places_of(pages);
  const std::vector<std::string> structures = names_of(pages.structures());
  const std::uint64_t gap = std::max<std::uint64_t>(1, kChunkGap / pages.page_bytes());
  std::uint32_t chunk = 0;
  for (std::size_t from = 0, to = 0; from < places.size(); from = to) {
    const Place& first = places[from];
    const bool named = first.structure != kNobody;
    for (to = from + 1; to < places.size(); ++to) {
      if (places[to].space != first.space || places[to].structure != first.structure) break;
      if (!named && places[to].number - places[to - 1].number > gap) break;
    }
    const Structure* structure = named ? &pages.structures()[first.structure] : nullptr;
    // Pages of a structure are counted from its begin, touched or not.
    const std::uint64_t zero = named ? structure->begin / pages.page_bytes() : first.number;
    std::string name =
        named ? structures[first.structure]
              : "chunk" + std::to_string(++chunk) + " " + address_text(zero * pages.page_bytes());
    if (Status ok = Group(pages, names, std::move(name), structure, zero).tell(places, from, to, take); !ok)
      return ok;
  }
  return {};
}

}  // namespace margay::trace::memory
