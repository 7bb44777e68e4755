// The spatiotemporal optimum with the tables of one way from the root down at a time, against that with
// tables of all nodes.
#include <algorithm>

#include "engines.h"
#include "margay/partition/significant.h"

namespace margay::partition {
namespace one_path_test {

using support::Cells;
using support::Parents;
using Tables = Spatiotemporal::Tables;

void expect_same(Spatiotemporal& one, Spatiotemporal& all) {
  for (std::size_t q = 0; q < all.p().size(); ++q) {
    const auto a = one.partition(q), b = all.partition(q);
    ASSERT_TRUE(a && b);
    ASSERT_EQ(*a, *b) << "p " << all.p()[q];  // the very same bits, in the same order
  }
}

TEST(OnePath, TheSameToTheBitInWindowsThatSlide) {
  SeededRng rng(71);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Parents parents = random_tree(rng, 1 + rng() % 40);
    const std::size_t leaves = leaf_count(parents), states = 1 + rng() % 5, window = 1 + rng() % 70;
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    const Cells cells = random_cells(rng, kind, leaves, window + rng() % 20, states);
    auto options = engine_options(parents, states, window);
    auto all = rebuild(options, columns(cells));
    options.tables = Tables::kOnePath;
    auto one = rebuild(options, columns(cells));
    ASSERT_TRUE(all && one);
    ASSERT_NO_FATAL_FAILURE(expect_same(*one, *all));
    const Cells other = random_cells(rng, kind, leaves, 1, states);
    const SliceIndex slice = all->first_slice() + static_cast<std::int64_t>(rng() % all->size());
    for (Spatiotemporal* engine : {&*one, &*all}) {
      ASSERT_TRUE(engine->amend(slice, LeafPosition(0), std::span(other.v).first(states), other.w[0]));
      ASSERT_TRUE(engine->set_p(1, 0.07));
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(*one, *all));
    EXPECT_EQ(*one->evaluate(*one->partition(1)), *all->evaluate(*all->partition(1)));
  }
}

TEST(OnePath, TheSameToTheBitWhenTheTreeChanges) {
  SeededRng rng(72);
  for (int round = 0; round < 20; ++round) {
    const std::size_t states = 2, window = 1 + rng() % 30;
    const Cells cells = random_cells(rng, Kind::kBlocks, 2, window, states);
    auto options = engine_options({-1, 0, 0}, states, window);
    options.most_leaves = 3;
    auto all = rebuild(options, columns(cells));
    options.tables = Tables::kOnePath;
    options.memory_budget_bytes = Spatiotemporal::memory_needed(options) * 3;
    auto one = rebuild(options, columns(cells));
    ASSERT_TRUE(all && one);
    // Another level: nodes 1 and 2 go below a new one, beside a leaf that joins.
    const auto tree = *TreeShape::from_parents(parents_of({-1, 0, 1, 1, 0}));
    const NodeIndex from[] = {NodeIndex(0), kNoParent, NodeIndex(1), NodeIndex(2), kNoParent};
    ASSERT_TRUE(one->reshape(tree, from) && all->reshape(tree, from));
    ASSERT_NO_FATAL_FAILURE(expect_same(*one, *all));
  }
}

TEST(OnePath, MemoryGrowsWithTheLevels_NotWithTheNodesThatAreBeside) {
  const auto tables = [](std::uint32_t leaves, Tables kind) {
    Spatiotemporal::Options o;
    o.tree = TreeShape::flat(leaves);
    o.states = 2;
    o.window = 1000;
    o.p = {0.1};
    o.tables = kind;
    return Spatiotemporal::memory_needed(o);
  };
  const std::uint64_t sums = tables(11, Tables::kOnePath) - tables(1, Tables::kOnePath);
  EXPECT_LT(sums, 10 * 4 * 1100 * sizeof(double));
  EXPECT_GT(tables(11, Tables::kExact) - tables(1, Tables::kExact), 40 * sums);
}

TEST(OnePath, EndsWhereNobodyWaits_AndIsAsGoodAsBefore) {
  SeededRng rng(73);
  auto options = engine_options({-1, 0, 0, 1, 1, 2, 2}, 2, 40);
  options.tables = Tables::kOnePath;
  const Cells cells = random_cells(rng, Kind::kSmooth, 4, 40, 2);
  auto engine = rebuild(options, columns(cells));
  ASSERT_TRUE(engine);
  const auto before = *engine->partition(1);
  // Of a large model it is asked within; of this one not once.
  int calls = 0;
  EXPECT_TRUE(*engine->partition(1, [&] { return ++calls > 0; }) == before);
  EXPECT_EQ(calls, 0);

  Spatiotemporal::Options large;
  large.tree = TreeShape::flat(300);
  large.states = 2;
  large.window = 300;
  large.p = {0.05};
  large.tables = Tables::kOnePath;
  const Cells more = random_cells(rng, Kind::kBlocks, 300, 300, 2);
  auto other = rebuild(large, columns(more));
  ASSERT_TRUE(other);
  const auto ended = other->partition(0, [&] { return ++calls < 2; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(other->size(), 300u);
  const auto whole = other->partition(0, [&] { return ++calls > 0; });
  ASSERT_TRUE(whole);
  ASSERT_NO_FATAL_FAILURE(expect_cover(*other, *whole));
}

TEST(OnePath, MoreLevelsThanItCanWalkAreRefused) {
  Parents parents(257);
  for (std::size_t k = 0; k < parents.size(); ++k) parents[k] = static_cast<int>(k) - 1;
  auto options = engine_options(parents, 1, 1);
  options.tables = Tables::kOnePath;
  ASSERT_FALSE(Spatiotemporal::create(options));
  EXPECT_EQ(Spatiotemporal::create(options).error().code, ErrorCode::kLimit);
  parents.resize(256);
  options.tree = *TreeShape::from_parents(parents_of(parents));
  EXPECT_TRUE(Spatiotemporal::create(options));
}

// What Batch does where its tables are over the budget.
TEST(OnePath, OfABatchThatHasNoRoomForTables) {
  SeededRng rng(74);
  std::size_t without = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Parents parents = random_tree(rng, 20 + rng() % 40);
    const std::size_t leaves = leaf_count(parents), states = 1 + rng() % 4, slices = 20 + rng() % 40;
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    const Cells cells = random_cells(rng, kind, leaves, slices, states);
    Batch::Options options;
    options.tree = *TreeShape::from_parents(parents_of(parents));
    options.states = states;
    options.first_slice = SliceIndex(17);
    auto all = Batch::create(options, columns(cells));
    options.memory_budget_bytes = Batch::least_memory(options, slices);
    auto one = Batch::create(options, columns(cells));
    ASSERT_TRUE(all && one);
    EXPECT_TRUE(all->keeps_tables());
    if (one->keeps_tables()) continue;  // deep and narrow
    ++without;
    for (const double p : kP) {
      const auto want = all->solve(p), got = one->solve(p);
      ASSERT_TRUE(want && got);
      EXPECT_EQ(got->p, p);
      ASSERT_EQ(got->parts.size(), want->parts.size()) << p;
      for (std::size_t i = 0; i < got->parts.size(); ++i) {
        const Part &a = got->parts[i], &b = want->parts[i];
        ASSERT_EQ(std::tuple(a.node, a.first, a.last), std::tuple(b.node, b.first, b.last)) << p;
        ASSERT_NEAR(a.gain, b.gain, 1e-9);
        ASSERT_NEAR(a.loss, b.loss, 1e-9);
        const Part quick = one->measured(a.node, a.first, a.last);
        ASSERT_NEAR(quick.gain, a.gain, 1e-6);
        ASSERT_NEAR(quick.loss, a.loss, 1e-6);
      }
      EXPECT_NEAR(got->pIC, want->pIC, 1e-8);
    }
    EXPECT_EQ(one->whole().parts, one->solve(1)->parts);
    EXPECT_EQ(one->microscopic().parts.size(), leaves * slices);
    EnvelopeOptions enough;
    enough.most_solves = 1000;
    const auto want = envelope(*all, enough), got = envelope(*one, enough);
    ASSERT_TRUE(want && got && want->complete && got->complete);
    EXPECT_EQ(got->points.size(), want->points.size());
    for (const Error& error : {significant_p(*one).error(), strengths(*one, *one->solve(0.1)).error()}) {
      EXPECT_EQ(error.code, ErrorCode::kLimit);
      EXPECT_THAT(error.message, testing::HasSubstr(std::to_string(options.memory_budget_bytes)));
    }
    --options.memory_budget_bytes;
    EXPECT_EQ(Batch::create(options, columns(cells)).error().code, ErrorCode::kLimit);
    int calls = 0;
    EXPECT_EQ(significant_p(*all, {[&] { return ++calls > 0; }})->complete, true);
  }
  EXPECT_GT(without, 20u);
}

}  // namespace one_path_test
}  // namespace margay::partition
