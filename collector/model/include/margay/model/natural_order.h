// The order of names as people count: "rank2" before "rank10". Pure.
//
// Thread safety: pure. Cost: linear in the shorter name.
#pragma once

#include <string_view>

namespace margay::model {

bool natural_less(std::string_view a, std::string_view b);

// Names that only differ in leading zeros are two names.
struct NaturalLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return natural_less(a, b) || (a < b && !natural_less(b, a));
  }
};

}  // namespace margay::model
