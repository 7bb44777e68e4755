// The partition of a matrix of pairs, against a judge that tries every cover of it by blocks.
#include "margay/partition/blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "models.h"
#include "support/partition_bruteforce.h"

namespace margay::partition {
namespace blocks_test {

using support::leaves_below;
using support::Parents;
using testing::HasSubstr;

struct Pairs {
  std::size_t leaves = 0;
  std::vector<double> v, w;
};

TreeShape tree_of(const Parents& parents) {
  return *TreeShape::from_parents(parents_of(parents));
}

// Everything that can be a block of it, with what it is worth; by nothing but the formulas.
class Judge {
 public:
  struct Rectangle {
    std::uint32_t from = 0, to = 0;
    std::uint32_t mask = 0;  // bit i * leaves + j
    double gain = 0, loss = 0;
  };

  Judge(const Parents& parents, const Pairs& pairs) : leaves_(pairs.leaves) {
    double most = 0;
    for (std::size_t i = 0; i < pairs.v.size(); ++i)
      if (pairs.w[i] > 0) most = std::max(most, pairs.v[i] / pairs.w[i]);
    for (std::uint32_t k = 0; k < parents.size(); ++k)
      for (std::uint32_t l = 0; l < parents.size(); ++l) {
        Rectangle r{k, l};
        double sum = 0, weight = 0, information = 0;
        for (const std::size_t i : leaves_below(parents, k))
          for (const std::size_t j : leaves_below(parents, l)) {
            const std::size_t at = i * leaves_ + j;
            r.mask |= 1u << at;
            if (!(pairs.w[at] > 0)) continue;
            const double v = most > 0 ? pairs.v[at] / most : 0;
            sum += v, weight += pairs.w[at];
            if (v > 0) information += v * std::log2(v / pairs.w[at]);
          }
        r.loss = sum > 0 ? information - sum * std::log2(sum / weight) : 0;
        r.gain = (sum > 0 ? sum * std::log2(weight) : 0) - r.loss;
        all_.push_back(r);
      }
  }

  // The largest pIC of all covers.
  double best(double p) {
    known_.clear();
    return best_of((std::uint64_t{1} << (leaves_ * leaves_)) - 1, p);
  }
  // Of all covers of so many blocks at most.
  double least_loss(std::size_t most) {
    known_.clear();
    least_.clear();
    return least_of((std::uint64_t{1} << (leaves_ * leaves_)) - 1, most);
  }
  const Rectangle& rectangle(NodeIndex from, NodeIndex to) const {
    return *std::find_if(all_.begin(), all_.end(),
                         [&](const Rectangle& r) { return r.from == from.value && r.to == to.value; });
  }

 private:
  double best_of(std::uint64_t open, double p) {
    if (open == 0) return 0;
    const auto [at, is_new] = known_.try_emplace(open, -1e300);
    if (!is_new) return at->second;
    const std::uint64_t first = open & (~open + 1);
    double best = -1e300;
    for (const Rectangle& r : all_)
      if ((r.mask & first) != 0 && (r.mask & ~open) == 0)
        best = std::max(best, p * r.gain - (1 - p) * r.loss + best_of(open & ~std::uint64_t{r.mask}, p));
    return known_[open] = best;
  }

  double least_of(std::uint64_t open, std::size_t left) {
    if (open == 0) return 0;
    if (left == 0) return 1e300;
    const auto [at, is_new] = least_.try_emplace({open, left}, 1e300);
    if (!is_new) return at->second;
    const std::uint64_t first = open & (~open + 1);
    double least = 1e300;
    for (const Rectangle& r : all_)
      if ((r.mask & first) != 0 && (r.mask & ~open) == 0)
        least = std::min(least, r.loss + least_of(open & ~std::uint64_t{r.mask}, left - 1));
    return least_[{open, left}] = least;
  }

