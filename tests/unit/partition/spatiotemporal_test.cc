#include "margay/partition/spatiotemporal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <deque>
#include <limits>

#include "engines.h"

namespace margay::partition {
namespace spatiotemporal_test {

using support::Cells;
using support::Covers;
using support::Parents;

// The partition's numbers, measured by the judge's formulas.
double judged_pic(const Parents& parents, const Cells& cells, const Partition& partition,
                  std::int64_t origin) {
  double sum = 0;
  for (const Part& part : partition.parts) {
    const auto m = support::measure_area(cells, support::leaves_below(parents, part.node.value),
                                         static_cast<std::size_t>(part.first.value - origin),
                                         static_cast<std::size_t>(part.last.value - origin));
    EXPECT_NEAR(m.loss, part.loss, 1e-9);
    EXPECT_NEAR(m.gain, part.gain, 1e-9);
    EXPECT_GE(part.loss, 0);
    sum += m.pic(partition.p);
  }
  return sum;
}

void expect_optimal(const Parents& parents, const Covers& covers, const Cells& cells,
                    Spatiotemporal& engine) {
  for (std::size_t q = 0; q < engine.p().size(); ++q) {
    const auto partition = engine.partition(q);
    ASSERT_TRUE(partition);
    expect_cover(engine, *partition);
    const double pic = judged_pic(parents, cells, *partition, engine.first_slice().value);
    const double tie = engine.tie_bits();
    const auto best = covers.best(cells, partition->p, tie);
    const double parts = static_cast<double>(partition->parts.size());
    ASSERT_GE(pic, best.pic - tie * parts) << "p " << partition->p << "\n" << text(cells);
    ASSERT_NEAR(pic - tie * parts, best.priced, tie / 8) << "p " << partition->p << "\n" << text(cells);
    ASSERT_NEAR(partition->pIC, pic, 1e-9);
    ASSERT_EQ(partition->parts.size(), best.parts) << "p " << partition->p << "\n" << text(cells);
    const auto again = engine.evaluate(*partition);
    ASSERT_TRUE(again);
    ASSERT_NEAR(again->pIC, pic, 1e-9);
  }
}

// All trees with `nodes` nodes whose parents precede them: every shape, every order of siblings.
std::vector<Parents> all_trees(std::size_t nodes) {
  std::vector<Parents> out{{-1}};
  for (std::size_t k = 1; k < nodes; ++k) {
    std::vector<Parents> longer;
    for (const Parents& tree : out) {
      for (std::size_t parent = 0; parent < k; ++parent) {
        longer.push_back(tree);
        longer.back().push_back(static_cast<int>(parent));
      }
    }
    out = std::move(longer);
  }
  return out;
}

TEST(Spatiotemporal, BruteForce_AllSmallTrees) {
  const std::uint64_t seed = 4711;
  SeededRng rng(seed);
  std::size_t trees = 0, models = 0;
  for (std::size_t nodes = 1; nodes <= 6; ++nodes) {
    for (const Parents& parents : all_trees(nodes)) {
      const std::size_t leaves = leaf_count(parents);
      ++trees;
      for (std::size_t slices = 1; slices <= (leaves <= 3 ? 4 : 3); ++slices) {
        const Covers covers(parents, slices);
        for (std::size_t kind = 0; kind < static_cast<std::size_t>(Kind::kCount); ++kind) {
          const std::size_t states = 1 + rng() % 3;
          const Cells cells = random_cells(rng, static_cast<Kind>(kind), leaves, slices, states);
          auto engine = make(parents, states, slices);
          ASSERT_TRUE(engine.push_all(columns(cells)));
          ASSERT_NO_FATAL_FAILURE(expect_optimal(parents, covers, cells, engine));
          ++models;
        }
      }
    }
  }
  std::printf("%zu trees, %zu models, %zu values of p, seed %llu\n", trees, models, kP.size(),
              static_cast<unsigned long long>(seed));
}

// Trees by their leaves: every node but the leaves has two children at least. As text: "(..(.))" would have
// one of three leaves; siblings in descending order, so that each shape is made once.
std::vector<std::string> shapes(std::size_t leaves, const std::string& largest = "~");

// Forests of `leaves` leaves whose trees descend from `largest` on.
std::vector<std::string> forests(std::size_t leaves, const std::string& largest) {
  if (leaves == 0) return {""};
  std::vector<std::string> out;
  for (std::size_t first = 1; first <= leaves; ++first)
    for (const std::string& tree : shapes(first, largest))
      for (const std::string& rest : forests(leaves - first, tree)) out.push_back(tree + rest);
  return out;
}

std::vector<std::string> shapes(std::size_t leaves, const std::string& largest) {
  if (leaves == 1)
    return std::string(".") <= largest ? std::vector<std::string>{"."} : std::vector<std::string>{};
  std::vector<std::string> out;
  for (std::size_t first = 1; first < leaves; ++first)
    for (const std::string& tree : shapes(first))
      for (const std::string& rest : forests(leaves - first, tree))
        if (const std::string shape = "(" + tree + rest + ")"; shape <= largest) out.push_back(shape);
  return out;
}

Parents parents_of_shape(const std::string& shape) {
  Parents parents;
  std::vector<int> open{-1};
  for (const char c : shape) {
    if (c == ')') {
      open.pop_back();
      continue;
    }
    parents.push_back(open.back());
    if (c == '(') open.push_back(static_cast<int>(parents.size()) - 1);
  }
  return parents;
}

TEST(Spatiotemporal, BruteForce_EveryShapeOfUpTo5LeavesAnd4Slices) {
  SeededRng rng(1234);
  std::vector<std::size_t> count;
  std::size_t most = 0, kind = 0;
  for (std::size_t leaves = 1; leaves <= 5; ++leaves) {
    count.push_back(shapes(leaves).size());
    for (const std::string& shape : shapes(leaves)) {
      for (std::size_t slices = 1; slices <= 4; ++slices) {
        const Parents parents = parents_of_shape(shape);
        const Covers covers(parents, slices);
        most = std::max(most, covers.count());
        for (int model = 0; model < 2; ++model) {
          SCOPED_TRACE(shape);
          const auto cells =
              random_cells(rng, static_cast<Kind>(kind++ % static_cast<std::size_t>(Kind::kCount)), leaves,
                           slices, 1 + rng() % 3);
          auto engine = make(parents, cells.states, slices, {0, 0.1, 0.4, 1});
          ASSERT_TRUE(engine.push_all(columns(cells)));
          ASSERT_NO_FATAL_FAILURE(expect_optimal(parents, covers, cells, engine));
        }
      }
    }
  }
  EXPECT_THAT(count, testing::ElementsAre(1, 1, 2, 5, 12));  // OEIS A000669
  std::printf("up to %zu covers\n", most);
}

TEST(Spatiotemporal, BruteForce_ManyModelsOfLargerTrees) {
  const std::uint64_t seed = 815;
  SeededRng rng(seed);
  struct Case {
    Parents parents;
    std::size_t slices;
    int models;
  };
  const std::vector<Case> cases = {
      {{-1, 0, 0, 1, 1, 2, 2}, 4, 60},         // two machines of two
      {{-1, 0, 0, 1, 1, 2, 2, 2}, 3, 150},     // five leaves
      {{-1, 0, 0, 1, 1, 3, 3, 5, 5}, 3, 100},  // five leaves, each one level deeper
      {{2, 4, 4, 4, -1, 2, 2, 6, 6}, 3, 100},  // root in the middle, leaves at three depths
      {{-1, 0, 1, 2, 3, 3}, 4, 300},           // a chain, then two leaves
      {{-1, 0, 0}, 4, 1000},
      {{-1, 0, 0, 1, 1}, 4, 500},
  };
  std::size_t models = 0;
  for (const Case& c : cases) {
    const Covers covers(c.parents, c.slices);
    for (int round = 0; round < c.models; ++round, ++models) {
      const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
      const std::size_t states = 1 + rng() % 4;
      const Cells cells = random_cells(rng, kind, leaf_count(c.parents), c.slices, states);
      auto engine = make(c.parents, states, c.slices, {kP[rng() % kP.size()], uniform(rng)});
      ASSERT_TRUE(engine.push_all(columns(cells)));
      ASSERT_NO_FATAL_FAILURE(expect_optimal(c.parents, covers, cells, engine));
    }
    std::printf("%zu nodes x %zu slices: %zu covers each for %d models\n", c.parents.size(), c.slices,
                covers.count(), c.models);
  }
  std::printf("%zu models, seed %llu\n", models, static_cast<unsigned long long>(seed));
}

// A window kept beside the engine: what the caller does, and what a fresh engine is built from.
struct Window {
  std::size_t leaves, states, capacity;
  std::deque<Cells> slices;
  std::int64_t first = 0;

