// The loops of the batch solver, each set of them that this machine can run, against plain ones.
#include "batch_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models.h"

namespace margay::partition::internal {
namespace batch_kernels_test {

TEST(BatchKernels, Logarithm) {
  SeededRng rng(6);
  for (std::size_t number = 0; const BatchKernels* set = usable_batch_kernels(number); ++number) {
    SCOPED_TRACE(set->name);
    alignas(64) double x[kBatchRows], y[kBatchRows];
    for (int round = 0; round < 20'000; ++round) {
      for (double& v : x) {
        v = round % 2 ? std::ldexp(0.5 + uniform(rng), static_cast<int>(rng() % 80) - 40)
                      : 1 + 1e-3 * (uniform(rng) - 0.5);
      }
      set->log2(kBatchRows, x, y);
      for (std::size_t i = 0; i < kBatchRows; ++i) {
        const double want = std::log2(x[i]);
        // Near 1, where the logarithm is near 0, it is exact in proportion.
        const double scale = round % 2 ? std::max(1.0, std::abs(want)) : std::abs(want);
        ASSERT_NEAR(y[i], want, 4e-15 * scale) << x[i];
      }
    }
    std::fill_n(x, kBatchRows, 1.0);
    set->log2(kBatchRows, x, y);
    EXPECT_EQ(y[0], 0);
  }
}

TEST(BatchKernels, Recurrence) {
  SeededRng rng(7);
  for (std::size_t number = 0; const BatchKernels* set = usable_batch_kernels(number); ++number) {
    SCOPED_TRACE(set->name);
    for (std::size_t slices = 1; slices <= 70; ++slices) {
      const std::size_t n = triangle_size(slices);
      std::vector<double> room(3 * n + padded_rows(slices) + 16);
      double* best = room.data();
      while (reinterpret_cast<std::uintptr_t>(best) % 64 != 0) ++best;
      double *a = best + n, *b = a + n, *scratch = b + n;
      const bool fresh = slices % 2 == 0;
      const double q = 0.25, tie = 0.125;
      std::fill_n(best, n, kBatchNever);
      std::fill_n(a, n, kBatchNever);
      std::fill_n(b, n, 0.0);
      std::vector<double> base(n, kBatchNever);
      for (std::size_t j = 0; j < slices; ++j) {
        for (std::size_t i = 0; i <= j; ++i) {
          const std::size_t at = triangle_at(i, j);
          // Sums of few bits: exact in any order.
          a[at] = std::floor(1024 * uniform(rng) * std::sqrt(1 + j - i));
          b[at] = std::floor(1024 * uniform(rng));
          best[at] = std::floor(1024 * uniform(rng));
          base[at] = a[at] - q * b[at] - tie;
          if (!fresh) base[at] = std::max(base[at], best[at]);
        }
      }
      std::vector<double> want = base;
      for (std::size_t j = 0; j < slices; ++j) {
        for (std::size_t i = 0; i <= j; ++i) {
          double& entry = want[triangle_at(i, j)];
          for (std::size_t m = i; m < j; ++m) {
            entry = std::max(entry, want[triangle_at(i, m)] + base[triangle_at(m + 1, j)]);
          }
        }
      }
      set->solve(slices, a, b, q, tie, fresh, scratch, best);
      for (std::size_t e = 0; e < want.size(); ++e) ASSERT_EQ(best[e], want[e]) << slices << " slices";
    }
  }
}

}  // namespace batch_kernels_test
}  // namespace margay::partition::internal
