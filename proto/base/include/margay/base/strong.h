// Strong integer types: a slice index cannot be passed where a leaf index is wanted.
//
// Thread safety: values. Cost: that of the representation.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>

namespace margay {

// An integer `Rep` that is comparable, hashable and countable, but converts to nothing by itself.
template <class Tag, class Rep>
struct Strong {
  using rep = Rep;
  Rep value{};

  constexpr Strong() = default;
  constexpr explicit Strong(Rep v) : value(v) {}
  constexpr auto operator<=>(const Strong&) const = default;

  constexpr Strong& operator++() {
    ++value;
    return *this;
  }
  // Steps by a plain count.
  constexpr Strong operator+(Rep n) const { return Strong(static_cast<Rep>(value + n)); }
  constexpr Strong operator-(Rep n) const { return Strong(static_cast<Rep>(value - n)); }
};

struct StrongHash {
  template <class Tag, class Rep>
  std::size_t operator()(Strong<Tag, Rep> s) const {
    return std::hash<Rep>{}(s.value);
  }
};

}  // namespace margay
