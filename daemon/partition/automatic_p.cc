#include "margay/partition/automatic_p.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "margay/partition/noise.h"

namespace margay::partition {
namespace {

struct Seen {
  std::size_t parts, apart;
};

}  // namespace

Result<double> automatic_p(const Solve& solve, const TreeShape& tree, double floor,
                           std::span<const Area> areas, std::size_t most) {
  if (areas.empty()) return floor;
  const auto look = [&](double p) -> Result<Seen> {
    const auto partition = solve(p);
    if (!partition) return tl::unexpected(partition.error());
    const auto apart = std::count_if(areas.begin(), areas.end(),
                                     [&](const Area& a) { return is_apart(*partition, tree, a); });
    return Seen{partition->parts.size(), static_cast<std::size_t>(apart)};
  };
  const auto at_floor = look(floor);
  if (!at_floor) return tl::unexpected(at_floor.error());
  double found = floor, above = floor;  // at `above` fewer are apart than at `found`, if that is lower
  std::size_t apart = at_floor->apart;
  double last = floor;
  for (int step = 1; step <= kSteps && apart < areas.size() && at_floor->parts <= most; ++step) {
    const double p = last / std::numbers::sqrt2;
    if (p < kLeastP) break;
    const auto seen = look(p);
    if (!seen) return tl::unexpected(seen.error());
    if (seen->parts > most) break;
    if (seen->apart > apart) found = p, above = last, apart = seen->apart;
    last = p;
  }
  for (int half = 0; half < kHalves && found < above; ++half) {
    const double p = std::sqrt(found * above);
    const auto seen = look(p);
    if (!seen) return tl::unexpected(seen.error());
    (seen->apart >= apart && seen->parts <= most ? found : above) = p;
  }
  return found;
}

}  // namespace margay::partition
