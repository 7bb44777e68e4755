#include "margay/partition/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>

#include "engines.h"
#include "margay/partition/temporal.h"

namespace margay::partition {
namespace batch_test {

using support::Cells;
using support::Parents;

Batch::Options options_for(const Parents& parents, std::size_t states, Operator op) {
  Batch::Options o;
  o.op = op;
  o.tree = *TreeShape::from_parents(parents_of(parents));
  o.states = states;
  o.first_slice = SliceIndex(17);
  return o;
}

// The same parts; gain and loss but for rounding.
void expect_same(const Partition& got, const Partition& want) {
  ASSERT_EQ(got.p, want.p);
  ASSERT_EQ(got.parts.size(), want.parts.size());
  for (std::size_t i = 0; i < got.parts.size(); ++i) {
    ASSERT_EQ(got.parts[i].node, want.parts[i].node) << "part " << i;
    ASSERT_EQ(got.parts[i].first, want.parts[i].first) << "part " << i;
    ASSERT_EQ(got.parts[i].last, want.parts[i].last) << "part " << i;
    ASSERT_NEAR(got.parts[i].gain, want.parts[i].gain, 1e-9);
    ASSERT_NEAR(got.parts[i].loss, want.parts[i].loss, 1e-9);
  }
  ASSERT_NEAR(got.pIC, want.pIC, 1e-8);
}

std::vector<double> some_p(Rng& rng) {
  std::vector<double> p = kP;
  for (int i = 0; i < 3; ++i) p.push_back(uniform(rng) * (i == 0 ? 1 : 0.1));
  return p;
}

void set_resources(Spatiotemporal::Options& o, const Parents& parents) {
  o.tree = *TreeShape::from_parents(parents_of(parents));
}
void set_resources(Temporal::Options& o, const Parents& parents) {
  o.leaves = leaf_count(parents);
}

// On 300 random models of at most so many nodes and slices.
template <typename EngineOptions>
void expect_parts_of_the_engine(Operator op, std::uint64_t seed, std::size_t nodes, std::size_t most_slices) {
  SeededRng rng(seed);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Parents parents = random_tree(rng, 1 + rng() % nodes);
    const std::size_t leaves = leaf_count(parents), slices = 1 + rng() % most_slices, states = 1 + rng() % 9;
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    const Cells cells = random_cells(rng, kind, leaves, slices, states);
    EngineOptions o;
    set_resources(o, parents);
    o.states = states;
    o.window = slices;
    o.p = some_p(rng);
    o.first_slice = SliceIndex(17);
    auto engine = rebuild(o, columns(cells));
    auto batch = Batch::create(options_for(parents, states, op), columns(cells));
    ASSERT_TRUE(engine && batch);
    for (std::size_t q = 0; q < o.p.size(); ++q) {
      SCOPED_TRACE("p " + std::to_string(o.p[q]));
      const auto want = engine->evaluate(*engine->partition(q));
      const auto got = batch->solve(o.p[q]);
      ASSERT_TRUE(want && got);
      ASSERT_NO_FATAL_FAILURE(expect_same(*got, *want));
    }
  }
}

TEST(Batch, SamePartsAsTheSpatiotemporalEngine) {
  expect_parts_of_the_engine<Spatiotemporal::Options>(Operator::kSpatiotemporal, 20261, 30, 40);
}

TEST(Batch, SamePartsAsTheTemporalEngine) {
  expect_parts_of_the_engine<Temporal::Options>(Operator::kTemporal, 20262, 12, 60);
}

TEST(Batch, WholeAndMicroscopic) {
  Rng rng(3);
  const Parents parents = {-1, 0, 0, 1, 1};
  const Cells cells = random_cells(rng, Kind::kSmooth, 3, 4, 2);
  for (const Operator op : {Operator::kSpatiotemporal, Operator::kTemporal}) {
    auto batch = Batch::create(options_for(parents, 2, op), columns(cells));
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->slices(), 4u);
    const Partition whole = batch->whole(), one = *batch->solve(1);
    EXPECT_EQ(whole, one);
    const Partition cells_each = batch->microscopic(), zero = *batch->solve(0);
    EXPECT_EQ(cells_each, zero);  // no two cells are alike
    EXPECT_EQ(cells_each.parts.size(), op == Operator::kTemporal ? 4u : 12u);
    EXPECT_EQ(cells_each.loss, 0);
  }
}

