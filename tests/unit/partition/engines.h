// What the tests of the spatiotemporal engine share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "margay/partition/spatiotemporal.h"
#include "models.h"

namespace margay::partition {

inline const std::vector<double> kP = {0, 0.02, 0.1, 0.3, 0.5, 0.8, 1};

inline Spatiotemporal::Options engine_options(const support::Parents& parents, std::size_t states,
                                              std::size_t window, std::vector<double> p = kP) {
  Spatiotemporal::Options o;
  o.tree = *TreeShape::from_parents(parents_of(parents));
  o.states = states;
  o.window = window;
  o.p = std::move(p);
  return o;
}

inline Spatiotemporal make(const support::Parents& parents, std::size_t states, std::size_t window,
                           std::vector<double> p = kP) {
  auto engine = Spatiotemporal::create(engine_options(parents, states, window, std::move(p)));
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

// Every cell of the window exactly once.
inline void expect_cover(Spatiotemporal& engine, const Partition& partition) {
  const std::size_t leaves = engine.tree().leaf_count(), n = engine.size();
  std::vector<int> times(leaves * n, 0);
  for (const Part& part : partition.parts) {
    ASSERT_GE(part.first, engine.first_slice());
    ASSERT_LT(part.last, engine.end_slice());
    ASSERT_LE(part.first, part.last);
    for (const LeafPosition leaf : engine.tree().leaves_under(part.node)) {
      for (SliceIndex t = part.first; t <= part.last; ++t) {
        ++times[leaf.value * n + static_cast<std::size_t>(t.value - engine.first_slice().value)];
      }
    }
  }
  ASSERT_THAT(times, testing::Each(1));
}

// What 32-bit tables may cost (spatiotemporal.h): half a unit for each part and each cut in space, of the
// partition found and of the best.
inline double compact_bound(const Partition& found, const Partition& best, std::size_t leaves,
                            std::size_t slices, std::size_t states, std::size_t depth) {
  const double n = static_cast<double>(leaves * slices);
  const double largest = n * (2 + std::log2(n) + std::log2(static_cast<double>(states)));
  const double unit = std::ldexp(largest, -27);
  return unit / 2 * static_cast<double>((found.parts.size() + best.parts.size()) * (1 + depth));
}

inline support::Parents random_tree(Rng& rng, std::size_t nodes) {
  support::Parents out{-1};
  const std::size_t reach = 1 + rng() % nodes;  // small: deep; large: bushy
  for (std::size_t k = 1; k < nodes; ++k) out.push_back(static_cast<int>(k - 1 - rng() % std::min(k, reach)));
  return out;
}

}  // namespace margay::partition