  std::vector<Column> view() const {
    std::vector<Column> out;
    for (const Cells& c : slices) out.push_back(column(c, 0));
    return out;
  }
};

void incremental_equals_fresh(Spatiotemporal::Tables tables, const std::string& instructions,
                              std::uint64_t seed) {
  SeededRng rng(seed);
  std::size_t steps = 0;
  for (int round = 0; round < 60; ++round) {
    const Parents parents = random_tree(rng, 1 + rng() % 14);
    Window window{leaf_count(parents), 1 + rng() % 4, 1 + rng() % 27, {}};
    window.first = static_cast<std::int64_t>(rng() % 1000) - 500;
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    Spatiotemporal::Options options;
    options.tree = *TreeShape::from_parents(parents_of(parents));
    options.states = window.states;
    options.window = window.capacity;
    options.p = {tables == Spatiotemporal::Tables::kExact ? 0 : 0.001, 0.05 + 0.3 * uniform(rng), 1};
    options.tables = tables;
    options.instructions = instructions;
    options.first_slice = SliceIndex(window.first);
    auto engine = Spatiotemporal::create(options);
    ASSERT_TRUE(engine);
    for (int step = 0; step < 70; ++step, ++steps) {
      // In every other round much is left to be done by the next reading.
      const bool seldom_read = round % 2 == 1;
      const auto what = rng() % 8;
      if ((what == 0 || (what >= 5 && seldom_read)) && !window.slices.empty()) {
        const std::size_t t = rng() % window.slices.size();
        const std::size_t s = rng() % window.leaves;
        Cells& c = window.slices[t];
        const std::span<double> v(c.v.data() + s * window.states, window.states);
        random_cell(rng, kind, v, c.w[s]);
        ASSERT_TRUE(engine->amend(SliceIndex(window.first + static_cast<std::int64_t>(t)),
                                  LeafPosition(static_cast<std::uint32_t>(s)), v, c.w[s]));
      } else if (what == 1 && rng() % 3 == 0) {
        options.p[1] = 0.001 + 0.999 * uniform(rng);
        ASSERT_TRUE(engine->set_p(1, options.p[1]));
      } else {
        window.slices.push_back(random_cells(rng, kind, window.leaves, 1, window.states));
        ASSERT_TRUE(engine->push(column(window.slices.back(), 0)));
        if (window.slices.size() > window.capacity) {
          window.slices.pop_front();
          ++window.first;
        }
      }
      options.first_slice = SliceIndex(window.first);
      auto fresh = rebuild(options, window.view());
      ASSERT_TRUE(fresh);
      ASSERT_EQ(engine->size(), window.slices.size());
      ASSERT_EQ(engine->first_slice(), SliceIndex(window.first));
      for (std::size_t q = 0; q < options.p.size(); ++q) {
        const auto a = engine->partition(q), b = fresh->partition(q);
        ASSERT_TRUE(a && b);
        ASSERT_EQ(*a, *b) << "round " << round << " step " << step;  // the very same bits
        expect_cover(*engine, *a);
      }
    }
  }
  std::printf("%zu steps, seed %llu\n", steps, static_cast<unsigned long long>(seed));
}

TEST(Spatiotemporal, IncrementalEqualsFreshEngine_PushDropAmendSetP) {
  for (const std::string& set : Spatiotemporal::instruction_sets()) {
    SCOPED_TRACE(set);
    incremental_equals_fresh(Spatiotemporal::Tables::kExact, set, 99);
    incremental_equals_fresh(Spatiotemporal::Tables::kCompact, set, 98);
  }
}

TEST(Spatiotemporal, Refusals_NameThePlaceAndChangeNothing) {
  Spatiotemporal::Options o;
  o.tree = *TreeShape::from_parents(parents_of({-1, 0, 0}));
  o.states = 2;
  o.window = 3;
  o.p = {0.1};
  o.first_slice = SliceIndex(40);
  const auto refuse_options = [&](auto change, const char* expected) {
    auto bad = o;
    change(bad);
    const auto engine = Spatiotemporal::create(bad);
    ASSERT_FALSE(engine);
    EXPECT_THAT(engine.error().message, testing::HasSubstr(expected));
  };
  refuse_options([](auto& b) { b.states = 0; }, "0 states");
  refuse_options([](auto& b) { b.window = 0; }, "window of 0");
  refuse_options([](auto& b) { b.p = {}; }, "0 values of p");
  refuse_options([](auto& b) { b.p = {1.5}; }, "p is 1.5");
  refuse_options([](auto& b) { b.p = {std::nan("")}; }, "p is nan");
  refuse_options([](auto& b) { b.tie_bits = -1; }, "tie_bits");
  const std::uint64_t need = Spatiotemporal::memory_needed(o);
  refuse_options([&](auto& b) { b.memory_budget_bytes = need - 1; }, std::to_string(need).c_str());
  refuse_options([&](auto& b) { b.memory_budget_bytes = need - 1; }, std::to_string(need - 1).c_str());
  o.memory_budget_bytes = need;

  auto engine = Spatiotemporal::create(o);
  ASSERT_TRUE(engine);
  const std::vector<double> v = {0.2, 0.8, 0.5, 0.5}, w = {1, 1};
  ASSERT_TRUE(engine->push({v, w}));
  const auto before = *engine->partition(0);
  const auto refuse_push = [&](std::vector<double> bv, std::vector<double> bw, const char* expected) {
    const auto status = engine->push({bv, bw});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message, testing::HasSubstr(expected));
  };
  const double inf = std::numeric_limits<double>::infinity();
  refuse_push({0, 0, std::nan(""), 0}, {1, 1}, "leaf 1, slice 41, state 0: value is not a number");
  refuse_push({0, inf, 0, 0}, {1, 1}, "leaf 0, slice 41, state 1: value is infinite");
  refuse_push({0, -1e-300, 0, 0}, {1, 1}, "leaf 0, slice 41, state 1: value is negative");
  refuse_push({0, 0, 0.3, 0.4}, {1, 0.5}, "leaf 1, slice 41: the states sum to 0.7");
  refuse_push({0, 0, 0, 0}, {1, std::nan("")}, "leaf 1, slice 41: weight is not a number");
  refuse_push({0, 0, 0, 0}, {-0.5, 1}, "leaf 0, slice 41: weight is negative");
  refuse_push({0, 0, 0, 0}, {1, 1.1}, "leaf 1, slice 41: weight 1.1");
  refuse_push({0, 0, 0}, {1, 1}, "3 values");
  EXPECT_TRUE(engine->push({std::vector<double>{0.5 + 5e-10, 0.5, 0, 0}, w}));  // within tolerance

