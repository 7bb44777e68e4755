// Hierarchies as they are written down.
#pragma once

#include <string>
#include <vector>

#include "margay/model/hierarchy.h"

namespace margay::detect::test {

// Of leaves "a/b/c", in this order.
inline model::Hierarchy tree(const std::vector<std::string>& paths) {
  std::vector<model::Attributes> leaves;
  for (const std::string& path : paths) {
    model::Attributes attributes;
    std::size_t part = 0;
    for (std::size_t from = 0, to = 0; to != std::string::npos; from = to + 1) {
      to = path.find('/', from);
      attributes["path" + std::to_string(++part)] = path.substr(from, to - from);
    }
    leaves.push_back(std::move(attributes));
  }
  return model::Hierarchy(leaves);
}

// `hosts` of so many ranks each.
inline model::Hierarchy hosts_of(std::uint32_t hosts, std::uint32_t ranks) {
  std::vector<std::string> paths;
  for (std::uint32_t h = 0; h < hosts; ++h)
    for (std::uint32_t r = 0; r < ranks; ++r)
      paths.push_back("h" + std::to_string(h) + "/r" + std::to_string(r));
  return tree(paths);
}

}  // namespace margay::detect::test
