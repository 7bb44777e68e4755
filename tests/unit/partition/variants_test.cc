// The spatiotemporal engine in all its forms: tables, instruction sets, threads, weights, trees that change.
#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <tuple>

#include "engines.h"
#include "support/parallel.h"

namespace margay::partition {
namespace variants_test {

using support::Cells;
using support::Parents;
using Tables = Spatiotemporal::Tables;

Spatiotemporal::Options options_of(const Parents& parents, std::size_t states, std::size_t window) {
  return engine_options(parents, states, window, {0.001, 0.05, 0.3, 1});
}

TEST(Variants, CompactTablesAreWithinTheirBoundOfTheOptimum) {
  SeededRng rng(11);
  double worst = 0, share = 0;
  std::size_t same = 0, all = 0;
  for (int round = 0; round < 40; ++round) {
    const Parents parents = random_tree(rng, 40 + rng() % 100);
    const std::size_t leaves = leaf_count(parents), states = 2 + rng() % 5, slices = 10 + rng() % 40;
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    const Cells cells = random_cells(rng, kind, leaves, slices, states);
    auto options = options_of(parents, states, slices);
    auto exact = rebuild(options, columns(cells));
    options.tables = Tables::kCompact;
    auto compact = rebuild(options, columns(cells));
    ASSERT_TRUE(exact && compact);
    for (std::size_t q = 0; q < options.p.size(); ++q) {
      const auto best = exact->evaluate(*exact->partition(q)),
                 found = exact->evaluate(*compact->partition(q));
      ASSERT_TRUE(best && found);
      expect_cover(*compact, *found);
      const double less = best->pIC - found->pIC;
      const double bound = compact_bound(*found, *best, leaves, slices, states, parents.size() - leaves);
      ASSERT_LE(less, bound) << "round " << round << " p " << options.p[q];
      worst = std::max(worst, less);
      share = std::max(share, less / bound);
      ++all;
      same += best->parts == found->parts;
    }
  }
  std::printf("%zu of %zu partitions the same; at worst %.2g bits less, %.2g of the bound\n", same, all,
              worst, share);
  EXPECT_GT(same, all / 2);
}

TEST(Variants, CompactTablesNeverSplitEqualCells) {
  Rng rng(12);
  for (int round = 0; round < 20; ++round) {
    const Parents parents = random_tree(rng, 20 + rng() % 60);
    const std::size_t leaves = leaf_count(parents), states = 1 + rng() % 5, slices = 1 + rng() % 40;
    auto options = options_of(parents, states, slices);
    options.p = {1e-4, 0.01, 1};
    options.tables = Tables::kCompact;
    auto engine = rebuild(options, columns(random_cells(rng, Kind::kEqual, leaves, slices, states)));
    ASSERT_TRUE(engine);
    for (std::size_t q = 0; q < 3; ++q) ASSERT_EQ(engine->partition(q)->parts.size(), 1u);
  }
}

TEST(Variants, EveryInstructionSetFindsTheSameWorth) {
  Rng rng(13);
  ASSERT_FALSE(Spatiotemporal::instruction_sets().empty());
  for (int round = 0; round < 15; ++round) {
    const Parents parents = random_tree(rng, 30 + rng() % 60);
    const std::size_t states = 1 + rng() % 6, slices = 1 + rng() % 50;
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    const Cells cells = random_cells(rng, kind, leaf_count(parents), slices, states);
    auto options = options_of(parents, states, slices);
    auto best = rebuild(options, columns(cells));
    for (const std::string& set : Spatiotemporal::instruction_sets()) {
      options.instructions = set;
      auto engine = rebuild(options, columns(cells));
      ASSERT_TRUE(engine) << set;
      for (std::size_t q = 0; q < options.p.size(); ++q) {
        const auto a = engine->partition(q), b = best->partition(q);
        ASSERT_NEAR(a->pIC, b->pIC, 1e-7) << set;
        ASSERT_EQ(a->parts.size(), b->parts.size()) << set;
      }
    }
  }
  auto options = options_of({-1, 0}, 1, 1);
  options.instructions = "abacus";
  EXPECT_THAT(Spatiotemporal::create(options).error().message, testing::HasSubstr("'abacus'"));
}

TEST(Variants, TheSameToTheBitWithAnyNumberOfThreads) {
  Rng rng(14);
  for (const std::size_t reach : {1u, 3u, 40u, 600u}) {
    Parents parents{-1};
    for (std::size_t k = 1; k < 900; ++k)
      parents.push_back(static_cast<int>(k - 1 - rng() % std::min(k, reach)));
    const std::size_t leaves = leaf_count(parents), states = 3;
    const Cells cells = random_cells(rng, Kind::kBlocks, leaves, 30, states);
    auto options = options_of(parents, states, 20);
    options.p = {0.02, 0.2};
    for (const Tables tables : {Tables::kExact, Tables::kCompact}) {
      options.tables = tables;
      std::vector<std::vector<Partition>> seen;
      for (const std::size_t threads : {1u, 2u, 5u, 14u}) {
        options.threads = threads;
        options.parallel = support::parallel;
        auto engine = Spatiotemporal::create(options);
        ASSERT_TRUE(engine);
        std::vector<Partition> partitions;
        for (std::size_t t = 0; t < 30; ++t) {
          ASSERT_TRUE(engine->push(column(cells, t)));
          if (t % 7 == 3) {
            const std::vector<double> v(states, 0.1);
            ASSERT_TRUE(engine->amend(engine->first_slice(), LeafPosition(0), v, 1));
          }
          if (t % 3 == 0)
            for (std::size_t q = 0; q < 2; ++q) partitions.push_back(*engine->partition(q));
        }
        seen.push_back(std::move(partitions));
      }
      for (const auto& other : seen) ASSERT_EQ(other, seen[0]) << "reach " << reach;
    }
  }
}

// A leaf of weight g in a slice of duration d counts as g*d cells.
TEST(Variants, WeightsOfLeavesAndDurationsOfSlices) {
  auto options = options_of({-1, 0, 0}, 2, 3);
  options.p = {1};
  options.leaf_weights = {2, 0.5};
  options.longest_slice = 4;
  auto engine = Spatiotemporal::create(options);
  ASSERT_TRUE(engine) << engine.error().message;
  const double durations[] = {1, 4, 0.25};
  const std::vector<std::vector<double>> v = {{0.5, 0.5, 1, 0}, {0.2, 0.7, 0.4, 0.1}, {0, 1, 0.3, 0.3}};
  const std::vector<std::vector<double>> w = {{1, 1}, {0.9, 0.5}, {1, 1}};
  double s[2] = {}, weight = 0, information = 0;
  for (std::size_t t = 0; t < 3; ++t) {
    ASSERT_TRUE(engine->push({v[t], w[t], durations[t]}));
    for (std::size_t leaf = 0; leaf < 2; ++leaf) {
      const double factor = options.leaf_weights[leaf] * durations[t];
      weight += w[t][leaf] * factor;
      for (std::size_t x = 0; x < 2; ++x) {
        const double one = v[t][leaf * 2 + x];
        s[x] += one * factor;
        if (one > 0) information += one * factor * std::log2(one / w[t][leaf]);
      }
    }
  }
  double loss = information;
  for (const double one : s) loss -= one * std::log2(one / weight);
  const auto partition = engine->partition(0);
  ASSERT_EQ(partition->parts.size(), 1u);
  EXPECT_NEAR(partition->loss, loss, 1e-9);
  EXPECT_NEAR(partition->gain, (s[0] + s[1]) * std::log2(weight) - loss, 1e-9);
  const auto again = engine->evaluate(*partition);
  EXPECT_NEAR(again->loss, loss, 1e-9);
  EXPECT_NEAR(again->gain, partition->gain, 1e-9);
  // And an amended cell has its slice's duration.
  ASSERT_TRUE(engine->amend(SliceIndex(1), LeafPosition(0), std::vector<double>{0, 0}, 0));
  EXPECT_NEAR(engine->partition(0)->gain + engine->partition(0)->loss,
              (s[0] + s[1] - 0.9 * 8) * std::log2(weight - 0.9 * 8), 1e-9);

  EXPECT_THAT(engine->push({v[0], w[0], 5}).error().message, testing::HasSubstr("slice 3: duration 5"));
  EXPECT_FALSE(engine->push({v[0], w[0], 0}));
  options.leaf_weights = {1, -1};
  EXPECT_THAT(Spatiotemporal::create(options).error().message, testing::HasSubstr("leaf 1: leaf weight -1"));
  options.leaf_weights = {1};
  EXPECT_FALSE(Spatiotemporal::create(options));
  options.leaf_weights.clear();
  options.tables = Tables::kCompact;
  options.p = {0};
  EXPECT_THAT(Spatiotemporal::create(options).error().message, testing::HasSubstr("compact tables"));
}

TEST(Variants, EntriesWrittenAreAtMostNodesTimesSlices) {
  Rng rng(15);
  const Parents parents = random_tree(rng, 60);
  auto options = options_of(parents, 3, 40);
  auto engine = Spatiotemporal::create(options);
  const Cells cells = random_cells(rng, Kind::kSmooth, leaf_count(parents), 100, 3);
  std::uint64_t before = 0;
  for (std::size_t t = 0; t < 100; ++t) {
    ASSERT_TRUE(engine->push(column(cells, t)));
    engine->settle();
    const std::uint64_t most = parents.size() * std::min<std::size_t>(t + 1, 40) * options.p.size();
    ASSERT_EQ(engine->entries_written() - before, most) << t;
    before = engine->entries_written();
  }
}

// --- trees that change
// --------------------------------------------------------------------------------------

// A root, hosts, ranks; all have names that stay with them.
struct Cluster {
  std::map<int, std::vector<int>> hosts;                                    // host -> ranks
  std::map<int, std::deque<std::pair<std::vector<double>, double>>> cells;  // rank -> its slices

