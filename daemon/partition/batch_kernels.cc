// See batch_kernels.h. MARGAY_KERNELS names the set this compilation makes. Nothing of the standard library
// but types may be used: its inline functions would be compiled for a newer machine, and the linker might
// keep those for all.
#include "batch_kernels.h"

#include <cstdint>

#ifndef MARGAY_KERNELS
#define MARGAY_KERNELS baseline
#endif

namespace margay::partition::internal::MARGAY_KERNELS {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kWide = 8;
#elif defined(__AVX2__)
constexpr std::size_t kWide = 4;
#else
constexpr std::size_t kWide = 2;
#endif

typedef double V __attribute__((vector_size(kWide * 8), may_alias));
typedef std::uint64_t U __attribute__((vector_size(kWide * 8), may_alias));

#define MARGAY_INLINE static inline __attribute__((always_inline))

}  // namespace

MARGAY_INLINE const V& at(const double* p) {
  return *reinterpret_cast<const V*>(p);
}
MARGAY_INLINE V& at(double* p) {
  return *reinterpret_cast<V*>(p);
}
MARGAY_INLINE V all(double x) {
  return V{} + x;
}
MARGAY_INLINE V larger(const V& a, const V& b) {
  return a > b ? a : b;
}

// log2(1+f)/f on [sqrt(1/2)-1, sqrt(2)-1], interpolated at the Chebyshev points; error of f*P(f) at
// most 1.1e-15.
constexpr double kLog[18] = {
    0x1.71547652b82f3p+0, -0x1.71547652b82bcp-1, 0x1.ec709dc3af0b7p-2, -0x1.71547652d750ep-2,
    0x1.2776c50267394p-2, -0x1.ec709d88a96abp-3, 0x1.a6176ab8bc49dp-3, -0x1.71548c8922853p-3,
    0x1.4849d58c47829p-3, -0x1.2772b1d9c7c10p-3, 0x1.0cb3c157018d5p-3, -0x1.ed3c387595020p-4,
    0x1.c4aaadc3877c1p-4, -0x1.9b6dd1e83db29p-4, 0x1.8d802a1a38021p-4, -0x1.b6ed0b678b57bp-4,
    0x1.9d9a01e4e501cp-4, -0x1.808f0bb5ab844p-5,
};

// x = 2^k * m with m in [sqrt(1/2), sqrt(2)) by adding 1 - sqrt(1/2) to the bits (as fdlibm does), so that
// the logarithm near 1 has no cancellation. Of 0 it is some finite number, which 0 is then multiplied by.
MARGAY_INLINE V log2_of(const V& x) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000;
  const U bits = __builtin_bit_cast(U, x) + (kOne - kRootHalf);
  // k + 1023 as the low bits of 2^52: a conversion that needs no instruction for it.
  const V k = __builtin_bit_cast(V, (bits >> 52) | 0x4330000000000000u) - (0x1p52 + 1023);
  const V f = __builtin_bit_cast(V, (bits & 0x000fffffffffffffu) + kRootHalf) - 1.0;
  const V f2 = f * f;
  V even = all(kLog[16]), odd = all(kLog[17]);
#pragma GCC unroll 8
  for (int c = 14; c >= 0; c -= 2) {
    even = even * f2 + kLog[c];
    odd = odd * f2 + kLog[c + 1];
  }
  return k + f * (even + f * odd);
}

static void measure(std::size_t slices, const double* cells, std::size_t stride, const std::size_t* which,
                    std::size_t states, std::size_t weight, bool add, double* scratch, double* a, double* b) {
  // In the last block of column j the rows after j have not begun.
  alignas(64) double begun[kRows][kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t i = 0; i < kRows; ++i) begun[r][i] = i <= r ? 1.0 : 0.0;
  }
  const std::size_t rows = (slices + kRows - 1) / kRows * kRows;
  for (std::size_t i = 0; i < rows * (states + 1); ++i) scratch[i] = 0;
  for (std::size_t j = 0; j < slices; ++j) {
    const double* cell = cells + j * stride;
    const std::size_t column = (j / kRows + 1) * kRows;
    for (std::size_t i = 0; i < column; i += kWide) {
      const V mask = i / kRows == j / kRows ? at(begun[j % kRows] + i % kRows) : all(1.0);
      double* s = scratch + i * (states + 1);  // per vector of rows: one vector a state, then the weight
      V sum_a{}, total{};
      for (std::size_t x = 0; x < states; ++x) {
        const V now = at(s + x * kWide) + mask * cell[which[x]];
        at(s + x * kWide) = now;
        sum_a += now * log2_of(now);
        total += now;
      }
      const V w = at(s + states * kWide) + mask * cell[weight];
      at(s + states * kWide) = w;
      const V sum_b = total * log2_of(w);
      if (add) {
        at(a + i) += sum_a;
        at(b + i) += sum_b;
      } else {
        const V out = (1.0 - mask) * kNever;
        at(a + i) = sum_a + out;
        at(b + i) = sum_b;
      }
    }
    a += column;
    b += column;
  }
}

