// Where the program and the libraries of one process lie.
//
// Thread safety: none. Cost: O(log n) to find, O(n) to add, for n libraries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "margay/lttng_rules/symbols.h"

namespace margay::lttng_rules {

class SymbolMap {
 public:
  // Something else that lay there is forgotten. False: no more than `most` are kept; or an empty one.
  bool add(std::uint64_t base, std::uint64_t size, std::string_view path, std::size_t most);
  void remove(std::uint64_t base);
  // "decode(Frame&)", "libz.so.1+0x123" where there is no symbol, "0x55907de003c5" where nothing is known to
  // lie.
  std::string name_of(std::uint64_t address, SymbolSource& source) const;

 private:
  struct Library {
    std::uint64_t base = 0;
    std::uint64_t size = 0;
    std::string path;
  };
  std::vector<Library> libraries_;  // by base; they do not overlap
};

std::string hex(std::uint64_t value);  // "0x1f"

}  // namespace margay::lttng_rules
