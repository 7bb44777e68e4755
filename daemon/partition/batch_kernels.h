// The hot loops of the batch solver. Private to the module.
//
// batch_kernels.cc is compiled once for every machine there is code for, and on x86-64 twice more, for AVX2
// and for AVX-512; kernels() chooses when the program runs. A table of function pointers, not ifuncs:
// sanitizers call ifunc resolvers before they are ready.
//
// A triangle holds an entry for each interval [i,j] of T slices. Its columns (one j, rows i = 0..j) are
// contiguous, each padded to a multiple of 8 doubles, so that every column begins on a cache line. Padding
// holds kNever and stays lower than any value whatever is added to it.
#pragma once

#include <cstddef>

namespace margay::partition::internal {

// Far below every value, and finite: sums and differences of it are defined.
inline constexpr double kNever = -1e300;
inline constexpr std::size_t kRows = 8;

// Where column j begins: 8*(1 + 1 + ... + 2 + 2 + ...).
[[gnu::always_inline]] constexpr std::size_t triangle_column(std::size_t j) {
  const std::size_t q = j / kRows, r = j % kRows;
  return kRows * (q + 1) * (4 * q + r);
}
[[gnu::always_inline]] constexpr std::size_t triangle_at(std::size_t i, std::size_t j) {
  return triangle_column(j) + i;
}
constexpr std::size_t triangle_size(std::size_t slices) {
  return triangle_column(slices);
}
constexpr std::size_t padded_rows(std::size_t slices) {
  return (slices + kRows - 1) / kRows * kRows;
}

// Triangles begin on 64 bytes. n: doubles in them, triangle_size(T).
struct Kernels {
  const char* name;
  // a, b of every interval (measures: partition.h). cells[t*stride + x] for the `states` values of x named in
  // `which`, and the weight at cells[t*stride + weight]. `add`: onto what is there (padding: not set).
  // scratch: (states + 1) * padded_rows(T) doubles.
  void (*measure)(std::size_t slices, const double* cells, std::size_t stride, const std::size_t* which,
                  std::size_t states, std::size_t weight, bool add, double* scratch, double* a, double* b);
  // best = max(best, a - q*b - tie), or without best's old value if it has none (`fresh`).
  void (*whole)(std::size_t n, const double* a, const double* b, double q, double tie, bool fresh,
                double* best);
  // Temporal cuts: best(i,j) = max(best(i,j), max over m of best(i,m) + base(m+1,j)), base being the old
  // best. scratch: padded_rows(T) doubles.
  void (*cut)(std::size_t slices, double* scratch, double* best);
  // sum = left + t*(right - left), plus the old sum unless `fresh`.
  void (*add)(std::size_t n, const double* left, const double* right, double t, bool fresh, double* sum);
  // Does no entry of `middle` lie more than `bound` below left + t*(right - left)?
  bool (*on_chord)(std::size_t n, const double* left, const double* right, double t, const double* middle,
                   double bound);
  // out[k] = log2(x[k]) for finite x > 0, k < n, n a multiple of 8: for tests.
  void (*log2)(std::size_t n, const double* x, double* out);
};

// The sets this machine can run, from the slowest to the fastest; nullptr after the last.
const Kernels* usable_kernels(std::size_t number);
// The fastest.
const Kernels& kernels();

}  // namespace margay::partition::internal
