// The types of a Pajé trace and the values that states, events and links of a type may have; and the names
// (trace.h) that they become for a consumer.
//
// Everything may be referred to by its alias or by its name; an alias is preferred, and among types of the
// same name the one that belongs to the container's type. Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/trace/trace.h"
#include "paje_names.h"

namespace margay::trace::paje {

inline constexpr std::size_t kLongestName = 4096;
inline constexpr std::size_t kMostTypes = 65536;
inline constexpr std::size_t kMostValues = 1 << 20;
inline constexpr std::size_t kMostNameBytes = 256 << 20;  // all aliases and names together
// Separates the type of a mark or link from its value in the text of a Name: no field has a line break.
inline constexpr char kTypeEnd = '\n';

struct Type {
  enum class Kind : std::uint8_t { kContainer, kState, kVariable, kEvent, kLink };
  Kind kind = Kind::kContainer;
  std::uint32_t parent = 0;  // the container type it belongs to
  std::string name;
  std::vector<std::uint32_t> states;  // of a container type: its state types
};

class Types {
 public:
  static constexpr std::uint32_t kRoot = 0;  // the container type "0", of which there is one container
  Types();

  // Errors: kInvalidArgument (defined already, unknown parent), kLimit.
  Status define(Type::Kind kind, std::string_view alias, std::string_view name, std::string_view parent);
  Status define_value(std::string_view type, std::string_view alias, std::string_view name);

  // kNone: there is none. `container` is the type of the container that it is wanted for.
  std::uint32_t find(Type::Kind kind, std::string_view text, std::uint32_t container) const;
  const Type& operator[](std::uint32_t type) const { return types_[type]; }

  // The number of the name that `value` of `type` becomes, told to the consumer the first time. Errors:
  // those of the consumer, kLimit.
  Result<std::uint16_t> name_of(std::uint32_t type, std::string_view value, Consumer& consumer) {
    if (const std::uint32_t known = known_.find(value, type); known != kNone)
      return static_cast<std::uint16_t>(known);
    return new_name(type, value, consumer);
  }
  // The same for a state that no type has ("None").
  Result<std::uint16_t> state_name(const std::string& text, Consumer& consumer) {
    return intern(Name::Kind::kState, text, consumer);
  }

 private:
  Result<std::uint16_t> new_name(std::uint32_t type, std::string_view value, Consumer& consumer);
  Result<std::uint16_t> intern(Name::Kind kind, const std::string& text, Consumer& consumer);
  Status room(std::string_view alias, std::string_view name) const;

  std::vector<Type> types_;
  NameMap aliases_;  // of types, scope: kind
  NameMap names_;    // of types, scope: kind and parent; kind alone for the first of any parent
  std::vector<std::string> values_;
  NameMap value_aliases_;  // scope: type -> values_
  NameMap known_;          // a value as traces refer to it, scope: type -> number of the name
  NameMap interned_;       // scope: Name::Kind -> number of the name
};

}  // namespace margay::trace::paje
