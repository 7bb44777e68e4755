// The inner loops of the engines, built once for each instruction set that pays. Private to the module.
//
// All of them work on blocks of eight rows: rows i of a column j, from the first row of the oldest tile on
// (ring_triangle.h). Rows before the window and after j are padding. Entries of tables are integers (see
// FIXED POINT in spatiotemporal.h): additions are exact, so results do not depend on the order of work.
//
// Instruction sets differ in the last bit of a measure (fused multiplication), never in what is an optimum of
// the measures they made. An engine uses one set for all it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace margay::partition::internal {

inline constexpr std::size_t kRows = 8;

// Never better than anything, and far enough from the end of the type to be added to.
template <class T>
inline constexpr T kNever = std::numeric_limits<T>::min() / 2;
// Never less than anything.
template <class T>
inline constexpr T kAlways = std::numeric_limits<T>::max() / 2;

struct MeasureIn {
  const std::uint64_t* blocks;  // of one node (prefix_sums.h)
  std::size_t ring;             // blocks in the ring
  std::size_t rows;             // 8-row groups in a block: the states, the weight, what may follow
  std::size_t states;
  const std::uint64_t* column;   // sums up to the end of slice j: states, weight
  std::uint64_t first;           // slice: what is before it may be measured or not
  std::uint64_t oldest, newest;  // blocks to measure, both inclusive, not wrapped
  const std::uint8_t* awake;     // which of them, counted from the oldest; nullptr: all
  double unit;                   // what 1 of a sum stands for: a power of two
  double unit_log2;
  std::uint32_t* occurring;  // scratch, for each state
};

template <class T>
struct BaseIn {
  const double* a;
  const double* b;
  const std::int64_t* split;  // sum over the children, in units of the engine; nullptr: a leaf
  double one_minus_p;
  double tie;                 // bits
  double scale;               // bits to units of the node
  int shift;                  // units of the engine to units of the node
  std::size_t blocks;         // rows to work on: 8 * blocks
  std::size_t begin;          // the first row of the window
  std::size_t last;           // row j
  const std::uint8_t* awake;  // blocks that were measured (others have their split only); nullptr: all
};

inline constexpr std::size_t kMostColumns = 4;

inline constexpr std::size_t kNoCut = ~std::size_t{0};

template <class T>
struct ProductIn {
  const T* table;
  std::size_t across;            // of its RingTriangle
  const std::uint32_t* places;   // RingTriangle::places()
  std::uint64_t oldest;          // tile row
  std::uint64_t newest;          // tile column of the last solved column
  std::uint64_t last_row;        // no tile row beyond this
  std::size_t columns;           // 1 to kMostColumns
  const T* right[kMostColumns];  // base(m+1,j) at row m; kNever where m is not a solved slice of the window
  T* reach[kMostColumns];        // scratch, for each tile column
  std::uint32_t* kept;           // scratch, for each tile column
  T* out[kMostColumns];          // rows before the window being kAlways
  T below[kMostColumns];         // best of the first row below last_row, if there is one
  std::size_t* cut;              // a slice where a cut may be good (0: the first row of the oldest tile), or
                                 // kNoCut; then where one was
};

// A column of a table.
struct Place {
  std::size_t across;
  const std::uint32_t* places;  // RingTriangle::places()
  std::uint64_t oldest;         // tile row
  std::uint64_t j;
};

template <class T>
struct TableKernels {
  // base_k(i,j) of all rows, padding as kNever.
  void (*base)(const BaseIn<T>&, T* out);
  // The least by which `out` exceeds the value of an area as one aggregate, over the rows of a block that was
  // measured.
  T (*gap)(const BaseIn<T>&, std::size_t block, const T* out);
  // out(i) = max(out(i), table(i,m) + right(m)) over all m: the temporal cuts.
  void (*product)(const ProductIn<T>&);
  // out(i) = max(out(i), left(i) + right): one more cut.
  void (*cut)(const T* left, T right, T* out, std::size_t blocks);
  // sum(i) += table(i,j) << shift.
  void (*gather)(const T* table, const Place& place, int shift, std::int64_t* sum);
  // The other way: rows of column j into the table and what goes with it, tile rows up to last_row. `fresh`:
  // no column of this tile column is there yet.
  void (*store)(T* table, const Place& place, std::uint64_t last_row, bool fresh, const T* rows);
};

struct Kernels {
  const char* name;
  // A cell as integers: v*to and w*to, rounded, and of these sum v*log2(v/w). cell: states, weight,
  // information.
  void (*convert)(const double* v, std::size_t states, double w, double to, std::int64_t* cell);
  // a = sum_x S_x*log2(S_x), b = (sum_x S_x)*log2(W) of [i,j], in bits, for all rows. `precise`: to 1e-15 of
  // S*log2(S), else to 4e-11 of S and in less than half the time (sums below 2^52).
  void (*measure)(const MeasureIn&, bool precise, double* a, double* b);
  // sum(i) += round(value(i)*scale); |value*scale| < 2^51.
  void (*accumulate)(const double* value, double scale, std::int64_t* sum, std::size_t blocks);
  TableKernels<std::int32_t> compact;
  TableKernels<std::int64_t> exact;
};

// Those this machine can run, the best last. Never empty.
const std::vector<const Kernels*>& kernels_here();

}  // namespace margay::partition::internal
