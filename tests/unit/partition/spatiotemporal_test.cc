#include "margay/partition/spatiotemporal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <limits>
#include <numeric>

#include "models.h"

namespace margay::partition {
namespace {

using support::Cells;
using support::Covers;
using support::Parents;

const std::vector<double> kP = {0, 0.02, 0.1, 0.3, 0.5, 0.8, 1};

Spatiotemporal make(const Parents& parents, std::size_t states, std::size_t window,
                    std::vector<double> p = kP) {
  Spatiotemporal::Options o;
  o.tree = *TreeShape::from_parents(parents_of(parents));
  o.states = states;
  o.window = window;
  o.p = std::move(p);
  auto engine = Spatiotemporal::create(std::move(o));
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

// Every cell of the window exactly once.
void expect_cover(const Spatiotemporal& engine, const Partition& partition) {
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
                    const Spatiotemporal& engine) {
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

Parents random_tree(Rng& rng, std::size_t nodes) {
  Parents out{-1};
  const std::size_t reach = 1 + rng() % nodes;  // small: deep; large: bushy
  for (std::size_t k = 1; k < nodes; ++k) out.push_back(static_cast<int>(k - 1 - rng() % std::min(k, reach)));
  return out;
}

TEST(Spatiotemporal, BruteForce_AllSmallTrees) {
  const std::uint64_t seed = 4711;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
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

TEST(Spatiotemporal, BruteForce_ManyModelsOfLargerTrees) {
  const std::uint64_t seed = 815;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
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

TEST(Spatiotemporal, IncrementalEqualsFreshEngine_PushDropAmendSetP) {
  const std::uint64_t seed = 99;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
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
    options.p = {0, 0.05 + 0.3 * uniform(rng), 1};
    options.first_slice = SliceIndex(window.first);
    auto engine = Spatiotemporal::create(options);
    ASSERT_TRUE(engine);
    for (int step = 0; step < 70; ++step, ++steps) {
      const auto what = rng() % 8;
      if (what == 0 && !window.slices.empty()) {
        const std::size_t t = rng() % window.slices.size();
        const std::size_t s = rng() % window.leaves;
        Cells& c = window.slices[t];
        const std::span<double> v(c.v.data() + s * window.states, window.states);
        random_cell(rng, kind, v, c.w[s]);
        ASSERT_TRUE(engine->amend(SliceIndex(window.first + static_cast<std::int64_t>(t)),
                                  LeafPosition(static_cast<std::uint32_t>(s)), v, c.w[s]));
      } else if (what == 1 && rng() % 3 == 0) {
        options.p[1] = uniform(rng);
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
      const auto fresh = rebuild(options, window.view());
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

// Larger models against each other: what must not matter does not.
struct Large {
  Parents parents;
  std::size_t leaves, slices, states;
  Cells cells;
};

Large large(Rng& rng, Kind kind) {
  Large m;
  m.parents = random_tree(rng, 20 + rng() % 20);
  m.leaves = leaf_count(m.parents);
  m.slices = 10 + rng() % 20;
  m.states = 1 + rng() % 5;
  m.cells = random_cells(rng, kind, m.leaves, m.slices, m.states);
  return m;
}

Spatiotemporal solved(const Large& m) {
  auto engine = make(m.parents, m.states, m.slices);
  EXPECT_TRUE(engine.push_all(columns(m.cells)));
  return engine;
}

TEST(Spatiotemporal, POne_OneAggregate_PZero_NoLoss) {
  Rng rng(1);
  for (int round = 0; round < 100; ++round) {
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    const Large m = large(rng, kind);
    auto engine = solved(m);
    const auto one = engine.partition(kP.size() - 1);
    ASSERT_TRUE(one);
    ASSERT_EQ(one->parts.size(), 1u);
    EXPECT_EQ(one->parts[0].node, engine.tree().root());
    const auto zero = engine.partition(0);
    ASSERT_TRUE(zero);
    EXPECT_LE(zero->loss, engine.tie_bits() * static_cast<double>(m.leaves * m.slices));
    if (kind == Kind::kSmooth && m.states > 1) {
      EXPECT_EQ(zero->parts.size(), m.leaves * m.slices);
    }
    if (kind == Kind::kEqual) {
      EXPECT_EQ(zero->parts.size(), 1u);
    }
  }
}

TEST(Spatiotemporal, EqualCellsAreNeverSplit_AnyPAndSize) {
  Rng rng(2);
  for (int round = 0; round < 60; ++round) {
    Large m = large(rng, Kind::kEqual);
    // The same row everywhere, at random values and one random weight.
    std::vector<double> row(m.states);
    double w = 1;
    random_cell(rng, round % 2 ? Kind::kWeighted : Kind::kSmooth, row, w);
    for (std::size_t c = 0; c < m.cells.w.size(); ++c) {
      std::copy(row.begin(), row.end(), m.cells.v.begin() + static_cast<std::ptrdiff_t>(c * m.states));
      m.cells.w[c] = w;
    }
    const auto engine = solved(m);
    for (std::size_t q = 0; q < kP.size(); ++q) ASSERT_EQ(engine.partition(q)->parts.size(), 1u);
  }
}

TEST(Spatiotemporal, SiblingAndStateOrderDoNotMatter) {
  Rng rng(3);
  for (int round = 0; round < 80; ++round) {
    const Large m = large(rng, static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount)));
    // Renumber all nodes at random: other order of siblings, leaves and sums, same tree.
    std::vector<std::size_t> number(m.parents.size()), state(m.states);
    std::iota(number.begin(), number.end(), 0);
    std::iota(state.begin(), state.end(), 0);
    std::shuffle(number.begin(), number.end(), rng);
    std::shuffle(state.begin(), state.end(), rng);
    Large o = m;
    for (std::size_t k = 0; k < m.parents.size(); ++k) {
      o.parents[number[k]] =
          m.parents[k] < 0 ? -1 : static_cast<int>(number[static_cast<std::size_t>(m.parents[k])]);
    }
    const auto before = TreeShape::from_parents(parents_of(m.parents));
    const auto after = TreeShape::from_parents(parents_of(o.parents));
    ASSERT_TRUE(before && after);
    std::vector<std::size_t> at(m.parents.size());  // node of `after` -> position
    for (std::uint32_t s = 0; s < m.leaves; ++s) at[after->leaf_node(LeafPosition(s)).value] = s;
    for (std::uint32_t s = 0; s < m.leaves; ++s) {
      const std::size_t there = at[number[before->leaf_node(LeafPosition(s)).value]];
      for (std::size_t t = 0; t < m.slices; ++t) {
        o.cells.w[t * m.leaves + there] = m.cells.weight(s, t);
        for (std::size_t x = 0; x < m.states; ++x) {
          o.cells.v[(t * m.leaves + there) * m.states + state[x]] = m.cells.value(s, t, x);
        }
      }
    }
    const auto a = solved(m), b = solved(o);
    for (std::size_t q = 0; q < kP.size(); ++q) {
      const auto pa = a.partition(q), pb = b.partition(q);
      ASSERT_NEAR(pa->pIC, pb->pIC, 1e-8);
      ASSERT_EQ(pa->parts.size(), pb->parts.size());
      auto key = [](const Part& part, std::size_t node) {
        return std::tuple(node, part.first.value, part.last.value);
      };
      std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>> ka, kb;
      for (const Part& part : pa->parts) ka.push_back(key(part, number[part.node.value]));
      for (const Part& part : pb->parts) kb.push_back(key(part, part.node.value));
      std::sort(ka.begin(), ka.end());
      std::sort(kb.begin(), kb.end());
      ASSERT_EQ(ka, kb) << "round " << round << " p " << kP[q];
    }
  }
}

TEST(Spatiotemporal, ScalingValuesAndWeightsTogetherKeepsThePartition) {
  Rng rng(4);
  for (int round = 0; round < 60; ++round) {
    const Large m = large(rng, round % 2 ? Kind::kSmooth : Kind::kBlocks);
    Large half = m;
    for (double& v : half.cells.v) v *= 0.25;
    for (double& w : half.cells.w) w *= 0.25;
    const auto a = solved(m), b = solved(half);
    for (std::size_t q = 0; q < kP.size(); ++q) {
      const auto pa = a.partition(q), pb = b.partition(q);
      ASSERT_EQ(pa->parts.size(), pb->parts.size());
      for (std::size_t i = 0; i < pa->parts.size(); ++i) {
        ASSERT_EQ(pa->parts[i].node, pb->parts[i].node);
        ASSERT_EQ(pa->parts[i].first, pb->parts[i].first);
        ASSERT_EQ(pa->parts[i].last, pb->parts[i].last);
      }
      ASSERT_NEAR(pb->loss, 0.25 * pa->loss, 1e-8);
    }
  }
}

TEST(Spatiotemporal, WeightOne_IsThePapersFormula) {
  // Two leaves, one slice, one state: 1 and 0.5. S = 1.5, n = 2, I = -0.5.
  auto engine = make({-1, 0, 0}, 1, 1, {1});
  const std::vector<double> v = {1, 0.5}, w = {1, 1};
  ASSERT_TRUE(engine.push({v, w}));
  const auto partition = engine.partition(0);
  ASSERT_EQ(partition->parts.size(), 1u);
  const double gain = 1.5 * std::log2(1.5) - -0.5;
  EXPECT_NEAR(partition->gain, gain, 1e-12);
  EXPECT_NEAR(partition->loss, 1.5 * std::log2(2) - gain, 1e-12);
}

TEST(Spatiotemporal, CellsOfWeightZeroJoinTheirNeighbours) {
  auto engine = make({-1, 0, 0}, 2, 6, {0, 0.1});
  const std::vector<double> known = {0.3, 0.7, 0.3, 0.7}, hole = {0.3, 0.7, 0, 0};
  const std::vector<double> one = {1, 1}, half = {1, 0};
  for (int t = 0; t < 6; ++t) ASSERT_TRUE(engine.push(t % 2 ? Column{hole, half} : Column{known, one}));
  for (std::size_t q = 0; q < 2; ++q) EXPECT_EQ(engine.partition(q)->parts.size(), 1u);
}

TEST(Spatiotemporal, DeepChainDoesNotOverflowTheStack) {
  Parents parents(20'000);
  for (std::size_t k = 0; k < parents.size(); ++k) parents[k] = static_cast<int>(k) - 1;
  auto engine = make(parents, 1, 2, {0});
  const std::vector<double> low = {0.1}, high = {0.9}, w = {1};
  ASSERT_TRUE(engine.push({low, w}));
  ASSERT_TRUE(engine.push({high, w}));
  EXPECT_EQ(engine.partition(0)->parts.size(), 2u);
  EXPECT_EQ(engine.partition(0)->parts[0].node, NodeIndex(0));  // the topmost of the chain
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
  const auto engine = make({-1, 0, 0}, 2, 4, {0.1});
  const auto partition = engine.partition(0);
  ASSERT_TRUE(partition);
  EXPECT_TRUE(partition->parts.empty());
  EXPECT_EQ(engine.first_slice(), engine.end_slice());
}

// Not a benchmark (those live elsewhere): prints what a push costs, and fails only if it is absurd.
TEST(Spatiotemporal, PushCost_700x100x8) {
  Rng rng(5);
  Parents parents{-1};
  for (int m = 0; m < 44; ++m) parents.push_back(0);
  for (int r = 0; r < 700; ++r) parents.push_back(1 + r % 44);
  auto engine = make(parents, 8, 100, {0.05});
  const Cells cells = random_cells(rng, Kind::kSmooth, 700, 130, 8);
  for (std::size_t t = 0; t < 110; ++t) ASSERT_TRUE(engine.push(column(cells, t)));
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t t = 110; t < 130; ++t) ASSERT_TRUE(engine.push(column(cells, t)));
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  const auto begin = std::chrono::steady_clock::now();
  const auto partition = engine.partition(0);
  const std::chrono::duration<double, std::milli> walk = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(partition);
  std::printf("push %.2f ms; partition %.2f ms (%zu parts)", spent.count() / 20, walk.count(),
              partition->parts.size());
  ASSERT_TRUE(engine.set_p(0, 0));
  const auto micro = std::chrono::steady_clock::now();
  const auto finest = engine.partition(0);
  const std::chrono::duration<double, std::milli> slow = std::chrono::steady_clock::now() - micro;
  std::printf(", %.2f ms (%zu parts)\n", slow.count(), finest->parts.size());
}

}  // namespace
}  // namespace margay::partition
