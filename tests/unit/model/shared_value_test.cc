#include "margay/model/shared_value.h"

#include <gtest/gtest.h>

namespace margay::model {
namespace shared_value_test {

// Sixteen ranks of four hosts of two sockets; racks have two hosts each.
std::vector<Attributes> sixteen() {
  std::vector<Attributes> out;
  for (int r = 0; r < 16; ++r)
    out.push_back({{"rank", std::to_string(r)},
                   {"pid", std::to_string(900 + r)},
                   {"host", "n" + std::to_string(r / 4)},
                   {"socket", std::to_string(r % 4 / 2)},
                   {"rack", "east" + std::to_string(r / 8)},
                   {"program", r == 3 ? "io" : "app"},
                   {"command", "./app"}});
  return out;
}
std::vector<LeafIndex> leaves(std::initializer_list<std::uint32_t> of) {
  return {of.begin(), of.end()};
}
std::optional<SharedValue> shared(std::initializer_list<std::uint32_t> of) {
  return shared_by(sixteen(), leaves(of));
}

TEST(SharedValue, IsWhatAllHaveAndNobodyElse) {
  EXPECT_EQ(shared({8, 9, 10, 11, 12, 13, 14, 15}), (SharedValue{"rack", "east1", 8}));
  EXPECT_EQ(shared({6, 7}), (SharedValue{"host/socket", "n1/socket1", 2}));
  EXPECT_EQ(shared({2, 3, 6, 7, 10, 11, 14, 15}), (SharedValue{"socket", "socket1", 8}));
  EXPECT_EQ(shared({1, 5, 9, 13}), (SharedValue{"rank mod 4", "rank mod 4 = 1", 4}));
}

TEST(SharedValue, AFewMayBeMissing) {
  EXPECT_EQ(shared({8, 9, 10, 11, 13, 14, 15}), (SharedValue{"rack", "east1", 8}));
  EXPECT_EQ(shared({8, 9, 10, 11, 13}), std::nullopt);
}

TEST(SharedValue, WhatAllOfTheRunHaveIsNoGroupNorIsOne) {
  EXPECT_EQ(shared({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}), std::nullopt);
  EXPECT_EQ(shared({3}), std::nullopt);
  EXPECT_EQ(shared({}), std::nullopt);
  EXPECT_EQ(shared({0, 1, 5, 11}), std::nullopt);
  EXPECT_EQ(shared({1, 9}), std::nullopt) << "two ranks leave some rest alike by chance";
}

}  // namespace shared_value_test
}  // namespace margay::model
