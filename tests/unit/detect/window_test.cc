// The window's engines follow the job's leaves.
#include "margay/detect/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>

namespace margay::detect {
namespace window_test {

constexpr DurationNs kSlice = milliseconds(100);
constexpr std::uint16_t kFirst = 2;  // Compute
constexpr std::uint16_t kStates = 6;

// The rank of the last `nameless` is not known yet.
std::shared_ptr<const Topology> topology_of(std::uint32_t leaves, std::uint32_t nameless = 0) {
  std::vector<model::Attributes> attributes;
  for (std::uint32_t l = 0; l < leaves; ++l)
    attributes.push_back({{"host", "node" + std::to_string(l % 3)},
                          {l + nameless < leaves ? "rank" : "process", std::to_string(1000 + l)}});
  auto t = std::make_shared<Topology>();
  t->version = leaves;
  t->hierarchy = model::Hierarchy(attributes);
  return t;
}

model::SliceColumn column_of(std::int64_t index, std::uint32_t leaves, std::mt19937_64& rng) {
  model::SliceColumn c(LevelIndex(0), SliceIndex(index), leaves, kStates);
  for (std::uint32_t l = 0; l < leaves; ++l) {
    std::int64_t left = kSlice.value;
    for (std::uint16_t x = kFirst; x + 1 < kStates; ++x) {
      const auto part = static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(left / 2 + 1));
      c.duration_ns(LeafIndex(l))[x] = part;
      left -= part;
    }
    c.duration_ns(LeafIndex(l))[kStates - 1] = left;
  }
  return c;
}

void expect_same(const std::optional<partition::Partition>& a, const std::optional<partition::Partition>& b) {
  ASSERT_TRUE(a && b);
  ASSERT_EQ(a->parts.size(), b->parts.size());
  EXPECT_NEAR(a->pIC, b->pIC, 1e-6);
  for (std::size_t i = 0; i < a->parts.size(); ++i) {
    EXPECT_EQ(a->parts[i].node, b->parts[i].node);
    EXPECT_EQ(a->parts[i].first, b->parts[i].first);
    EXPECT_EQ(a->parts[i].last, b->parts[i].last);
  }
}

// Nine ranks, half of the time in a state; `slow` is in it for longer.
model::SliceColumn steady_column(std::int64_t index, std::optional<std::uint32_t> slow,
                                 std::mt19937_64& rng) {
  model::SliceColumn c(LevelIndex(0), SliceIndex(index), 9, kStates);
  for (std::uint32_t l = 0; l < 9; ++l) {
    const double share = (l == slow ? 0.75 : 0.5) + 0.08 * (static_cast<double>(rng() % 1001) / 1000 - 0.5);
    const auto part = static_cast<std::int64_t>(share * static_cast<double>(kSlice.value));
    c.duration_ns(LeafIndex(l))[kFirst] = part;
    c.duration_ns(LeafIndex(l))[kFirst + 1] = kSlice.value - part;
  }
  return c;
}

// A window of nine ranks at its noise floor, of which one is slow from slice 30 on.
constexpr LeafIndex kSlow(4);
Window window_with_a_slow_rank(const std::function<void(Window&, std::int64_t)>& each = {}) {
  const std::uint64_t seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  WindowOptions options;
  options.slices = 64;
  Window window(options);
  window.set_topology(topology_of(9));
  for (std::int64_t t = 0; t < 64; ++t) {
    EXPECT_TRUE(window.push(steady_column(t, t >= 30 ? std::optional(kSlow.value) : std::nullopt, rng)));
    if (t == 29) window.learn_noise(SliceIndex(0), SliceIndex(30));
    if (each) each(window, t);
  }
  return window;
}

// What is told lowers p one slice later, once: what is longer and shown as it is needs no search. When it has
// left, p is that of the noise again.
TEST(Window, PFollowsWhatIsToldAndNoAlertWaitsForIt) {
  double floor = 0, told = 0;
  Window window = window_with_a_slow_rank([&](Window& w, std::int64_t t) {
    if (t < 42) return w.set_apart({});
    if (t == 42) floor = w.p();
    w.set_apart({{{kSlow}, SliceIndex(30), SliceIndex(t)}});
    if (t == 42) {
      EXPECT_EQ(w.p(), floor) << "the alert goes first";
    }
    if (t == 43) told = w.p();
    if (t >= 43) {
      EXPECT_EQ(w.p(), told);
    }
  });
  EXPECT_LT(told, floor);
  window.set_apart({});
  EXPECT_EQ(window.p(), floor);
}

// However often alerts come and go, solutions are few: p stays as it is, and what is told is cut out.
TEST(Window, SearchesAreRationed) {
  Window window = window_with_a_slow_rank();
  const double floor = window.p();
  const auto tell = [&](LeafIndex leaf, std::int64_t first, std::int64_t last) {
    for (int slice = 0; slice < 2; ++slice) window.set_apart({{{leaf}, SliceIndex(first), SliceIndex(last)}});
  };
  for (std::int64_t i = 0; i < 40; ++i) tell(LeafIndex(1), i, i + 3);  // as others do: in vain
  EXPECT_EQ(window.p(), floor);
  tell(kSlow, 30, 63);
  EXPECT_EQ(window.p(), floor) << "else it is lower, as above";
  const auto picture = window.spatiotemporal();
  ASSERT_TRUE(picture);
  EXPECT_TRUE(std::any_of(picture->parts.begin(), picture->parts.end(), [](const partition::Part& p) {
    return p.first == SliceIndex(30) && p.last == SliceIndex(63);
  }));
}

// Ranks join, some of them before the topology names them: as if all had been known from the beginning.
TEST(Window, RanksThatJoinAreFollowed) {
  const std::uint64_t seed = 31;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  WindowOptions options;
  options.slices = 24;
  options.p = 0.2;
  Window followed(options);
  std::uint32_t leaves = 2, told = 2;
  followed.set_topology(topology_of(told));
  std::vector<model::SliceColumn> kept;
  for (std::int64_t t = 0; t < 60; ++t) {
    if (t % 5 == 4) leaves += 1 + static_cast<std::uint32_t>(rng() % 3);
    kept.push_back(column_of(1000 + t, leaves, rng));
    ASSERT_TRUE(followed.push(kept.back()));
    if (t % 7 == 6) {
      auto& c = kept[kept.size() - 1 - rng() % std::min<std::size_t>(kept.size(), 20)];
      c = column_of(c.index.value, c.leaves(), rng);
      ASSERT_TRUE(followed.amend(c));
    }
    if (t % 3 == 0 && told != leaves) followed.set_topology(topology_of(told = leaves, 2));
    if (t % 3 == 1 && told == leaves) followed.set_topology(topology_of(leaves));  // their ranks are told
    if (t % 4 != 3 || t % 3 == 0 || told != leaves) continue;
    Window anew(options);
    anew.set_topology(topology_of(leaves));
    for (const auto& c : kept) ASSERT_TRUE(anew.push(c));
    expect_same(followed.spatiotemporal(), anew.spatiotemporal());
    expect_same(followed.temporal(), anew.temporal());
  }
}

// A rank that ends, and one that nobody knows of for a slice: no part is of a time in which nobody was, but
// where all of its node's time is that.
TEST(Window, WhereNobodyWasIsNoPartOfItsOwn) {
  const std::uint64_t seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  WindowOptions options;
  options.slices = 128;
  options.p = 0.02;
  Window window(options);
  const auto topology = topology_of(9);
  window.set_topology(topology);
  for (std::int64_t t = 0; t < 100; ++t) {
    auto c = column_of(t, 9, rng);
    const auto gone = [&](std::uint32_t leaf, StateId what) {
      for (std::uint16_t x = 0; x < kStates; ++x) c.duration_ns(LeafIndex(leaf))[x] = 0;
      c.duration_ns(LeafIndex(leaf))[what.value] = kSlice.value;
    };
    if (t >= 40) gone(4, kAbsent);
    if (t == 20 || t == 70) gone(2, kUnknown);
    ASSERT_TRUE(window.push(c));
    if (t % 3 == 0) static_cast<void>(window.spatiotemporal());
  }
  const auto partition = window.spatiotemporal();
  ASSERT_TRUE(partition);
  EXPECT_GT(partition->parts.size(), 50u);
  std::uint64_t cells = 0;
  const partition::Part* before = nullptr;
  for (const partition::Part& part : partition->parts) {
    const auto leaves = topology->hierarchy.leaves_below(part.node);
    cells += leaves.size() * static_cast<std::uint64_t>(part.last.value - part.first.value + 1);
    double there = 0;
    for (SliceIndex s = part.first; s <= part.last; ++s)
      for (const LeafIndex leaf : leaves) there += window.weight(s, leaf);
    const bool continues = before != nullptr && before->node == part.node && before->last + 1 == part.first;
    EXPECT_FALSE(there == 0 && continues) << "slice " << part.first.value;
    before = &part;
  }
  EXPECT_EQ(cells, 9u * 100u);
}

model::SliceColumn measured_of(std::int64_t index, std::uint32_t leaves, std::mt19937_64& rng,
                               std::uint64_t factor) {
  model::SliceColumn c = column_of(index, leaves, rng);
  c.measure(model::Plane::kCounts);
  // Two regimes, so that there is something to find.
  for (std::uint32_t l = 0; l < leaves; ++l)
    for (std::uint16_t x = kFirst; x < kStates; ++x)
      c.measured(LeafIndex(l))[x] =
          factor * ((index / 8 + l / 3) % 2 == 0 ? 40u + rng() % 20 : x * x * x * x + rng() % 9);
  return c;
}

// Equal, but for the rounding of the engines' tables: what is worth the same within it may be cut otherwise.
void expect_worth_the_same(const std::optional<partition::Partition>& a, double scale_a,
                           const std::optional<partition::Partition>& b, double scale_b) {
  ASSERT_TRUE(a && b);
  EXPECT_NEAR(a->pIC * scale_a, b->pIC * scale_b, 1e-3 * std::max(1.0, a->pIC * scale_a));
}

// What is measured a thousand times over is partitioned alike.
TEST(MeasuredWindow, TheScaleDoesNotMatter) {
  for (const std::uint64_t factor : {std::uint64_t{2}, std::uint64_t{1000}, std::uint64_t{1} << 50}) {
    SCOPED_TRACE("seed 7, factor " + std::to_string(factor));
    std::mt19937_64 rng(7), same(7);
    WindowOptions options;
    options.slices = 32;
    options.p = 0.03;
    options.measured = true;
    Window small(options), large(options);
    small.set_topology(topology_of(9));
    large.set_topology(topology_of(9));
    for (std::int64_t t = 0; t < 60; ++t) {
      ASSERT_TRUE(small.push(measured_of(t, 9, rng, 1)));
      ASSERT_TRUE(large.push(measured_of(t, 9, same, factor)));
    }
    EXPECT_GT(small.spatiotemporal()->parts.size(), 3u);
    const auto f = static_cast<double>(factor);
    if (std::exp2(std::ilogb(f)) == f) {
      expect_same(small.spatiotemporal(), large.spatiotemporal());
      expect_same(small.temporal(), large.temporal());
      EXPECT_EQ(large.scale(), small.scale() * f);
    } else {
      expect_worth_the_same(small.spatiotemporal(), small.scale() * f, large.spatiotemporal(), large.scale());
      expect_worth_the_same(small.temporal(), small.scale() * f, large.temporal(), large.scale());
    }
  }
}

// The scale follows what comes, also by an amendment: always as one that was made anew from the same slices.
TEST(MeasuredWindow, TheScaleGrowsAndShrinksWithTheWindow) {
  SCOPED_TRACE("seed 11");
  std::mt19937_64 rng(11);
  WindowOptions options;
  options.slices = 16;
  options.p = 0.15;
  options.measured = true;
  Window window(options);
  window.set_topology(topology_of(6));
  std::vector<model::SliceColumn> kept;
  std::set<double> scales;
  for (std::int64_t t = 0; t < 100; ++t) {
    const std::uint64_t factor = t < 10 ? 1 : t < 30 ? 100'000 : 3;
    kept.push_back(measured_of(t, 6, rng, factor));
    ASSERT_TRUE(window.push(kept.back()));
    if (t == 60) {
      kept[55] = measured_of(55, 6, rng, 50'000);
      ASSERT_TRUE(window.amend(kept[55]));
    } else if (t > 0) {
      Window anew(options);
      anew.set_topology(topology_of(6));
      for (const auto& c : kept) ASSERT_TRUE(anew.push(c));
      expect_worth_the_same(window.spatiotemporal(), window.scale(), anew.spatiotemporal(), anew.scale());
      expect_worth_the_same(window.temporal(), window.scale(), anew.temporal(), anew.scale());
    }
    scales.insert(window.scale());
    EXPECT_EQ(std::exp2(std::ilogb(window.scale())), window.scale()) << "a power of two";
  }
  EXPECT_GE(scales.size(), 3u);
  EXPECT_LE(window.scale(), 64 * 2048) << "what was large has left the window";
}

TEST(MeasuredWindow, WhereNothingWasMeasuredThereIsNoColumn) {
  std::mt19937_64 rng(3);
  WindowOptions options;
  options.measured = true;
  Window window(options);
  window.set_topology(topology_of(2));
  for (std::int64_t t = 0; t < 10; ++t) {
    auto c = column_of(t, 2, rng);
    if (t % 2 == 0) c.measure(model::Plane::kMean);  // slices without a plane are slices in which nothing was
    ASSERT_TRUE(window.push(c));
  }
  EXPECT_EQ(window.columns(), 0u);
  EXPECT_EQ(window.weight(SliceIndex(9), LeafIndex(1)), 1);
  EXPECT_EQ(window.scale(), 1);
}

// Its slices count as well as its tables: where they alone are too much, there are fewer of them.
TEST(Window, WhatItsSlicesTakeIsBounded) {
  std::mt19937_64 rng(5);
  WindowOptions options;
  options.slices = 64;
  options.memory_budget_bytes = 1 << 20;
  for (const std::uint32_t leaves : {4u, 1000u}) {
    Window window(options);
    window.set_topology(topology_of(leaves));
    bool whole = true;
    for (std::int64_t i = 0; i < 100; ++i)
      if (const auto ok = window.push(column_of(i, leaves, rng)); !ok) {
        EXPECT_EQ(ok.error().code, ErrorCode::kLimit);
        whole = false;
      }
    const std::size_t bytes = window.size() * leaves * (window.columns() + 2) * sizeof(double);
    EXPECT_LE(bytes, options.memory_budget_bytes / 2) << leaves;
    EXPECT_EQ(whole, leaves == 4) << "64 slices of so many leaves fit, or they do not";
    EXPECT_EQ(window.size() == options.slices, whole);
    EXPECT_EQ(window.temporal().has_value(), whole);
    EXPECT_EQ(window.last(), SliceIndex(99));
    EXPECT_TRUE(window.amend(column_of(99, leaves, rng)));
  }
}

}  // namespace window_test
}  // namespace margay::detect