TEST(Batch, Refusals_NameThePlace) {
  const Parents parents = {-1, 0, 0};
  const std::vector<double> good = {0.2, 0.8, 0.5, 0.5}, w = {1, 1};
  const auto refuse = [&](std::vector<double> v, const char* expected) {
    for (const Operator op : {Operator::kSpatiotemporal, Operator::kTemporal}) {
      const std::vector<Column> two = {{good, w}, {v, w}};
      const auto batch = Batch::create(options_for(parents, 2, op), two);
      ASSERT_FALSE(batch);
      EXPECT_EQ(batch.error().code, ErrorCode::kInvalidArgument);
      EXPECT_THAT(batch.error().message, testing::HasSubstr(expected));
    }
  };
  refuse({0, 0, std::nan(""), 0}, "leaf 1, slice 18, state 0: value is not a number");
  refuse({0, std::numeric_limits<double>::infinity(), 0, 0}, "leaf 0, slice 18, state 1: value is infinite");
  refuse({0, 0, 0, -0.1}, "leaf 1, slice 18, state 1: value is negative");
  refuse({0.6, 0.6, 0, 0}, "leaf 0, slice 18: the states sum to 1.2");
  refuse({0, 0, 0}, "3 values");

  auto o = options_for(parents, 2, Operator::kSpatiotemporal);
  EXPECT_FALSE(Batch::create(o, {}));
  const std::vector<Column> one = {{good, w}};
  const std::uint64_t need = Batch::memory_needed(o, 1);
  o.memory_budget_bytes = need - 1;
  const auto over = Batch::create(o, one);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::kLimit);
  EXPECT_THAT(over.error().message, testing::HasSubstr(std::to_string(need)));
  EXPECT_THAT(over.error().message, testing::HasSubstr(std::to_string(need - 1)));
  o.memory_budget_bytes = need;
  auto batch = Batch::create(o, one);
  ASSERT_TRUE(batch);
  for (const double p : {-0.1, 1.1, std::nan("")}) {
    ASSERT_FALSE(batch->solve(p));
    EXPECT_EQ(batch->solve(p).error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Batch, DeepChainDoesNotOverflowTheStack) {
  Parents parents(100'000);
  for (std::size_t k = 0; k < parents.size(); ++k) parents[k] = static_cast<int>(k) - 1;
  const std::vector<double> low = {0.1}, high = {0.9}, w = {1};
  const std::vector<Column> two = {{low, w}, {high, w}};
  auto batch = Batch::create(options_for(parents, 1, Operator::kSpatiotemporal), two);
  ASSERT_TRUE(batch);
  const auto partition = batch->solve(0);
  ASSERT_TRUE(partition);
  ASSERT_EQ(partition->parts.size(), 2u);
  EXPECT_EQ(partition->parts[0].node, NodeIndex(0));  // the topmost of the chain
}

// Not a benchmark (no limit, one run): prints what a model costs, so that a slip shows.
TEST(Batch, PushCost_CreateAndSolve) {
  Rng rng(5);
  for (const auto& [leaves, slices] : {std::pair(700, 30), std::pair(700, 100)}) {
    Parents parents{-1};
    for (int m = 0; m < 20; ++m) parents.push_back(0);
    for (int r = 0; r < leaves; ++r) parents.push_back(1 + r / 35);
    const Cells cells = random_cells(rng, Kind::kSmooth, static_cast<std::size_t>(leaves),
                                     static_cast<std::size_t>(slices), 8);
    const auto given = columns(cells);
    auto options = options_for(parents, 8, Operator::kSpatiotemporal);
    // Processor time: others may use the machine.
    const std::clock_t start = std::clock();
    auto batch = Batch::create(std::move(options), given);
    ASSERT_TRUE(batch);
    const std::clock_t made = std::clock();
    ASSERT_TRUE(batch->solve(0.05));  // makes its tables
    const std::clock_t solved = std::clock();
    const auto partition = batch->solve(0.06);
    const std::clock_t again = std::clock();
    ASSERT_TRUE(partition);
    const auto ms = [](std::clock_t t) { return 1e3 * static_cast<double>(t) / CLOCKS_PER_SEC; };
    std::printf("%dx%dx8: create %.2f ms, first solve %.2f ms, next %.2f ms (%zu parts)\n", leaves, slices,
                ms(made - start), ms(solved - made), ms(again - solved), partition->parts.size());
  }
}

}  // namespace batch_test
}  // namespace margay::partition
