// What each kind of rule may have: one table for the parser, for messages and for who applies the rules.
//
// Thread safety: constants.
#pragma once

#include <string>
#include <vector>

#include "margay/lttng_rules/rule_set.h"

namespace margay::lttng_rules {

enum class KeyType { kPatterns, kName, kField, kLiteral, kDomain, kStateKind, kGlob, kFlag };

struct KeySpec {
  std::string name;
  KeyType type = KeyType::kField;
  bool required = false;
  std::string otherwise;  // the default
};

struct KindSpec {
  RuleKind kind;
  std::string table;  // [[state]]
  std::vector<KeySpec> keys;
};

const std::vector<KindSpec>& kind_specs();
const KindSpec& kind_spec(RuleKind kind);

// What a value has to be, for messages: "the name of a field, such as \"size\"".
std::string expected_of(KeyType type);

}  // namespace margay::lttng_rules
