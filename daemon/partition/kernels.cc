// Compiled once for each instruction set (CMakeLists.txt sets MARGAY_KERNELS and the compiler's flags).
#include "kernels.h"

#include <cstring>

#include "ring_triangle.h"

#ifndef MARGAY_KERNELS
#define MARGAY_KERNELS baseline
#endif

namespace margay::partition::internal::MARGAY_KERNELS {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kBytes = 32;
#else
constexpr std::size_t kBytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
using Doubles = Vector<double>;
using Words = Vector<std::uint64_t>;
using Longs = Vector<std::int64_t>;

constexpr std::size_t kWide = kBytes / 8;  // doubles in a vector

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

// Of f in [sqrt(1/2)-1, sqrt(2)-1]: log2(1+f)/f, near-minimax.
template <bool kPrecise>
inline Doubles log2_poly(Doubles f) {
  if constexpr (kPrecise) {
    constexpr double c[] = {
        0x1.71547652b82fep+0, -0x1.71547652b8235p-1, 0x1.ec709dc3a07e3p-2, -0x1.71547652e904bp-2,
        0x1.2776c50ef4007p-2, -0x1.ec709d8c37b26p-3, 0x1.a6176270160aep-3, -0x1.7154845e58c58p-3,
        0x1.484b2d535e5eap-3, -0x1.2774ea5e497fap-3, 0x1.0c95cf27f2e4ap-3, -0x1.ecb45940d9ba3p-4,
        0x1.c772de4513cfdp-4, -0x1.a3b3b04b9a8d0p-4, 0x1.7e879908bcee0p-4, -0x1.769ad1d5eaaccp-4,
        0x1.a3165ff8364a0p-4, -0x1.8663f16da460ap-4, 0x1.618cc0ff3a33ap-5};
    Doubles r = c[18] * f + c[17];
    for (int i = 16; i >= 0; --i) r = r * f + c[i];
    return r;
  } else {
    constexpr double c[] = {0x1.71547652a44d8p+0,  -0x1.715476572ccb0p-1, 0x1.ec709ea6a2f27p-2,
                            -0x1.71546f486869ep-2, 0x1.277658c146391p-2,  -0x1.ec7352cd2929dp-3,
                            0x1.a63df159b5b57p-3,  -0x1.7131efa49184cp-3, 0x1.45304ea489318p-3,
                            -0x1.25de457da6b50p-3, 0x1.28dbe036d477ep-3,  -0x1.21af91ae1d3e1p-3,
                            0x1.356762bddfde3p-4};
    Doubles r = c[12] * f + c[11];
    for (int i = 10; i >= 0; --i) r = r * f + c[i];
    return r;
  }
}

// log2 of x >= 0; of 0 something finite, for it is multiplied by 0.
template <bool kPrecise>
inline Doubles log2_of(Doubles x) {
  constexpr std::uint64_t kRoot = 0x3fe6a09e00000000u;  // sqrt(1/2), nearly
  const Words t = bits<Words>(x) + (0x3ff0000000000000u - kRoot);
  const Doubles exponent = bits<Doubles>((t >> 52) | 0x4330000000000000u) - (0x1p52 + 1023);
  const Doubles f = bits<Doubles>((t & 0x000fffffffffffffu) + kRoot) - 1.0;
  return exponent + f * log2_poly<kPrecise>(f);
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
inline Longs rounded(Doubles x) {
  return bits<Longs>(x + kRound) - bits<Longs>(Doubles{} + kRound);
}

void accumulate(const double* value, double scale, std::int64_t* sum, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks * kRows; i += kWide)
    store(sum + i, load<Longs>(sum + i) + rounded(load<Doubles>(value + i) * scale));
}

// --- tables
// -------------------------------------------------------------------------------------------------

template <class T>
void base(const BaseIn<T>& in, T* out) {
  const std::int64_t half = in.shift > 0 ? std::int64_t{1} << (in.shift - 1) : 0;
  for (std::size_t i = 0; i < in.blocks * kRows; i += kWide) {
    const Doubles value = load<Doubles>(in.a + i) - in.one_minus_p * load<Doubles>(in.b + i) - in.tie;
    Longs best = rounded(value * in.scale);
    if (in.split != nullptr) best = larger(best, (load<Longs>(in.split + i) + half) >> in.shift);
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
