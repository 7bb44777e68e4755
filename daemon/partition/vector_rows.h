// Eight rows of a column in as many vectors as the machine needs for them, and what loads and stores. Like
// vector_log.h for files that are compiled once for each instruction set.
#pragma once

#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels.h"
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

// Whether any of the kCount bytes at `at` is set.
template <std::size_t kCount>
inline bool any_set(const void* at) {
#if defined(__AVX512F__)
  if constexpr (kCount == 64) {
    const auto all = _mm512_loadu_si512(at);
    return _mm512_test_epi64_mask(all, all) != 0;
  }
#endif
#if defined(__AVX2__)
  if constexpr (kCount == 32) {
    const auto all = _mm256_loadu_si256(static_cast<const __m256i*>(at));
    return _mm256_testz_si256(all, all) == 0;
  }
#endif
  std::uint64_t words[kCount / 8], any = 0;
  std::memcpy(words, at, sizeof words);
  for (const std::uint64_t w : words) any |= w;
  return any != 0;
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
  Rows plus(T add) const {
    Rows r;
    for (std::size_t n = 0; n < kCount; ++n) r.v[n] = v[n] + add;
    return r;
  }
  Rows plus(const Rows& other) const {
    Rows r;
    for (std::size_t n = 0; n < kCount; ++n) r.v[n] = v[n] + other.v[n];
    return r;
  }
  T first() const { return v[0][0]; }
  T largest() const {
    V most = v[0];
    for (std::size_t n = 1; n < kCount; ++n) most = larger(most, v[n]);
    // Each half with the other, quarter with quarter, neighbours.
    constexpr std::size_t kLanes = kEach / sizeof(T);
    static_assert(kLanes == 2 || kLanes == 4 || kLanes == 8);
    if constexpr (kLanes == 8) {
      most = larger(most, __builtin_shufflevector(most, most, 4, 5, 6, 7, 0, 1, 2, 3));
      most = larger(most, __builtin_shufflevector(most, most, 2, 3, 0, 1, 6, 7, 4, 5));
      most = larger(most, __builtin_shufflevector(most, most, 1, 0, 3, 2, 5, 4, 7, 6));
    } else if constexpr (kLanes == 4) {
      most = larger(most, __builtin_shufflevector(most, most, 2, 3, 0, 1));
      most = larger(most, __builtin_shufflevector(most, most, 1, 0, 3, 2));
    } else {
      most = larger(most, __builtin_shufflevector(most, most, 1, 0));
    }
    return most[0];
  }
  // In any row.
  bool exceeds(const Rows& other) const {
    auto any = v[0] > other.v[0];
    for (std::size_t n = 1; n < kCount; ++n) any |= v[n] > other.v[n];
    return any_set<kEach>(&any);
  }
};

}  // namespace
}  // namespace margay::partition::internal::MARGAY_KERNELS
