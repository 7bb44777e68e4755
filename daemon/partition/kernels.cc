// Compiled once for each instruction set (CMakeLists.txt sets MARGAY_KERNELS and the compiler's flags).
#include "kernels.h"

#include "pruned_product.h"
#include "vector_log.h"
#include "vector_rows.h"

namespace margay::partition::internal::MARGAY_KERNELS {
namespace {

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

// kAll: all states occur.
template <bool kPrecise, bool kAll>
void measure_blocks(const MeasureIn& in, std::size_t occurring, double* a_out, double* b_out) {
  const Doubles offset = Doubles{} + in.unit_log2, unit = Doubles{} + in.unit;
  std::size_t at = static_cast<std::size_t>(in.oldest % in.ring);
  const std::size_t blocks = static_cast<std::size_t>(in.newest - in.oldest) + 1;
  for (std::size_t block = 0; block < blocks; ++block, a_out += kRows, b_out += kRows) {
    const std::uint64_t* rows = in.blocks + at * in.rows * kRows;
    if (++at == in.ring) at = 0;
    if (in.awake != nullptr && !in.awake[block]) continue;
    for (std::size_t lane = 0; lane < kRows; lane += kWide) {
      Doubles a{}, total{};
      for (std::size_t n = 0; n < (kAll ? in.states : occurring); ++n) {
        const std::size_t x = kAll ? n : in.occurring[n];
        const Words sum = in.column[x] - load<Words>(rows + x * kRows + lane);
        const Doubles s = to_double<kPrecise>(sum);
        // The offset is of the size of the logarithm: to take it out of the sum costs some bits.
        a += s * (kPrecise ? log2_of<kPrecise>(s) + offset : log2_of<kPrecise>(s));
        total += s;
      }
      if constexpr (!kPrecise) a += total * offset;
      const Doubles w =
          to_double<kPrecise>(in.column[in.states] - load<Words>(rows + in.states * kRows + lane));
      store(a_out + lane, a * unit);
      store(b_out + lane, total * (log2_of<kPrecise>(w) + offset) * unit);
    }
  }
}

// States that do not occur cost nothing: of many states most nodes show few.
template <bool kPrecise>
void measure_rows(const MeasureIn& in, double* a, double* b) {
  const std::uint64_t* const first =
      in.blocks + in.first / kRows % in.ring * in.rows * kRows + in.first % kRows;
  std::size_t occurring = 0;
  for (std::size_t x = 0; x < in.states; ++x) {
    in.occurring[occurring] = static_cast<std::uint32_t>(x);
    occurring += in.column[x] != first[x * kRows];
  }
  if (occurring == in.states)
    measure_blocks<kPrecise, true>(in, occurring, a, b);
  else
    measure_blocks<kPrecise, false>(in, occurring, a, b);
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

inline double sum_of(Doubles x) {
  double sum = 0;
  for (std::size_t e = 0; e < kWide; ++e) sum += x[e];
  return sum;
}

// A cell that weighs nothing says nothing, even if rounding left a trace of a state in it.
void convert(const double* v, std::size_t states, double w, double to, std::int64_t* cell) {
  const std::int64_t weight = __builtin_llrint(w * to);
  if (weight <= 0) to = 0;
  const bool small = to < 0x1p50;
  const Doubles whole = Doubles{} + static_cast<double>(weight > 0 ? weight : 1);
  Doubles information{};
  for (std::size_t x = 0; x < states; x += kWide) {
    Words part{};
    if (x + kWide <= states && small) {
      part = rounded(load<Doubles>(v + x) * to);
      store(cell + x, part);
    } else {
      for (std::size_t e = 0; e < kWide && x + e < states; ++e) {
        cell[x + e] = __builtin_llrint(v[x + e] * to);
        part[e] = static_cast<std::uint64_t>(cell[x + e]);
      }
    }
    const Doubles c = to_double<true>(part);
    information += c * log2_of<true>(c / whole);
  }
  cell[states] = weight;
  cell[states + 1] = __builtin_llrint(sum_of(information));
}

void accumulate(const double* value, double scale, std::int64_t* sum, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks * kRows; i += kWide)
    store(sum + i, load<Words>(sum + i) + rounded(load<Doubles>(value + i) * scale));
}

// --- tables
// -------------------------------------------------------------------------------------------------

template <class T>
Longs value_at(const BaseIn<T>& in, std::size_t i) {
  const Doubles value = load<Doubles>(in.a + i) - in.one_minus_p * load<Doubles>(in.b + i) - in.tie;
  return bits<Longs>(rounded(value * in.scale));
}

template <class T>
void base(const BaseIn<T>& in, T* out) {
  const std::uint64_t half = in.shift > 0 ? std::uint64_t{1} << (in.shift - 1) : 0;
  for (std::size_t i = 0; i < in.blocks * kRows; i += kWide) {
    Longs best = Longs{} + std::int64_t{kNever<T>};
    if (in.awake == nullptr || in.awake[i / kRows]) best = value_at(in, i);
    if (in.split != nullptr) best = larger(best, bits<Longs>(load<Words>(in.split + i) + half) >> in.shift);
    for (std::size_t e = 0; e < kWide; ++e) out[i + e] = static_cast<T>(best[e]);
  }
  for (std::size_t i = 0; i < in.begin; ++i) out[i] = kNever<T>;
  for (std::size_t i = in.last + 1; i < in.blocks * kRows; ++i) out[i] = kNever<T>;
}

template <class T>
T gap(const BaseIn<T>& in, std::size_t block, const T* out) {
  T least = kAlways<T>;
  for (std::size_t lane = 0; lane < kRows; lane += kWide) {
    const std::size_t i = block * kRows + lane;
    const Longs value = value_at(in, i);
    for (std::size_t e = i < in.begin ? in.begin - i : 0; e < kWide; ++e) {
      const T more = out[i + e] - static_cast<T>(value[e]);
      if (more < least) least = more;
    }
  }
  return least;
}

template <class T, std::size_t kColumns>
void product_of(const ProductIn<T>& in) {
  Product<T, kColumns>(in).run();
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
void gather(const T* table, const Place& place, int shift, std::int64_t* sum) {
  const std::size_t blocks = static_cast<std::size_t>(place.j / kTile - place.oldest) + 1;
  const std::uint32_t* const tiles = place.places + (blocks - 1) * place.across;
  const T* const column = table + (place.j % kTile) * kTile;
  for (std::size_t row = 0; row < blocks; ++row, sum += kRows) {
    const T* from = column + std::size_t{tiles[row]} * kTileCells;
    for (std::size_t e = 0; e < kRows; ++e)
      sum[e] = static_cast<std::int64_t>(
          static_cast<std::uint64_t>(sum[e]) +
          (static_cast<std::uint64_t>(static_cast<std::int64_t>(from[e])) << shift));
  }
}

#define MARGAY_TEXT_(x) #x
#define MARGAY_TEXT(x) MARGAY_TEXT_(x)

template <class T>
constexpr TableKernels<T> kTable = {base<T>, gap<T>, product<T>, cut<T>, gather<T>, store_column<T>};

}  // namespace

extern const Kernels kKernels;
constinit const Kernels kKernels = {
    MARGAY_TEXT(MARGAY_KERNELS), convert, measure, accumulate, kTable<std::int32_t>, kTable<std::int64_t>};

}  // namespace margay::partition::internal::MARGAY_KERNELS
