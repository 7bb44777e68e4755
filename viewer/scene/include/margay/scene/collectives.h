// Collective calls as one: who was in it, who came last. Single visits to the same collective state, of
// several resources, that all last at one moment (Barrier, Allreduce, Alltoall and the like let nobody go
// before all are there). Visits come in order of their begins, and each belongs to the first one that still
// holds all before it and has nobody of its resource, of sixteen that are open at a time.
//
// Which communicator a call is about is not known here: calls of two communicators at the same moment are
// one. A collective in which the first leave before the last come (Bcast, Reduce) falls into those that
// overlap, or is none. Calls that were summed are no single ones and left out, as are resources that are not
// in sight.
//
// Thread safety: pure. Cost: visits * log(visits); bands linear in those of the rows that are seen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "margay/scene/layout.h"
#include "margay/scene/rows.h"
#include "margay/scene/view_data.h"

namespace margay::scene {

struct Collective {
  std::uint32_t state = 0;
  std::vector<std::uint32_t> visits;  // indices, by node; at least two
  std::uint32_t last = 0;             // the visit that came last, index
  TimeNs first_in{}, last_in{}, first_out{}, last_out{};
};

// By the time at which the first came; of equals by state.
std::vector<Collective> collectives(const ViewData& data);
// The one that the visit belongs to; null: none.
const Collective* collective_of(std::span<const Collective> all, std::uint32_t visit);

// One in the rows that show it: its outline is the left edge of each row and back over the right ones.
struct Band {
  struct Edge {
    double x0 = 0, x1 = 0, y0 = 0, y1 = 0;  // pixels; may lie outside the viewport
  };
  std::vector<Edge> edges;       // from top to bottom
  std::uint32_t collective = 0;  // index
};
inline constexpr std::size_t kMostBands = 500;
inline constexpr double kNarrowBand = 8;  // pixels
inline constexpr double kNarrowEdge = 4;  // pixels: of rows that are lower some are left out

// Of those of two rows at least that are in sight and wider than kNarrowBand, the kMostBands that take
// longest, in their order. Edges are those in sight; resources within a folded row have none.
std::vector<Band> collective_bands(const ViewData& data, std::span<const Collective> all, const Rows& rows,
                                   const Viewport& viewport);

}  // namespace margay::scene
