// What most leaves show now and then, one after the other, is what the program does.
#include "lengths_lately.h"

#include <gtest/gtest.h>

#include <array>

#include "visiting_leaves.h"

namespace margay::detect::test {
namespace lengths_lately_test {

using Visits = std::vector<UsualLengths::Visit>;

// So many leaves, each with nine visits of e^-4 slices; `leaf` has one of e^-1 besides.
void slice(LengthsLately& lately, std::uint32_t leaves, std::uint32_t leaf) {
  Visits visits;
  for (std::uint32_t l = 0; l < leaves; ++l) visits.insert(visits.end(), 9, {l, 0, -4});
  if (leaf < leaves) visits.push_back({leaf, 0, -1});
  lately.add(visits, std::vector<char>(leaves, 1));
}

TEST(LengthsLately, IsKnownOfWhatMostLeavesHaveHad) {
  LengthsLately lately(1);
  lately.reach(40, 1);
  for (std::uint32_t leaf = 0; leaf < 20; ++leaf) {
    slice(lately, 40, leaf);
    EXPECT_EQ(lately.part(0, -1), 0) << "half of them at most";
    EXPECT_EQ(lately.part(0, -4), 1);
  }
  slice(lately, 40, 19);
  EXPECT_EQ(lately.part(0, -1), 0) << "once more";
  slice(lately, 40, 20);
  const double part = 22.0 / (22 * 40 * 9 + 22);
  EXPECT_DOUBLE_EQ(lately.part(0, -1), part);
  EXPECT_DOUBLE_EQ(lately.part(0, -2), part);
  EXPECT_EQ(lately.part(0, 0), 0) << "nobody had one so long";
}

TEST(LengthsLately, FewLeavesAreNoWave) {
  for (const std::uint32_t leaves : {2u, 15u, 16u}) {
    LengthsLately lately(1);
    lately.reach(leaves, 1);
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) slice(lately, leaves, leaf);
    EXPECT_EQ(lately.part(0, -1) > 0, leaves == 16) << leaves;
  }
}

TEST(LengthsLately, ForgetsWhatHasNotComeAgain) {
  LengthsLately lately(1);
  lately.reach(20, 1);
  for (std::uint32_t leaf = 0; leaf < 20; ++leaf) slice(lately, 20, leaf);
  int remembered = 0;
  for (; lately.part(0, -1) > 0 && remembered < 1000; ++remembered) slice(lately, 20, 20);
  EXPECT_GE(remembered, 60);
  EXPECT_LE(remembered, 128);
}

// Leaves that come, and columns, and who is gone; lengths beyond all that can be.
TEST(LengthsLately, CountsThoseWhoAreThere) {
  LengthsLately lately(2);
  lately.reach(16, 1);
  Visits visits;
  for (std::uint32_t l = 0; l < 16; ++l) visits.push_back({l, 1, -1});
  lately.add(visits, std::vector<char>(16, 1));
  lately.reach(40, 2);
  visits.clear();
  for (std::uint32_t l = 16; l < 36; ++l) visits.push_back({l, 1, l % 2 ? 1e9f : 30});
  visits.push_back({36, 1, -20}), visits.push_back({37, 1, -1e9f});
  std::vector<char> there(40, 0);
  std::fill_n(there.begin(), 31, 1);
  lately.add(visits, there);
  EXPECT_EQ(lately.part(2, -1), 1) << "the second kind of the first column";
  EXPECT_DOUBLE_EQ(lately.part(1, 30), 20.0 / 22);
  there.assign(40, 1);
  lately.add({}, there);
  EXPECT_EQ(lately.part(2, -1), 0) << "16 of 40";
  lately.forget();
  lately.reach(16, 2);
  slice(lately, 16, 16);
  EXPECT_EQ(lately.part(0, -4), 1);
  EXPECT_EQ(lately.part(1, 30), 0);
}

// A long piece of work goes through a machine of 16, one after the other; what is usual knows only short
// ones, and does not learn who is suspect. From the second time on it is nobody's; what is longer still is.
TEST(LengthsLately, WhatGoesThroughTheMachineSurprisesOnce) {
  const Lengths block = [](auto& random, std::uint32_t) { return log_normal(random, 0.01f, 0.1f); };
  const auto nats = [&](bool with, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Leaves<Surprise> leaves(hosts_of(4, 4));
    LengthsLately lately(VisitSurprise::kKindsOfLength);
    lately.reach(leaves.size(), 1);
    leaves.one_kind = true;
    if (with) leaves.judge.lately = &lately;
    const auto slice = [&](std::uint32_t who, float length) {
      for (std::uint32_t l = 0; l < leaves.size(); ++l)
        for (int i = 0; i < 10; ++i) leaves.spend(l, 1e-3f, block(random, l));
      leaves.spend(who, 1e-3f, length);
      leaves.slice();
      lately.add(leaves.judge.judged(), std::vector<char>(leaves.size(), 1));
      return static_cast<double>(leaves.judge.evidence()[who][0]);
    };
    leaves.live(50, 10, block, random);
    std::array<double, 3> of_round{};
    for (double& sum : of_round)
      for (std::uint32_t l = 0; l < leaves.size(); ++l) sum += slice(l, 0.3f) / leaves.size();
    return std::array<double, 4>{of_round[0], of_round[1], of_round[2], slice(3, 0.8f)};
  };
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    const auto without = nats(false, seed), with = nats(true, seed);
    EXPECT_GE(without[2], 4) << "it would be told again";
    EXPECT_GE(with[0], 2);
    EXPECT_LE(with[1], 1);
    EXPECT_LE(with[2], 1);
    EXPECT_GE(with[3], 4) << "longer than anybody's";
  }
}

}  // namespace lengths_lately_test
}  // namespace margay::detect::test