  struct Shape {
    std::vector<NodeIndex> parents;
    std::map<int, std::uint32_t> node;  // name -> node; the root is -1
    std::vector<int> ranks;             // by leaf position
  };
  Shape shape() const {
    Shape s;
    s.parents.push_back(kNoParent);
    s.node[-1] = 0;
    for (const auto& [host, ranks] : hosts) {
      s.node[host] = static_cast<std::uint32_t>(s.parents.size());
      s.parents.push_back(NodeIndex(0));
    }
    for (const auto& [host, ranks] : hosts)
      for (const int rank : ranks) {
        s.node[rank] = static_cast<std::uint32_t>(s.parents.size());
        s.parents.push_back(NodeIndex(s.node[host]));
        s.ranks.push_back(rank);
      }
    return s;
  }
};

TEST(Variants, LeavesThatJoinAndLeave_EqualAFreshEngine) {
  SeededRng rng(16);
  std::size_t reshapes = 0;
  for (int round = 0; round < 24; ++round) {
    const std::size_t states = 1 + rng() % 3, window = 1 + rng() % 22;
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    Cluster c;
    int next_name = 1000;
    c.hosts[0] = {next_name++};
    c.cells[1000];
    auto shape = c.shape();
    Spatiotemporal::Options options;
    options.tree = *TreeShape::from_parents(shape.parents);
    options.states = states;
    options.window = window;
    options.p = {0.003, 0.1 + 0.5 * uniform(rng)};
    options.most_leaves = 64;
    options.tables = round % 2 ? Tables::kCompact : Tables::kExact;
    auto engine = Spatiotemporal::create(options);
    ASSERT_TRUE(engine);
    std::size_t held = 0;
    std::int64_t first = 0;
    for (int step = 0; step < 60; ++step) {
      const auto what = rng() % 6;
      bool changed = false;
      if (what == 0 && shape.ranks.size() < 60) {  // some join
        for (std::size_t n = 1 + rng() % 4; n-- > 0;) {
          const int host = static_cast<int>(rng() % 6);
          c.hosts[host].push_back(next_name);
          c.cells[next_name++].assign(held, {std::vector<double>(states, 0.0), 0.0});
        }
        changed = true;
      } else if (what == 1 && shape.ranks.size() > 1) {  // one leaves
        const int rank = shape.ranks[rng() % shape.ranks.size()];
        for (auto& [host, ranks] : c.hosts) std::erase(ranks, rank);
        std::erase_if(c.hosts, [](const auto& h) { return h.second.empty(); });
        c.cells.erase(rank);
        changed = true;
      } else if (what == 2 && held > 0) {
        const std::size_t t = rng() % held, leaf = rng() % shape.ranks.size();
        auto& [v, w] = c.cells[shape.ranks[leaf]][t];
        random_cell(rng, kind, v, w);
        ASSERT_TRUE(engine->amend(SliceIndex(first + static_cast<std::int64_t>(t)),
                                  LeafPosition(static_cast<std::uint32_t>(leaf)), v, w));
      } else {
        std::vector<double> v, w;
        for (const int rank : shape.ranks) {
          std::vector<double> one(states);
          double weight = 0;
          random_cell(rng, kind, one, weight);
          v.insert(v.end(), one.begin(), one.end());
          w.push_back(weight);
          c.cells[rank].push_back({one, weight});
          if (held == window) c.cells[rank].pop_front();
        }
        if (held == window)
          ++first;
        else
          ++held;
        ASSERT_TRUE(engine->push({v, w}));
      }
      if (changed) {
        const auto now = c.shape();
        std::vector<NodeIndex> from(now.parents.size(), kNoParent);
        for (const auto& [name, node] : now.node)
          if (const auto was = shape.node.find(name); was != shape.node.end())
            from[node] = NodeIndex(was->second);
        const auto before = engine->entries_written();
        auto tree = *TreeShape::from_parents(now.parents);
        const std::size_t nodes = tree.size();
        const auto ok = engine->reshape(std::move(tree), from);
        ASSERT_TRUE(ok) << ok.error().message;
        shape = now;
        ++reshapes;
        engine->settle();
        ASSERT_LE(engine->entries_written() - before,
                  nodes * window * (window + 1) / 2 * options.p.size() * 2);
      }
      if (rng() % 3 != 0 && step != 59) continue;
      std::vector<std::vector<double>> v(held), w(held);
      for (std::size_t t = 0; t < held; ++t)
        for (const int rank : shape.ranks) {
          const auto& [one, weight] = c.cells[rank][t];
          v[t].insert(v[t].end(), one.begin(), one.end());
          w[t].push_back(weight);
        }
      std::vector<Column> view;
      for (std::size_t t = 0; t < held; ++t) view.push_back({v[t], w[t]});
      auto fresh_options = options;
      fresh_options.tree = *TreeShape::from_parents(shape.parents);
      fresh_options.first_slice = SliceIndex(first);
      auto fresh = rebuild(fresh_options, view);
      ASSERT_TRUE(fresh);
      for (std::size_t q = 0; q < options.p.size(); ++q) {
        const auto a = engine->partition(q), b = fresh->partition(q);
        ASSERT_TRUE(a && b);
        ASSERT_EQ(*a, *b) << "round " << round << " step " << step;
        if (held > 0) expect_cover(*engine, *a);
      }
    }
  }
  std::printf("%zu changes of the tree\n", reshapes);
}

TEST(Variants, WhatAJoinCostsIsItsOwnPath) {
  // 20 hosts of 10 ranks; one more joins the last host.
  std::vector<NodeIndex> parents{kNoParent};
  for (int h = 0; h < 20; ++h) parents.emplace_back(0);
  for (std::uint32_t r = 0; r < 200; ++r) parents.emplace_back(1 + r / 10);
  Spatiotemporal::Options options;
  options.tree = *TreeShape::from_parents(parents);
  options.states = 2;
  options.window = 16;
  options.p = {0.1};
  options.most_leaves = 256;
  auto engine = Spatiotemporal::create(options);
  Rng rng(17);
  const Cells cells = random_cells(rng, Kind::kSmooth, 200, 16, 2);
  for (std::size_t t = 0; t < 16; ++t) ASSERT_TRUE(engine->push(column(cells, t)));
  engine->settle();
  std::vector<NodeIndex> from;
  for (std::uint32_t k = 0; k < parents.size(); ++k) from.emplace_back(k);
  parents.emplace_back(20);
  from.push_back(kNoParent);
  const auto before = engine->entries_written();
  ASSERT_TRUE(engine->reshape(*TreeShape::from_parents(parents), from));
  engine->settle();
  EXPECT_EQ(engine->entries_written() - before, 3u * 16 * 17 / 2);  // the leaf, its host, the root
}

TEST(Variants, ReshapeRefusals) {
  auto options = options_of({-1, 0, 0}, 1, 4);
  options.most_leaves = 3;
  auto engine = Spatiotemporal::create(options);
  const auto tree = [](const Parents& parents) { return *TreeShape::from_parents(parents_of(parents)); };
  const auto node = [](std::uint32_t k) { return NodeIndex(k); };
  const auto refused = [&](const Parents& parents, std::vector<NodeIndex> from) {
    const auto ok = engine->reshape(tree(parents), from);
    return ok ? std::string("taken") : ok.error().message;
  };
  EXPECT_THAT(refused({-1, 0, 0}, {node(0)}), testing::HasSubstr("3 nodes with 1"));
  EXPECT_THAT(refused({-1, 0, 0}, {node(0), node(1), node(1)}),
              testing::HasSubstr("node 2 was node 1, and so was"));
  EXPECT_THAT(refused({-1, 0, 0}, {node(1), node(0), node(2)}), testing::HasSubstr("a leaf stays one"));
  EXPECT_THAT(refused({-1, 0, 0}, {node(0), node(9), node(2)}), testing::HasSubstr("not in the tree"));
  EXPECT_THAT(refused({-1, 0, 0, 0, 0}, {node(0), node(1), node(2), kNoParent, kNoParent}),
              testing::HasSubstr("made for 3"));
  EXPECT_EQ(refused({-1, 0, 0, 0}, {node(0), node(1), node(2), kNoParent}), "taken");
  // And what create() would refuse.
  options.memory_budget_bytes = Spatiotemporal::memory_needed(options);
  engine = Spatiotemporal::create(options);
  ASSERT_TRUE(engine);
  EXPECT_THAT(refused({-1, 0, 0, 0}, {node(0), node(1), node(2), kNoParent}),
              testing::HasSubstr("budget is " + std::to_string(options.memory_budget_bytes)));
}

}  // namespace variants_test
}  // namespace margay::partition
