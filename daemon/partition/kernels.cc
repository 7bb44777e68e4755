// Compiled once for each instruction set (CMakeLists.txt sets MARGAY_KERNELS and the compiler's flags).
#include "kernels.h"

#include <cstring>

#include "ring_triangle.h"

#include "vector_log.h"

namespace margay::partition::internal::MARGAY_KERNELS {
namespace {

template <class V, class T>
inline V load(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class V, class T>
inline void store(T* to, V v) {
  std::memcpy(to, &v, sizeof v);
}
template <class To, class From>
inline To bits(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  std::memcpy(&to, &from, sizeof to);
  return to;
}
template <class V>
inline V larger(V x, V y) {
  return x > y ? x : y;
}

// --- measures
// -----------------------------------------------------------------------------------------------

// An integer below 2^63 (else 2^52) as a double. Its halves are put behind the exponents of 2^84 and 2^52,
// where one unit in the last place is 2^32 and 1.
template <bool kPrecise>
inline Doubles to_double(Words x) {
  if constexpr (!kPrecise) return bits<Doubles>(x | 0x4330000000000000u) - 0x1p52;
  const Doubles high = bits<Doubles>((x >> 32) | 0x4530000000000000u) - 0x1p84;
  const Doubles low = bits<Doubles>((x & 0xffffffffu) | 0x4330000000000000u) - 0x1p52;
  return high + low;
}

template <bool kPrecise>
void measure_rows(const MeasureIn& in, double* a_out, double* b_out) {
  const Doubles offset = Doubles{} + in.unit_log2, unit = Doubles{} + in.unit;
  std::size_t at = static_cast<std::size_t>(in.oldest % in.ring);
  for (std::uint64_t block = in.oldest; block <= in.newest; ++block) {
    const std::uint64_t* rows = in.blocks + at * in.rows * kRows;
    if (++at == in.ring) at = 0;
    for (std::size_t lane = 0; lane < kRows; lane += kWide) {
      Doubles a{}, total{};
      for (std::size_t x = 0; x < in.states; ++x) {
        const Words sum = in.column[x] - load<Words>(rows + x * kRows + lane);
        const Doubles s = to_double<kPrecise>(sum);
        a += s * (log2_of<kPrecise>(s) + offset);
        total += s;
      }
      const Doubles w =
          to_double<kPrecise>(in.column[in.states] - load<Words>(rows + in.states * kRows + lane));
      store(a_out + lane, a * unit);
      store(b_out + lane, total * (log2_of<kPrecise>(w) + offset) * unit);
    }
    a_out += kRows;
    b_out += kRows;
  }
}

void measure(const MeasureIn& in, bool precise, double* a, double* b) {
  return precise ? measure_rows<true>(in, a, b) : measure_rows<false>(in, a, b);
}

// Rounds to an integer: behind the exponent of 2^52 the last place is 1.
constexpr double kRound = 0x1.8p52;
// Rows of padding may hold anything, and wrap.
inline Words rounded(Doubles x) {
  return bits<Words>(x + kRound) - bits<Words>(Doubles{} + kRound);
}

void accumulate(const double* value, double scale, std::int64_t* sum, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks * kRows; i += kWide)
    store(sum + i, load<Words>(sum + i) + rounded(load<Doubles>(value + i) * scale));
}

// --- tables
// -------------------------------------------------------------------------------------------------

template <class T>
void base(const BaseIn<T>& in, T* out) {
  const std::uint64_t half = in.shift > 0 ? std::uint64_t{1} << (in.shift - 1) : 0;
  for (std::size_t i = 0; i < in.blocks * kRows; i += kWide) {
    const Doubles value = load<Doubles>(in.a + i) - in.one_minus_p * load<Doubles>(in.b + i) - in.tie;
    Longs best = bits<Longs>(rounded(value * in.scale));
    if (in.split != nullptr) best = larger(best, bits<Longs>(load<Words>(in.split + i) + half) >> in.shift);
    for (std::size_t e = 0; e < kWide; ++e) out[i + e] = static_cast<T>(best[e]);
  }
  for (std::size_t i = 0; i < in.begin; ++i) out[i] = kNever<T>;
  for (std::size_t i = in.last + 1; i < in.blocks * kRows; ++i) out[i] = kNever<T>;
}

// Eight rows of a column.
template <class T>
struct Rows {
  static constexpr std::size_t kEach = kRows * sizeof(T) < kBytes ? kRows * sizeof(T) : kBytes;
  static constexpr std::size_t kCount = kRows * sizeof(T) / kEach;
  typedef T V __attribute__((vector_size(kEach)));
  V v[kCount];

