// Random windows of cells for the partition tests. Every choice comes from the generator given.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "margay/partition/partition.h"
#include "margay/partition/tree_shape.h"
#include "support/partition_bruteforce.h"

namespace margay::partition {

using Rng = std::mt19937_64;

// A test's own, whose seed a failure prints.
class SeededRng : public Rng {
 public:
  explicit SeededRng(std::uint64_t seed)
      : Rng(seed), trace_(__FILE__, __LINE__, "seed " + std::to_string(seed)) {}

 private:
  const testing::ScopedTrace trace_;
};

inline double uniform(Rng& rng) {
  return static_cast<double>(rng() >> 11) * 0x1p-53;
}

inline std::vector<NodeIndex> parents_of(const support::Parents& parents) {
  std::vector<NodeIndex> out;
  for (const int p : parents) out.push_back(p < 0 ? kNoParent : NodeIndex(static_cast<std::uint32_t>(p)));
  return out;
}

inline std::size_t leaf_count(const support::Parents& parents) {
  std::size_t n = 0;
  for (std::size_t k = 0; k < parents.size(); ++k) {
    n += std::find(parents.begin(), parents.end(), static_cast<int>(k)) == parents.end();
  }
  return n;
}

// How a model looks: the kinds that have ties, near-structure, holes.
enum class Kind { kSmooth, kSmallSet, kTwoLevels, kBlocks, kWeighted, kHoles, kEqual, kCount };

inline void random_cell(Rng& rng, Kind kind, std::span<double> v, double& w) {
  static constexpr double kSmall[] = {0, 0.25, 0.5, 0.75, 1};
  w = 1;
  if (kind == Kind::kWeighted) w = uniform(rng);
  if (kind == Kind::kHoles) w = kSmall[rng() % 5];
  double left = 1;
  for (std::size_t x = 0; x < v.size(); ++x) {
    double share = 0;
    switch (kind) {
      case Kind::kSmallSet:
      case Kind::kHoles:
        share = std::min(left, kSmall[rng() % 5]);
        break;
      case Kind::kTwoLevels:
      case Kind::kBlocks:
        share = std::min(left, rng() % 2 ? 0.9 : 0.1);
        break;
      case Kind::kEqual:
        share = 0.7 / static_cast<double>(v.size());
        break;
      default:
        share = left * uniform(rng);
        break;
    }
    left -= share;
    v[x] = share * w;
  }
}

inline support::Cells random_cells(Rng& rng, Kind kind, std::size_t leaves, std::size_t slices,
                                   std::size_t states) {
  support::Cells c{leaves, slices, states, std::vector<double>(leaves * slices * states),
                   std::vector<double>(leaves * slices)};
  for (std::size_t cell = 0; cell < leaves * slices; ++cell) {
    const std::span<double> v(c.v.data() + cell * states, states);
    random_cell(rng, kind, v, c.w[cell]);
    // Blocks: often the same as the leaf's slice before, or as the leaf before.
    const std::size_t step = rng() % 3 ? leaves : 1;
    if (kind == Kind::kBlocks && cell >= step && rng() % 4) {
      std::copy_n(c.v.data() + (cell - step) * states, states, v.data());
      c.w[cell] = c.w[cell - step];
    }
  }
  return c;
}

inline Column column(const support::Cells& c, std::size_t t) {
  return {std::span(c.v).subspan(t * c.leaves * c.states, c.leaves * c.states),
          std::span(c.w).subspan(t * c.leaves, c.leaves)};
}

inline std::vector<Column> columns(const support::Cells& c) {
  std::vector<Column> out;
  for (std::size_t t = 0; t < c.slices; ++t) out.push_back(column(c, t));
  return out;
}

inline std::string text(const support::Cells& c) {
  std::string out;
  for (std::size_t t = 0; t < c.slices; ++t) {
    for (std::size_t s = 0; s < c.leaves; ++s) {
      out += "[w " + std::to_string(c.weight(s, t));
      for (std::size_t x = 0; x < c.states; ++x) out += " " + std::to_string(c.value(s, t, x));
      out += "] ";
    }
    out += "\n";
  }
  return out;
}

}  // namespace margay::partition
