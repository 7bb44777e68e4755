// The window's engines follow the job's leaves.
#include "margay/detect/window.h"

#include <gtest/gtest.h>

#include <random>

namespace margay::detect {
namespace {

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
  t->hierarchy = model::Hierarchy(attributes, model::Hierarchy::default_view());
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

}  // namespace
}  // namespace margay::detect
