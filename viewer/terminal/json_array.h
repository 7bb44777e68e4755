// Private: repeated fields of a report as arrays of JSON.
#pragma once

#include <nlohmann/json.hpp>

namespace margay::terminal {

// `json_of(value)` of each.
template <class Values, class JsonOf>
nlohmann::json json_array(const Values& values, JsonOf json_of) {
  auto out = nlohmann::json::array();
  for (const auto& value : values) out.push_back(json_of(value));
  return out;
}

}  // namespace margay::terminal
