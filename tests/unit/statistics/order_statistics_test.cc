// The n-th smallest of some values.
#include "margay/statistics/order_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace margay::statistics {
namespace order_statistics_test {

TEST(OrderStatistics, AreThoseOfASortedList) {
  std::mt19937 random(17);
  for (const std::size_t n : {1, 2, 3, 4, 7, 64, 129, 1000}) {
    std::vector<float> values;
    OrderStatistics order;
    for (std::size_t i = 0; i < n; ++i) {
      // Ties, both signs, nothing, and far apart.
      const int kind = static_cast<int>(random() % 4);
      const float x = kind == 0   ? 0.0f
                      : kind == 1 ? static_cast<float>(random() % 5) - 2
                      : kind == 2 ? std::normal_distribution<float>(0, 1e-3f)(random)
                                  : std::normal_distribution<float>(0, 1e30f)(random);
      values.push_back(x);
      order.add(x);
    }
    std::sort(values.begin(), values.end());
    ASSERT_EQ(order.size(), n);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(order.smallest(i), values[i]) << i << " of " << n;
    const float middle = n % 2 == 1 ? values[n / 2] : (values[n / 2] + values[n / 2 - 1]) / 2;
    EXPECT_EQ(order.median(), middle) << n;
  }
}

TEST(OrderStatistics, TheMiddleOfNoneIsNothingAndInfinityHasAPlace) {
  OrderStatistics order;
  EXPECT_EQ(order.median(), 0);
  for (const float x :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), 1.0f})
    order.add(x);
  EXPECT_EQ(order.median(), 1);
  EXPECT_EQ(order.smallest(2), std::numeric_limits<float>::infinity());
  order.clear();
  EXPECT_EQ(order.size(), 0u);
  EXPECT_EQ(order.median(), 0);
}

}  // namespace order_statistics_test
}  // namespace margay::statistics