  std::size_t leaves_;
  std::vector<Rectangle> all_;
  std::map<std::uint64_t, double> known_;
  std::map<std::pair<std::uint64_t, std::size_t>, double> least_;
};

Pairs random_pairs(Rng& rng, std::size_t leaves) {
  Pairs out{leaves, std::vector<double>(leaves * leaves), std::vector<double>(leaves * leaves, 1)};
  const std::uint64_t kind = rng() % 4;
  for (std::size_t at = 0; at < out.v.size(); ++at) {
    const bool near = at / leaves / 2 == at % leaves / 2;
    out.v[at] = kind == 0   ? 5000 * uniform(rng)
                : kind == 1 ? static_cast<double>(rng() % 3)
                : kind == 2 ? (near ? 8 : 1) + 0.1 * uniform(rng)
                            : (rng() % 3 == 0 ? 1 + uniform(rng) : 0);
    if (rng() % 5 == 0) out.w[at] = kind == 1 ? 0 : 0.5;
    if (at / leaves == at % leaves && kind != 0) out.v[at] = out.w[at] = 0;
  }
  return out;
}

const std::vector<Parents>& trees() {
  static const std::vector<Parents> all = {{-1},
                                           {-1, 0, 0},
                                           {-1, 0, 1, 1},  // an only child above
                                           {-1, 0, 0, 0},
                                           {-1, 0, 0, 1, 1},        // 2 of different depth
                                           {-1, 0, 0, 1, 1, 2, 2},  // 2 x 2
                                           {6, 6, 5, 5, 5, 6, -1},  // numbered from below
                                           {-1, 0, 0, 0, 0}};
  return all;
}

TEST(Blocks, TheOptimumIsTheBestOfAllCovers) {
  SeededRng rng(4711);
  for (int i = 0; i < 400; ++i) {
    const Parents& parents = trees()[rng() % trees().size()];
    const Pairs pairs = random_pairs(rng, leaf_count(parents));
    auto blocks = Blocks::create(tree_of(parents), pairs.v, pairs.w);
    ASSERT_TRUE(blocks) << blocks.error().message;
    Judge judge(parents, pairs);
    for (const double p : {0.0, 0.05, 0.3, uniform(rng), 0.8, 1.0}) {
      SCOPED_TRACE("model " + std::to_string(i) + ", p " + std::to_string(p));
      const BlockPartition found = *blocks->solve(p);
      // A cover, of what the formulas say of its blocks.
      std::uint32_t covered = 0;
      double gain = 0, loss = 0;
      for (const PairBlock& b : found.blocks) {
        const Judge::Rectangle& r = judge.rectangle(b.from, b.to);
        EXPECT_EQ(covered & r.mask, 0u);
        covered |= r.mask;
        EXPECT_NEAR(b.gain, r.gain, 1e-9);
        EXPECT_NEAR(b.loss, r.loss, 1e-9);
        gain += b.gain, loss += b.loss;
      }
      EXPECT_EQ(covered, (std::uint64_t{1} << pairs.v.size()) - 1);
      EXPECT_NEAR(found.gain, gain, 1e-12);
      EXPECT_NEAR(found.loss, loss, 1e-12);
      EXPECT_NEAR(p * found.gain - (1 - p) * found.loss, judge.best(p), 1e-8);
    }
  }
}

TEST(Blocks, WhatIsTheSameForAllPairsIsOneBlockAtAnyP) {
  const std::size_t leaves = 8;
  Pairs pairs{leaves, std::vector<double>(64, 1024), std::vector<double>(64, 1)};
  for (std::size_t i = 0; i < leaves; ++i) pairs.v[i * 9] = pairs.w[i * 9] = 0;  // nobody sends to himself
  auto blocks = Blocks::create(TreeShape::flat(leaves), pairs.v, pairs.w);
  for (const double p : {0.0, 0.5, 1.0}) {
    const BlockPartition found = *blocks->solve(p);
    ASSERT_EQ(found.blocks.size(), 1u);
    EXPECT_EQ(found.blocks[0].from, NodeIndex(0));
    EXPECT_EQ(found.loss, 0);
    EXPECT_NEAR(found.gain, 56 * std::log2(56), 1e-9);
  }
}

TEST(Blocks, MachinesThatTalkToThemselvesAreTheBlocks) {
  // Two machines of four; within each all talk alike, from the first to the second a little, back nothing.
  const Parents parents = {-1, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
  Pairs pairs{8, std::vector<double>(64), std::vector<double>(64, 1)};
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      pairs.v[i * 8 + j] = i / 4 == j / 4 ? 1e6 : i < j ? 1e3 : 0;
      if (i == j) pairs.v[i * 8 + j] = pairs.w[i * 8 + j] = 0;
    }
  auto blocks = Blocks::create(tree_of(parents), pairs.v, pairs.w);
  const BlockPartition found = *blocks->solve(0);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> names;
  for (const PairBlock& b : found.blocks) names.emplace_back(b.from.value, b.to.value);
  EXPECT_THAT(names, testing::ElementsAre(std::pair(1u, 1u), std::pair(1u, 2u), std::pair(2u, 1u),
                                          std::pair(2u, 2u)));
  // Whatever the unit.
  for (double& v : pairs.v) v /= 1024;
  EXPECT_EQ(Blocks::create(tree_of(parents), pairs.v, pairs.w)->solve(0)->blocks, found.blocks);
}

TEST(Blocks, TheEnvelopeIsOptimalWhereItSaysSo) {
  SeededRng rng(99);
  for (int i = 0; i < 60; ++i) {
    const Parents& parents = trees()[rng() % trees().size()];
    const Pairs pairs = random_pairs(rng, leaf_count(parents));
    auto blocks = Blocks::create(tree_of(parents), pairs.v, pairs.w);
    EnvelopeOptions options;
    options.relative_error = 0;
    const Blocks::Found found = *blocks->envelope(options);
    ASSERT_FALSE(found.partitions.empty());
    EXPECT_TRUE(found.complete);
    EXPECT_EQ(found.partitions.front().p, 0);
    EXPECT_EQ(found.partitions.back().blocks.size(), 1u);
    Judge judge(parents, pairs);
    for (std::size_t k = 0; k < found.partitions.size(); ++k) {
      const BlockPartition& one = found.partitions[k];
      const double until = k + 1 < found.partitions.size() ? found.partitions[k + 1].p : 1;
      if (k > 0) {
        EXPECT_GT(one.p, found.partitions[k - 1].p);
      }
      for (const double p : {one.p, (one.p + until) / 2, until})
        EXPECT_NEAR(p * one.gain - (1 - p) * one.loss, judge.best(p), 1e-7) << "model " << i << ", p " << p;
    }
  }
}

TEST(Blocks, AsManySolutionsAsAreWantedAndNoneAfterARefusal) {
  SeededRng rng(3);
  Parents parents = {-1};
  for (int host = 1; host <= 8; ++host) parents.push_back(0);
  for (int rank = 0; rank < 64; ++rank) parents.push_back(1 + rank / 8);
  Pairs pairs{64, std::vector<double>(4096), std::vector<double>(4096, 1)};
  // Each pair of hosts differs from the others, and each pair of ranks within.
  for (std::size_t at = 0; at < 4096; ++at)
    pairs.v[at] =
        static_cast<double>(1 + at / 512) * static_cast<double>(1 + at % 64 / 8) * (1 + uniform(rng));
  auto blocks = Blocks::create(tree_of(parents), pairs.v, pairs.w);
  EnvelopeOptions options;
  options.relative_error = 0;
  options.most_solves = 5;
  Blocks::Found found = *blocks->envelope(options);
  EXPECT_FALSE(found.complete);
  EXPECT_LE(found.partitions.size(), 6u);
  EXPECT_GE(found.partitions.size(), 2u);
  int asked = 0;
  options.go_on = [&] { return ++asked < 2; };
  found = *blocks->envelope(options);
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(found.complete);
  EXPECT_EQ(found.partitions.back().blocks.size(), 1u);
}

// Of all partitions of so many blocks or fewer none hides less, where one was found that has as many.
TEST(Blocks, WhereThereAreTooManyTheDearestStayApart) {
  SeededRng rng(12);
  const Parents& parents = trees()[5];
  for (int i = 0; i < 100; ++i) {
    const Pairs pairs = random_pairs(rng, leaf_count(parents));
    auto blocks = Blocks::create(tree_of(parents), pairs.v, pairs.w);
    const BlockPartition exact = *blocks->solve(0);
    for (const std::size_t most : {std::size_t{1}, std::size_t{4}, std::size_t{9}, exact.blocks.size()}) {
      const BlockPartition found = *blocks->solve(0, most);
      EXPECT_LE(found.blocks.size(), most);
      if (most == exact.blocks.size()) {
        EXPECT_EQ(found.blocks, exact.blocks);
      }
      // A price is a price for all: nothing of as few blocks loses less.
      EXPECT_LE(found.loss, Judge(parents, pairs).least_loss(found.blocks.size()) + 1e-9) << "model " << i;
    }
  }
}

TEST(Blocks, NonsenseIsRefusedByItsPlace) {
  const std::vector<double> four(4, 1), nine(9, 1), bad = {1, 1, -1, 1};
  const auto error = [](const auto& result) { return result.error().message; };
  EXPECT_THAT(error(Blocks::create(TreeShape::flat(2), nine, four)),
              HasSubstr("v has 9 numbers, not those of 2 x 2"));
  EXPECT_THAT(error(Blocks::create(TreeShape::flat(2), four, bad)),
              HasSubstr("w of leaf 1 to 0 is negative or no number"));
  EXPECT_THAT(error(Blocks::create(TreeShape::flat(1024), nine, nine)),
              HasSubstr("1025 nodes, at most 1024"));
  auto blocks = Blocks::create(TreeShape::flat(2), four, four);
  EXPECT_FALSE(blocks->solve(1.5));
  // Nothing at all is one block.
  const std::vector<double> none(4, 0);
  EXPECT_EQ(Blocks::create(TreeShape::flat(2), none, none)->solve(0)->blocks.size(), 1u);
}

}  // namespace blocks_test
}  // namespace margay::partition
