// The table of keys: everything that is known about each. Of this folder only.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "margay/settings/options.h"
#include "margay/settings/units.h"

namespace margay::config {

using daemon::Options;
using Texts = std::vector<std::string>;
// What a file can say for a key. Lists hold texts only.
using Value = std::variant<bool, std::int64_t, double, std::string, Texts>;

struct Key {
  std::string section;
  std::string name;
  std::string help;      // a paragraph
  std::string expected;  // "a duration from 10ms to 10min"
  // False when the value is not what is expected.
  std::function<bool(const Value&, Options&)> set;
  std::function<std::string(const Options&)> show;  // as TOML
  std::string full() const { return section + "." + name; }
};

struct Section {
  std::string name;
  std::string help;
  std::vector<Key> keys;
};

const std::vector<Section>& sections();
const std::vector<Key>& keys();  // of all sections, in their order

// What no single key can tell: pairs of values that do not go together. Names the key to change.
struct Conflict {
  std::string key;
  std::string message;
};
std::vector<Conflict> find_conflicts(const Options& options);

}  // namespace margay::config
