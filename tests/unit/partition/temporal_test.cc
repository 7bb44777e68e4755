#include "margay/partition/temporal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>

#include "models.h"

namespace margay::partition {
namespace temporal_test {

using support::Cells;

const std::vector<double> kP = {0, 0.02, 0.1, 0.3, 0.5, 0.8, 1};

Temporal::Options options_for(std::size_t leaves, std::size_t states, std::size_t window) {
  Temporal::Options o;
  o.leaves = leaves;
  o.states = states;
  o.window = window;
  o.p = kP;
  return o;
}

void expect_cover(const Temporal& engine, const Partition& partition) {
  SliceIndex next = engine.first_slice();
  for (const Part& part : partition.parts) {
    ASSERT_EQ(part.node, kAllLeaves);
    ASSERT_EQ(part.first, next);
    ASSERT_LE(part.first, part.last);
    next = part.last + 1;
  }
  ASSERT_EQ(next, engine.end_slice());
}

TEST(Temporal, BruteForce_AllCompositions) {
  const std::uint64_t seed = 31;
  SeededRng rng(seed);
  const int models = 3000;
  for (int round = 0; round < models; ++round) {
    const std::size_t leaves = 1 + rng() % 5, slices = 1 + rng() % 12, states = 1 + rng() % 3;
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    const Cells cells = random_cells(rng, kind, leaves, slices, states);
    auto engine = rebuild(options_for(leaves, states, slices), columns(cells));
    ASSERT_TRUE(engine);
    for (std::size_t q = 0; q < kP.size(); ++q) {
      const auto partition = engine->partition(q);
      ASSERT_TRUE(partition);
      ASSERT_NO_FATAL_FAILURE(expect_cover(*engine, *partition));
      const auto best = support::best_composition(cells, kP[q], engine->tie_bits());
      double pic = 0;
      for (const Part& part : partition->parts) {
        const auto m = support::measure_interval(cells, static_cast<std::size_t>(part.first.value),
                                                 static_cast<std::size_t>(part.last.value));
        ASSERT_NEAR(m.loss, part.loss, 1e-9);
        ASSERT_NEAR(m.gain, part.gain, 1e-9);
        pic += m.pic(kP[q]);
      }
      const double tie = engine->tie_bits(), parts = static_cast<double>(partition->parts.size());
      ASSERT_GE(pic, best.pic - tie * parts) << text(cells);
      ASSERT_NEAR(pic - tie * parts, best.priced, tie / 8) << text(cells);
      ASSERT_EQ(partition->parts.size(), best.parts) << "p " << kP[q] << "\n" << text(cells);
      const auto again = engine->evaluate(*partition);
      ASSERT_TRUE(again);
      ASSERT_NEAR(again->pIC, partition->pIC, 1e-9);
    }
  }
  std::printf("%d models, seed %llu\n", models, static_cast<unsigned long long>(seed));
}

TEST(Temporal, IncrementalEqualsFreshEngine_PushDropAmend) {
  const std::uint64_t seed = 77;
  SeededRng rng(seed);
  std::size_t steps = 0;
  for (int round = 0; round < 40; ++round) {
    const std::size_t leaves = 1 + rng() % 6, states = 1 + rng() % 4, capacity = 1 + rng() % 27;
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    auto options = options_for(leaves, states, capacity);
    std::int64_t first = static_cast<std::int64_t>(rng() % 1000) - 500;
    options.first_slice = SliceIndex(first);
    auto engine = Temporal::create(options);
    ASSERT_TRUE(engine);
    std::deque<Cells> window;
    for (int step = 0; step < 80; ++step, ++steps) {
      if (rng() % 5 == 0 && !window.empty()) {
        const std::size_t t = rng() % window.size(), s = rng() % leaves;
        const std::span<double> v(window[t].v.data() + s * states, states);
        random_cell(rng, kind, v, window[t].w[s]);
        ASSERT_TRUE(engine->amend(SliceIndex(first + static_cast<std::int64_t>(t)),
                                  LeafPosition(static_cast<std::uint32_t>(s)), v, window[t].w[s]));
      } else {
        window.push_back(random_cells(rng, kind, leaves, 1, states));
        ASSERT_TRUE(engine->push(column(window.back(), 0)));
        if (window.size() > capacity) {
          window.pop_front();
          ++first;
        }
      }
      options.first_slice = SliceIndex(first);
      std::vector<Column> view;
      for (const Cells& c : window) view.push_back(column(c, 0));
      auto fresh = rebuild(options, view);
      ASSERT_TRUE(fresh);
      for (std::size_t q = 0; q < kP.size(); ++q) {
        const auto a = engine->partition(q), b = fresh->partition(q);
        ASSERT_TRUE(a && b);
        ASSERT_EQ(*a, *b) << "round " << round << " step " << step;  // the very same bits
        ASSERT_NO_FATAL_FAILURE(expect_cover(*engine, *a));
      }
    }
  }
  std::printf("%zu steps, seed %llu\n", steps, static_cast<unsigned long long>(seed));
}

TEST(Temporal, Extremes_OrderAndScale) {
  Rng rng(8);
  for (int round = 0; round < 60; ++round) {
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    const std::size_t leaves = 1 + rng() % 10, slices = 2 + rng() % 60, states = 2 + rng() % 4;
    const Cells cells = random_cells(rng, kind, leaves, slices, states);
    // Leaves and states in reverse, everything scaled by a half.
    Cells other = cells;
    for (std::size_t t = 0; t < slices; ++t) {
      for (std::size_t s = 0; s < leaves; ++s) {
        other.w[t * leaves + s] = 0.5 * cells.weight(leaves - 1 - s, t);
        for (std::size_t x = 0; x < states; ++x) {
          other.v[(t * leaves + s) * states + x] = 0.5 * cells.value(leaves - 1 - s, t, states - 1 - x);
        }
      }
    }
    auto a = rebuild(options_for(leaves, states, slices), columns(cells));
    auto b = rebuild(options_for(leaves, states, slices), columns(other));
    ASSERT_TRUE(a && b);
    for (std::size_t q = 0; q < kP.size(); ++q) {
      const auto pa = a->partition(q), pb = b->partition(q);
      ASSERT_EQ(pa->parts.size(), pb->parts.size());
      for (std::size_t i = 0; i < pa->parts.size(); ++i) ASSERT_EQ(pa->parts[i].last, pb->parts[i].last);
    }
    EXPECT_EQ(a->partition(kP.size() - 1)->parts.size(), 1u);
    if (kind == Kind::kSmooth) {
      EXPECT_EQ(a->partition(0)->parts.size(), slices);
    }
    if (kind == Kind::kEqual) {
      EXPECT_EQ(a->partition(0)->parts.size(), 1u);
    }
    EXPECT_EQ(*a->partition_at(kP[2]), *a->partition(2));
  }
}

TEST(Temporal, LeavesThatDifferFromEachOtherDoNotCutTime) {
  // What the spatial loss would see and the temporal operator must not: two leaves, steady, unlike.
  auto o = options_for(2, 1, 4);
  o.p = {0};
  auto engine = Temporal::create(o);
  ASSERT_TRUE(engine);
  const std::vector<double> v = {0.1, 0.9}, w = {1, 1};
  for (int t = 0; t < 4; ++t) ASSERT_TRUE(engine->push({v, w}));
  EXPECT_EQ(engine->partition(0)->parts.size(), 1u);
  EXPECT_EQ(engine->partition(0)->loss, 0);
}

TEST(Temporal, LeavesThatJoinAndLeave_EqualAFreshEngine) {
  SeededRng rng(78);
  std::size_t changes = 0;
  for (int round = 0; round < 30; ++round) {
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    const std::size_t states = 1 + rng() % 3, capacity = 1 + rng() % 20;
    using Row = std::vector<std::pair<std::vector<double>, double>>;  // of a leaf: its slices
    std::vector<Row> rows(1 + rng() % 4);
    std::int64_t first = 0;
    std::size_t held = 0;
    auto options = options_for(rows.size(), states, capacity);
    options.most_leaves = 32;
    auto engine = Temporal::create(options);
    ASSERT_TRUE(engine);
    for (int step = 0; step < 40; ++step) {
      const auto what = rng() % 5;
      if (what == 0) {
        std::vector<LeafPosition> from;
        std::vector<Row> now;
        for (std::uint32_t s = 0; s < rows.size(); ++s) {
          if (rows.size() > 1 && rng() % 4 == 0) continue;  // leaves
          from.emplace_back(s);
          now.push_back(rows[s]);
        }
        for (std::size_t n = from.empty() ? 1 : rng() % 3; n-- > 0 && now.size() < 30;) {
          const std::size_t at = rng() % (now.size() + 1);
          from.insert(from.begin() + static_cast<std::ptrdiff_t>(at), Temporal::kNewLeaf);
          now.insert(now.begin() + static_cast<std::ptrdiff_t>(at),
                     Row(held, {std::vector<double>(states, 0.0), 0.0}));
        }
        ASSERT_TRUE(engine->relabel(from));
        rows = std::move(now);
        ++changes;
      } else if (what == 1 && held > 0) {
        const std::size_t s = rng() % rows.size(), t = rng() % held;
        auto& [v, w] = rows[s][t];
        random_cell(rng, kind, v, w);
        ASSERT_TRUE(engine->amend(SliceIndex(first + static_cast<std::int64_t>(t)),
                                  LeafPosition(static_cast<std::uint32_t>(s)), v, w));
      } else {
        std::vector<double> v, w;
        for (Row& row : rows) {
          std::vector<double> one(states);
          double weight = 0;
          random_cell(rng, kind, one, weight);
          v.insert(v.end(), one.begin(), one.end());
          w.push_back(weight);
          row.push_back({one, weight});
          if (held == capacity) row.erase(row.begin());
        }
        first += held == capacity;
        held += held < capacity;
        ASSERT_TRUE(engine->push({v, w}));
      }
      if (rng() % 2) continue;
      std::vector<std::vector<double>> v(held), w(held);
      std::vector<Column> view;
      for (std::size_t t = 0; t < held; ++t) {
        for (const Row& row : rows) {
          v[t].insert(v[t].end(), row[t].first.begin(), row[t].first.end());
          w[t].push_back(row[t].second);
        }
        view.push_back({v[t], w[t]});
      }
      auto fresh_options = options;
      fresh_options.leaves = rows.size();
      fresh_options.first_slice = SliceIndex(first);
      auto fresh = rebuild(fresh_options, view);
      ASSERT_TRUE(fresh);
      for (std::size_t q = 0; q < kP.size(); ++q)
        ASSERT_EQ(*engine->partition(q), *fresh->partition(q)) << "round " << round << " step " << step;
    }
  }
  std::printf("%zu changes\n", changes);
}

TEST(Temporal, RelabelKeepsWithinTheBudget) {
  auto options = options_for(2, 1, 4);
  options.most_leaves = 8;
  options.memory_budget_bytes = Temporal::memory_needed(options);
  auto engine = Temporal::create(options);
  ASSERT_TRUE(engine);
  const std::vector<LeafPosition> three = {LeafPosition(0), LeafPosition(1), Temporal::kNewLeaf};
  EXPECT_THAT(engine->relabel(three).error().message, testing::HasSubstr("budget"));
  const std::vector<LeafPosition> other = {LeafPosition(1), Temporal::kNewLeaf};
  EXPECT_TRUE(engine->relabel(other));
}

TEST(Temporal, WeightsOfLeavesAndDurationsOfSlices) {
  auto options = options_for(2, 1, 2);
  options.leaf_weights = {3, 1};
  options.longest_slice = 2;
  auto engine = Temporal::create(options);
  ASSERT_TRUE(engine);
  ASSERT_TRUE(engine->push({std::vector<double>{0.5, 1}, std::vector<double>{1, 1}, 2}));
  ASSERT_TRUE(engine->push({std::vector<double>{0.25, 0}, std::vector<double>{1, 1}, 1}));
  const auto whole = engine->partition(kP.size() - 1);
  ASSERT_EQ(whole->parts.size(), 1u);
  // Leaf 0: S = 3*(0.5*2 + 0.25), W = 9; leaf 1: S = 2, W = 3.
  EXPECT_NEAR(whole->gain + whole->loss, 3.75 * std::log2(9.0) + 2 * std::log2(3.0), 1e-9);
  const double information = 3 * std::log2(0.5) + 0.75 * std::log2(0.25);
  EXPECT_NEAR(whole->loss, information - 3.75 * std::log2(3.75 / 9) - 2 * std::log2(2.0 / 3), 1e-9);
  EXPECT_NEAR(engine->evaluate(*whole)->loss, whole->loss, 1e-9);
}

TEST(Temporal, Refusals) {
  auto o = options_for(0, 1, 1);
  EXPECT_FALSE(Temporal::create(o));
  o = options_for(2, 2, 1000);
  const std::uint64_t need = Temporal::memory_needed(o);
  o.memory_budget_bytes = need - 1;
  const auto over = Temporal::create(o);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::kLimit);
  EXPECT_THAT(over.error().message, testing::HasSubstr(std::to_string(need)));
  EXPECT_THAT(over.error().message, testing::HasSubstr(std::to_string(need - 1)));
  o.memory_budget_bytes = need;
  auto engine = Temporal::create(o);
  ASSERT_TRUE(engine);
  const std::vector<double> bad = {0, 0, 0, std::nan("")}, w = {1, 1};
  EXPECT_THAT(engine->push({bad, w}).error().message, testing::HasSubstr("leaf 1, slice 0, state 1"));
  EXPECT_EQ(engine->size(), 0u);
  EXPECT_TRUE(engine->partition(0)->parts.empty());
  const std::vector<double> cell = {0, 0};
  EXPECT_EQ(engine->amend(SliceIndex(0), LeafPosition(0), cell, 1).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(engine->partition_at(-0.1));
}

TEST(Temporal, PushCost_100x1000x8) {
  Rng rng(5);
  auto o = options_for(100, 8, 1000);
  auto engine = Temporal::create(o);
  ASSERT_TRUE(engine);
  const Cells cells = random_cells(rng, Kind::kSmooth, 100, 100, 8);
  // Holes are cheap to push: they fill the window.
  const std::vector<double> v(800, 0.0), w(100, 0.0);
  for (int t = 0; t < 990; ++t) ASSERT_TRUE(engine->push({v, w}));
  engine->settle();
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t t = 0; t < 30; ++t) {
    ASSERT_TRUE(engine->push(column(cells, t)));
    engine->settle();
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(engine->partition(2));
  const std::chrono::duration<double, std::milli> solve = std::chrono::steady_clock::now() - begin;
  std::printf("push %.2f ms, partition %.2f ms\n", spent.count() / 30, solve.count());
}

}  // namespace temporal_test
}  // namespace margay::partition