  const std::vector<double> cell = {0.5, 0.5}, bad = {0.5, std::nan("")};
  EXPECT_EQ(engine->amend(SliceIndex(39), LeafPosition(0), cell, 1).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(engine->amend(SliceIndex(42), LeafPosition(0), cell, 1).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(engine->amend(SliceIndex(40), LeafPosition(2), cell, 1));
  EXPECT_THAT(engine->amend(SliceIndex(40), LeafPosition(1), bad, 1).error().message,
              testing::HasSubstr("leaf 1, slice 40, state 1"));
  EXPECT_FALSE(engine->partition(1));
  EXPECT_FALSE(engine->set_p(1, 0.5));
  EXPECT_FALSE(engine->set_p(0, 2));
  Partition strange = before;
  strange.parts[0].node = NodeIndex(17);
  EXPECT_FALSE(engine->evaluate(strange));
  strange = before;
  strange.parts[0].last = SliceIndex(99);
  EXPECT_FALSE(engine->evaluate(strange));
  EXPECT_EQ(engine->size(), 2u);
}

TEST(Spatiotemporal, EmptyEngineHasNoParts) {
  auto engine = make({-1, 0, 0}, 2, 4, {0.1});
  const auto partition = engine.partition(0);
  ASSERT_TRUE(partition);
  EXPECT_TRUE(partition->parts.empty());
  EXPECT_EQ(engine.first_slice(), engine.end_slice());
}

}  // namespace spatiotemporal_test
}  // namespace margay::partition
