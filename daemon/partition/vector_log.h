// Vectors as wide as the machine has them, and their logarithm. For files that are compiled once for each
// instruction set (MARGAY_KERNELS names it); all is inlined, so that none of it is linked to code for
// another.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#ifndef MARGAY_KERNELS
#define MARGAY_KERNELS baseline
#endif
#define MARGAY_INLINE static inline __attribute__((always_inline))

namespace margay::partition::internal::MARGAY_KERNELS {

#if defined(__AVX512F__)
inline constexpr std::size_t kBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kBytes = 32;
#else
inline constexpr std::size_t kBytes = 16;
#endif
inline constexpr std::size_t kWide = kBytes / 8;  // doubles in a vector

typedef double Doubles __attribute__((vector_size(kBytes), may_alias));
typedef std::uint64_t Words __attribute__((vector_size(kBytes), may_alias));
typedef std::int64_t Longs __attribute__((vector_size(kBytes), may_alias));

MARGAY_INLINE Doubles all_of(double x) {
  return Doubles{} + x;
}

#if defined(__AVX512F__)
// By table: log2 of x = 2^k * m, m in [1,2), is k - log2(c) + log2(m*c), where c is near 1/m by the upper
// four bits of m; 1 and 1/2 at the ends, so that the logarithm near 1 has no cancellation. log2(1+r)/r on
// [-1/32, 1/16] is interpolated at the Chebyshev points, to within 1e-16.
alignas(64) inline constexpr double kInverse[16] = {
    0x1p+0,    0x1.d4p-1, 0x1.bap-1, 0x1.a4p-1, 0x1.9p-1, 0x1.7ep-1, 0x1.6cp-1, 0x1.5cp-1,
    0x1.4ep-1, 0x1.42p-1, 0x1.36p-1, 0x1.2ap-1, 0x1.2p-1, 0x1.16p-1, 0x1.0cp-1, 0x1p-1};
alignas(64) inline constexpr double kInverseLog[16] = {  // -log2(c)
    0x0p+0,
    0x1.097e38ce60649p-3,
    0x1.b2602497d5346p-3,
    0x1.249cd2b13cd6cp-2,
    0x1.6cb0f6865c8eap-2,
    0x1.b0b67f4f46810p-2,
    0x1.f804ae8d0cd02p-2,
    0x1.1d368296b5255p-1,
    0x1.3b8b1c68fa6edp-1,
    0x1.5692101d9b4a6p-1,
    0x1.729fd26b707c8p-1,
    0x1.8fc924c89ac84p-1,
    0x1.a8ff971810a5ep-1,
    0x1.c31a27dd00b4ap-1,
    0x1.de298ec0bac0dp-1,
    0x1p+0};
inline constexpr double kLog[9] = {0x1.71547652b82fep+0,  -0x1.71547652b86e1p-1, 0x1.ec709dc3a6c15p-2,
                                   -0x1.71547645f8808p-2, 0x1.2776c435da02bp-2,  -0x1.ec714227098b6p-3,
                                   0x1.a626b47d7c817p-3,  -0x1.70612902fa190p-3, 0x1.22af571e722f2p-3};
inline constexpr int kRoughTerms = 7;

template <int kTerms>
MARGAY_INLINE Doubles log2_with(const Doubles& given) {
  const __m512d x = _mm512_max_pd(given, all_of(0x1p-1000));
  const __m512i index = _mm512_srli_epi64(_mm512_castpd_si512(x), 48);  // its low four bits are looked at
  const Doubles c = _mm512_permutex2var_pd(_mm512_load_pd(kInverse), index, _mm512_load_pd(kInverse + 8));
  const Doubles log_c =
      _mm512_permutex2var_pd(_mm512_load_pd(kInverseLog), index, _mm512_load_pd(kInverseLog + 8));
  const Doubles k = _mm512_getexp_pd(x);
  const Doubles r =
      _mm512_fmsub_pd(_mm512_getmant_pd(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src), c, all_of(1.0));
#else
// log2(1+f)/f on [sqrt(1/2)-1, sqrt(2)-1], interpolated at the Chebyshev points; error of f*P(f) at most
// 1.1e-15.
inline constexpr double kLog[18] = {
    0x1.71547652b82f3p+0, -0x1.71547652b82bcp-1, 0x1.ec709dc3af0b7p-2, -0x1.71547652d750ep-2,
    0x1.2776c50267394p-2, -0x1.ec709d88a96abp-3, 0x1.a6176ab8bc49dp-3, -0x1.71548c8922853p-3,
    0x1.4849d58c47829p-3, -0x1.2772b1d9c7c10p-3, 0x1.0cb3c157018d5p-3, -0x1.ed3c387595020p-4,
    0x1.c4aaadc3877c1p-4, -0x1.9b6dd1e83db29p-4, 0x1.8d802a1a38021p-4, -0x1.b6ed0b678b57bp-4,
    0x1.9d9a01e4e501cp-4, -0x1.808f0bb5ab844p-5,
};
// The same with fewer terms, to 1.3e-11.
inline constexpr double kRoughLog[13] = {0x1.71547652a44d8p+0,  -0x1.715476572ccb0p-1, 0x1.ec709ea6a2f27p-2,
                                         -0x1.71546f486869ep-2, 0x1.277658c146391p-2,  -0x1.ec7352cd2929dp-3,
                                         0x1.a63df159b5b57p-3,  -0x1.7131efa49184cp-3, 0x1.45304ea489318p-3,
                                         -0x1.25de457da6b50p-3, 0x1.28dbe036d477ep-3,  -0x1.21af91ae1d3e1p-3,
                                         0x1.356762bddfde3p-4};
inline constexpr int kRoughTerms = 13;

// x = 2^k * m with m in [sqrt(1/2), sqrt(2)) by adding 1 - sqrt(1/2) to the bits (as fdlibm does), so that
// the logarithm near 1 has no cancellation.
template <int kTerms>
MARGAY_INLINE Doubles log2_with(const Doubles& x) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000;
  const Words bits = __builtin_bit_cast(Words, x) + (kOne - kRootHalf);
  // k + 1023 as the low bits of 2^52: a conversion that needs no instruction for it.
  const Doubles k = __builtin_bit_cast(Doubles, (bits >> 52) | 0x4330000000000000u) - (0x1p52 + 1023);
  const Doubles r = __builtin_bit_cast(Doubles, (bits & 0x000fffffffffffffu) + kRootHalf) - 1.0;
  const Doubles log_c{};
#endif
  // Even and odd terms side by side: half as long a chain.
#if defined(__AVX512F__)
  constexpr const double* kTerm = kLog;
#else
  constexpr const double* kTerm = kTerms == kRoughTerms ? kRoughLog : kLog;
#endif
  constexpr int kEven = kTerms % 2 ? kTerms - 1 : kTerms - 2, kOdd = kTerms % 2 ? kTerms - 2 : kTerms - 1;
  const Doubles r2 = r * r;
  Doubles even = all_of(kTerm[kEven]), odd = all_of(kTerm[kOdd]);
#pragma GCC unroll 9
  for (int term = kEven - 2; term >= 0; term -= 2) even = even * r2 + kTerm[term];
#pragma GCC unroll 9
  for (int term = kOdd - 2; term >= 1; term -= 2) odd = odd * r2 + kTerm[term];
  return (k + log_c) + r * (even + r * odd);
}

// log2 of finite x >= 0: precise to 1.1e-15 (relative near 1), else to 4e-11. Of 0 it is some finite number,
// which 0 is then multiplied by.
template <bool kPrecise>
MARGAY_INLINE Doubles log2_of(const Doubles& x) {
  return log2_with < kPrecise ? sizeof(kLog) / sizeof(double) : kRoughTerms > (x);
}

}  // namespace margay::partition::internal::MARGAY_KERNELS
