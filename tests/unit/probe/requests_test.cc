// The table of receives that have been posted.
#include "requests.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace margay::probe {
namespace requests_test {

// As static ones: all zero.
struct Tables {
  FewRequests few{};
  std::atomic<bool> needed{};
  FarRequests far{};
};
struct Both : Tables, Requests {
  Both() : Requests(few, needed, far) {}
};
std::unique_ptr<Both> table() {
  return std::make_unique<Both>();
}

TEST(Requests, AReceiveIsKnownUntilItHasCompleted) {
  const auto t = table();
  std::uint64_t posted = 0;
  EXPECT_FALSE(t->has(0x7f00'1234'5680));
  EXPECT_TRUE(t->add(0x7f00'1234'5680, 77, false));
  EXPECT_TRUE(t->has(0x7f00'1234'5680));
  EXPECT_FALSE(t->has(0x7f00'1234'5700));
  EXPECT_TRUE(t->complete(0x7f00'1234'5680, posted));
  EXPECT_EQ(posted, 77u);
  EXPECT_FALSE(t->complete(0x7f00'1234'5680, posted));
  EXPECT_FALSE(t->any());
  EXPECT_FALSE(t->add(0, 1, false)) << "no request";
}

TEST(Requests, APersistentOneStaysUntilItIsFreed) {
  const auto t = table();
  std::uint64_t posted = 0;
  EXPECT_TRUE(t->add(5, 10, true));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(t->complete(5, posted));
    EXPECT_EQ(posted, 10u);
  }
  t->forget(5);
  EXPECT_FALSE(t->has(5));
}

// The handle of one that has completed is another's before the first was taken out.
TEST(Requests, AHandleMayBeThereTwice) {
  const auto t = table();
  std::uint64_t posted = 0;
  EXPECT_TRUE(t->add(9, 1, false));
  EXPECT_TRUE(t->add(9, 2, false));
  EXPECT_TRUE(t->complete(9, posted));
  EXPECT_TRUE(t->complete(9, posted));
  EXPECT_FALSE(t->complete(9, posted));
}

TEST(Requests, WhatFindsNoRoomIsSaid) {
  const auto t = table();
  std::size_t added = 0;
  while (t->add(42, 1, false)) ++added;
  EXPECT_EQ(added, Requests::kNear);
  // As addresses and as numbers, many fit.
  for (const std::uintptr_t step : {std::uintptr_t{1}, std::uintptr_t{256}, std::uintptr_t{640}}) {
    const auto many = table();
    std::size_t room = 0;
    for (std::uintptr_t i = 1; i <= Requests::kSlots / 2; ++i)
      room += many->add(0x5555'0000'0000 + i * step, i, false);
    EXPECT_GT(room, Requests::kSlots / 8) << step;
    std::uint64_t posted = 0;
    std::size_t found = 0;
    for (std::uintptr_t i = 1; i <= Requests::kSlots / 2; ++i) {
      found += many->complete(0x5555'0000'0000 + i * step, posted);
      EXPECT_LE(posted, i);
    }
    EXPECT_EQ(found, room);
    EXPECT_FALSE(many->any());
  }
}

TEST(Requests, Threads_EachFindsItsOwn) {
  const auto t = table();
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> lost{0};
  for (std::uintptr_t n = 1; n <= 8; ++n)
    threads.emplace_back([&, n] {
      std::uint64_t posted = 0;
      for (std::uintptr_t i = 0; i < 20'000; ++i) {
        const std::uintptr_t handle = 0x1000 * n + 64 * (i % 7);
        if (!t->add(handle, n, false)) continue;
        if (!t->has(handle) || !t->complete(handle, posted) || posted != n) ++lost;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 0u);
  EXPECT_FALSE(t->any());
}

}  // namespace requests_test
}  // namespace margay::probe
