// What a name is about. Thread safety: values.
#pragma once

#include <cstdint>

namespace margay::model {

// The numbers are archived.
enum class NameKind : std::uint8_t {
  kState = 0,
  kRegion = 1,    // a named region (MPI_Pcontrol)
  kVariable = 2,  // what MARGAY_VARIABLE gives a value
  kMark = 3,      // a kind of punctual event
  kLink = 4,
};

// Of a wire::StateFamily, from outside: 9 to 12 are those of names that are no states.
constexpr NameKind name_kind(std::uint32_t family) {
  return family >= 9 && family <= 12 ? static_cast<NameKind>(family - 8) : NameKind::kState;
}

}  // namespace margay::model
