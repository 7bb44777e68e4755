// What the tests of significant p and of what is made from them share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cell_check.h"
#include "margay/partition/significant.h"
#include "models.h"

namespace margay::partition {

inline constexpr Operator kBoth[] = {Operator::kSpatiotemporal, Operator::kTemporal};

inline Batch make_batch(const support::Parents& parents, const support::Cells& cells,
                        Operator op = Operator::kSpatiotemporal) {
  Batch::Options o;
  o.op = op;
  o.tree = *TreeShape::from_parents(parents_of(parents));
  o.states = cells.states;
  auto batch = Batch::create(std::move(o), columns(cells));
  EXPECT_TRUE(batch);
  return std::move(*batch);
}

struct Random {
  support::Parents parents;
  support::Cells cells;
};

inline Random random_model(Rng& rng, std::size_t most_nodes, std::size_t most_slices) {
  Random m{{-1}, {}};
  const std::size_t nodes = 1 + rng() % most_nodes, reach = 1 + rng() % nodes;
  for (std::size_t k = 1; k < nodes; ++k) {
    m.parents.push_back(static_cast<int>(k - 1 - rng() % std::min(k, reach)));
  }
  const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
  m.cells = random_cells(rng, kind, leaf_count(m.parents), 1 + rng() % most_slices, 1 + rng() % 3);
  return m;
}

// `check(model, batch, rng, round)` for each of `rounds` random models, by both operators; until one fails
// fatally.
template <typename Check>
void each_model(std::uint64_t seed, int rounds, std::size_t most_nodes, std::size_t most_slices,
                const Check& check) {
  SeededRng rng(seed);
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Random model = random_model(rng, most_nodes, most_slices);
    for (const Operator op : kBoth) {
      Batch batch = make_batch(model.parents, model.cells, op);
      check(model, batch, rng, round);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// What two partitions of a model may differ by where they are worth the same: the price of their parts.
inline double price(const support::Cells& cells, double parts) {
  return internal::default_tie(internal::cells_of(cells.leaves, cells.slices), cells.states) *
             std::abs(parts) +
         1e-9;
}
inline double price(const support::Cells& cells) {
  return price(cells, static_cast<double>(cells.leaves * cells.slices));
}

inline double pic(const QualityPoint& point, double p) {
  return p * point.gain - (1 - p) * point.loss;
}

// The point of the list in force at p.
inline const QualityPoint& at(const SignificantP& list, double p) {
  std::size_t i = 0;
  while (i + 1 < list.points.size() && list.points[i + 1].p <= p) ++i;
  return list.points[i];
}

}  // namespace margay::partition