static void whole(std::size_t n, const double* a, const double* b, double q, double tie, bool fresh,
                  double* best) {
  for (std::size_t i = 0; i < n; i += kWide) {
    const V value = at(a + i) - at(b + i) * q - tie;
    at(best + i) = fresh ? value : larger(at(best + i), value);
  }
}

// The candidates of the columns [from, to) for Count vectors of rows, kept in registers. base points at
// base(m+1,j) for m = 0.
template <int Count>
MARGAY_INLINE void cut_rows(const double* best, std::size_t row, std::size_t from, std::size_t to,
                            const double* base, V* top) {
  const double* column = best + triangle_column(from) + row;
  for (std::size_t m = from; m < to; ++m) {
    const V right = all(base[m]);
#pragma GCC unroll 4
    for (int c = 0; c < Count; ++c) top[c] = larger(top[c], at(column + c * kWide) + right);
    column += (m / kRows + 1) * kRows;
  }
}

// `Count` vectors of rows of column j. Only columns m >= row begin no later than the row: the first columns
// are met by the first rows of the block only.
template <int Count>
MARGAY_INLINE void cut_block(const double* best, std::size_t row, std::size_t j, const double* base,
                             double* now) {
  V top[Count];
  for (int c = 0; c < Count; ++c) top[c] = at(base + row + c * kWide);
  std::size_t from = row < j ? row : j;
  const auto reach = [&](std::size_t vectors) {
    return row + vectors * kWide < j ? row + vectors * kWide : j;
  };
  if constexpr (Count > 1) {
    cut_rows<1>(best, row, from, reach(1), base + 1, top);
    from = reach(1);
  }
  if constexpr (Count > 2) {
    cut_rows<2>(best, row, from, reach(2), base + 1, top);
    from = reach(2);
  }
  if constexpr (Count > 3) {
    cut_rows<3>(best, row, from, reach(3), base + 1, top);
    from = reach(3);
  }
  cut_rows<Count>(best, row, from, j, base + 1, top);
  for (int c = 0; c < Count; ++c) at(now + row + c * kWide) = top[c];
}

static void cut(std::size_t slices, double* scratch, double* best) {
  for (std::size_t j = 1; j < slices; ++j) {
    double* now = best + triangle_column(j);
    const std::size_t rows = (j / kRows + 1) * kRows;
    for (std::size_t i = 0; i < rows; i += kWide) at(scratch + i) = at(now + i);
    std::size_t row = 0;
    for (; row + 4 * kWide <= rows; row += 4 * kWide) cut_block<4>(best, row, j, scratch, now);
    switch ((rows - row) / kWide) {
      case 3:
        cut_block<3>(best, row, j, scratch, now);
        break;
      case 2:
        cut_block<2>(best, row, j, scratch, now);
        break;
      case 1:
        cut_block<1>(best, row, j, scratch, now);
        break;
      default:
        break;
    }
  }
}

static void add(std::size_t n, const double* left, const double* right, double t, bool fresh, double* sum) {
  if (left == right) {
    for (std::size_t i = 0; i < n; i += kWide)
      at(sum + i) = fresh ? at(left + i) : at(sum + i) + at(left + i);
    return;
  }
  for (std::size_t i = 0; i < n; i += kWide) {
    const V l = at(left + i);
    const V value = l + (at(right + i) - l) * t;
    at(sum + i) = fresh ? value : at(sum + i) + value;
  }
}

static bool on_chord(std::size_t n, const double* left, const double* right, double t, const double* middle,
                     double bound) {
  // In chunks: most triangles that are off are so early on.
  constexpr std::size_t kChunk = 64;
  for (std::size_t begin = 0; begin < n; begin += kChunk) {
    const std::size_t end = begin + kChunk < n ? begin + kChunk : n;
    V most{};
    for (std::size_t i = begin; i < end; i += kWide) {
      const V l = at(left + i);
      most = larger(most, l + (at(right + i) - l) * t - at(middle + i));
    }
    for (std::size_t e = 0; e < kWide; ++e) {
      if (most[e] > bound) return false;
    }
  }
  return true;
}

static void log2_all(std::size_t n, const double* x, double* out) {
  for (std::size_t i = 0; i < n; i += kWide) {
    const V value = log2_of(at(x + i));
    at(out + i) = value;
  }
}

extern const Kernels kKernels;
#define MARGAY_TEXT(x) #x
#define MARGAY_NAME(x) MARGAY_TEXT(x)
const Kernels kKernels = {MARGAY_NAME(MARGAY_KERNELS), measure, whole, cut, add, on_chord, log2_all};

}  // namespace margay::partition::internal::MARGAY_KERNELS
