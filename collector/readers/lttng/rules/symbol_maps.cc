#include "symbol_maps.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace margay::lttng_rules {

std::string hex(std::uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
  return "0x" + std::string(digits, end);
}

bool SymbolMap::add(std::uint64_t base, std::uint64_t size, std::string_view path, std::size_t most) {
  if (size == 0 || base + size < base) return false;
  std::erase_if(libraries_,
                [base, size](const Library& l) { return l.base < base + size && base < l.base + l.size; });
  if (libraries_.size() >= most) return false;
  const auto at = std::upper_bound(libraries_.begin(), libraries_.end(), base,
                                   [](std::uint64_t b, const Library& l) { return b < l.base; });
  libraries_.insert(at, {base, size, std::string(path)});
  return true;
}

void SymbolMap::remove(std::uint64_t base) {
  std::erase_if(libraries_, [base](const Library& l) { return l.base == base; });
}

std::string SymbolMap::name_of(std::uint64_t address, SymbolSource& source) const {
  const auto after = std::upper_bound(libraries_.begin(), libraries_.end(), address,
                                      [](std::uint64_t a, const Library& l) { return a < l.base; });
  if (after == libraries_.begin()) return hex(address);
  const Library& library = *std::prev(after);
  if (address - library.base >= library.size) return hex(address);
  if (std::string name = source.find(library.path, library.base, address); !name.empty()) return name;
  return library.path.substr(library.path.rfind('/') + 1) + "+" + hex(address - library.base);
}

}  // namespace margay::lttng_rules