  static Rows from(const T* p) {
    Rows r;
    std::memcpy(r.v, p, sizeof r.v);
    return r;
  }
  void to(T* p) const { std::memcpy(p, v, sizeof v); }
  // Each row: the larger of itself and the other plus `add`.
  void improve(const Rows& other, T add) {
    for (std::size_t n = 0; n < kCount; ++n) v[n] = larger(v[n], other.v[n] + add);
  }
};

constexpr std::size_t kReadAhead = 2048;

template <class T, std::size_t kColumns>
void product_of(const ProductIn<T>& in) {
  const std::uint64_t span = in.newest - in.oldest;
  for (std::uint64_t d = 0; d <= span; ++d) {
    const std::size_t ring = in.across - static_cast<std::size_t>(d);
    const T* const diagonal = in.table + RingTriangle::before(in.across, static_cast<std::size_t>(d));
    std::size_t at = static_cast<std::size_t>(in.oldest % ring);
    const std::uint64_t last = in.last_row - in.oldest < span - d ? in.last_row - in.oldest : span - d;
    for (std::uint64_t row = 0; row <= last; ++row) {
      const T* tile = diagonal + at * kTileCells;
      if (++at == ring) at = 0;
      // The hardware's own reading ahead stops at each page and at each turn of a ring.
      const char* const ahead = reinterpret_cast<const char*>(tile) + kReadAhead;
      for (std::size_t line = 0; line < kTileCells * sizeof(T); line += 64) __builtin_prefetch(ahead + line);
      Rows<T> acc[kColumns];
      for (std::size_t n = 0; n < kColumns; ++n) acc[n] = Rows<T>::from(in.out[n] + row * kRows);
      const std::size_t first = static_cast<std::size_t>(row + d) * kTile;
      for (std::size_t c = 0; c < kTile; ++c) {
        const auto left = Rows<T>::from(tile + c * kTile);
        for (std::size_t n = 0; n < kColumns; ++n) acc[n].improve(left, in.right[n][first + c]);
      }
      for (std::size_t n = 0; n < kColumns; ++n) acc[n].to(in.out[n] + row * kRows);
    }
  }
}

template <class T>
void product(const ProductIn<T>& in) {
  switch (in.columns) {
    case 1:
      return product_of<T, 1>(in);
    case 2:
      return product_of<T, 2>(in);
    case 3:
      return product_of<T, 3>(in);
    default:
      return product_of<T, 4>(in);
  }
}

template <class T>
void cut(const T* left, T right, T* out, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks * kRows; i += kRows) {
    auto rows = Rows<T>::from(out + i);
    rows.improve(Rows<T>::from(left + i), right);
    rows.to(out + i);
  }
}

template <class T>
void gather(const T* table, std::size_t across, std::uint64_t oldest, std::uint64_t j, int shift,
            std::int64_t* sum) {
  const std::uint64_t newest = j / kTile;
  const T* const column = table + (j % kTile) * kTile;
  for (std::uint64_t row = oldest; row <= newest; ++row, sum += kRows) {
    const T* from = column + RingTriangle::tile(across, row, newest);
    for (std::size_t e = 0; e < kRows; ++e)
      sum[e] = static_cast<std::int64_t>(
          static_cast<std::uint64_t>(sum[e]) +
          (static_cast<std::uint64_t>(static_cast<std::int64_t>(from[e])) << shift));
  }
}

template <class T>
void store_column(T* table, std::size_t across, std::uint64_t oldest, std::uint64_t j, std::uint64_t last_row,
                  const T* rows) {
  const std::uint64_t newest = j / kTile;
  T* const column = table + (j % kTile) * kTile;
  for (std::uint64_t row = oldest; row <= newest && row <= last_row; ++row, rows += kRows)
    std::memcpy(column + RingTriangle::tile(across, row, newest), rows, kRows * sizeof(T));
}

#define MARGAY_TEXT_(x) #x
#define MARGAY_TEXT(x) MARGAY_TEXT_(x)

template <class T>
constexpr TableKernels<T> kTable = {base<T>, product<T>, cut<T>, gather<T>, store_column<T>};

}  // namespace

extern const Kernels kKernels;
constinit const Kernels kKernels = {MARGAY_TEXT(MARGAY_KERNELS), measure, accumulate, kTable<std::int32_t>,
                                    kTable<std::int64_t>};

}  // namespace margay::partition::internal::MARGAY_KERNELS
