// See batch_kernels.h. MARGAY_KERNELS names the set this compilation makes. Nothing of the standard library
// but types may be used: its inline functions would be compiled for a newer machine, and the linker might
// keep those for all.
#include "batch_kernels.h"

#include <cstdint>

#include "vector_log.h"

namespace margay::partition::internal::MARGAY_KERNELS {

using V = Doubles;

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

static void measure(std::size_t slices, const double* cells, std::size_t stride, const std::size_t* which,
                    std::size_t states, std::size_t weight, bool add, double* scratch, double* a, double* b) {
  // In the last block of column j the rows after j have not begun.
  alignas(64) double begun[kBatchRows][kBatchRows];
  for (std::size_t r = 0; r < kBatchRows; ++r) {
    for (std::size_t i = 0; i < kBatchRows; ++i) begun[r][i] = i <= r ? 1.0 : 0.0;
  }
  const std::size_t rows = (slices + kBatchRows - 1) / kBatchRows * kBatchRows;
  for (std::size_t i = 0; i < rows * (states + 1); ++i) scratch[i] = 0;
  for (std::size_t j = 0; j < slices; ++j) {
    const double* cell = cells + j * stride;
    const std::size_t column = (j / kBatchRows + 1) * kBatchRows;
    for (std::size_t i = 0; i < column; i += kWide) {
      const V mask = i / kBatchRows == j / kBatchRows ? at(begun[j % kBatchRows] + i % kBatchRows) : all(1.0);
      double* s = scratch + i * (states + 1);  // per vector of rows: one vector a state, then the weight
      V sum_a{}, total{};
      for (std::size_t x = 0; x < states; ++x) {
        const V now = at(s + x * kWide) + mask * cell[which[x]];
        at(s + x * kWide) = now;
        sum_a += now * log2_of<true>(now);
        total += now;
      }
      const V w = at(s + states * kWide) + mask * cell[weight];
      at(s + states * kWide) = w;
      const V sum_b = total * log2_of<true>(w);
      if (add) {
        at(a + i) += sum_a;
        at(b + i) += sum_b;
      } else {
        const V out = (1.0 - mask) * kBatchNever;
        at(a + i) = sum_a + out;
        at(b + i) = sum_b;
      }
    }
    a += column;
    b += column;
  }
}

static void whole(std::size_t n, const double* a, const double* b, double q, double tie, double* best) {
  for (std::size_t i = 0; i < n; i += kWide) at(best + i) = at(a + i) - at(b + i) * q - tie;
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
    column += (m / kBatchRows + 1) * kBatchRows;
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

static void solve(std::size_t slices, const double* a, const double* b, double q, double tie, bool fresh,
                  double* scratch, double* best) {
  for (std::size_t j = 0; j < slices; ++j) {
    const std::size_t column = triangle_column(j), rows = (j / kBatchRows + 1) * kBatchRows;
    double* now = best + column;
    // Here and not in a pass of its own: a and b come from memory while other columns are worked on.
    for (std::size_t i = 0; i < rows; i += kWide) {
      const V value = at(a + column + i) - at(b + column + i) * q - tie;
      at(scratch + i) = fresh ? value : larger(at(now + i), value);
    }
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
    const V value = log2_of<true>(at(x + i));
    at(out + i) = value;
  }
}

extern const BatchKernels kBatchKernels;
#define MARGAY_TEXT(x) #x
#define MARGAY_NAME(x) MARGAY_TEXT(x)
const BatchKernels kBatchKernels = {
    MARGAY_NAME(MARGAY_KERNELS), measure, whole, solve, add, on_chord, log2_all};

}  // namespace margay::partition::internal::MARGAY_KERNELS
