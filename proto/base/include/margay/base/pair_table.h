// Short tables of pairs, such as an enumeration's values with their texts or with their values on the wire,
// read in both directions.
//
// Thread safety: pure. Cost: linear in the table.
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace margay {

// What stands beside `first`; `otherwise` where nothing does.
template <class First, class Second, std::size_t kRows>
constexpr Second second_of(const std::pair<First, Second> (&table)[kRows],
                           const std::type_identity_t<First>& first,
                           std::type_identity_t<Second> otherwise = {}) {
  for (const auto& row : table)
    if (row.first == first) return row.second;
  return otherwise;
}

template <class First, class Second, std::size_t kRows, class Sought>
constexpr std::optional<First> first_of(const std::pair<First, Second> (&table)[kRows],
                                        const Sought& second) {
  for (const auto& row : table)
    if (row.second == second) return row.first;
  return std::nullopt;
}

}  // namespace margay
