// The functions of one ELF file, by address. The file is untrusted: every offset is checked.
//
// Thread safety: none. Cost: of reading: the size of its symbol table; of a look-up: O(log n).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace margay::lttng_rules {

class ElfFile {
 public:
  // Nothing: it cannot be read, is no ELF file of this byte order, or has more than `most` functions.
  static std::optional<ElfFile> read(const std::string& path, std::size_t most);

  // The name as the file has it, of a process in which the file lies from `base` on; "" for none.
  std::string find(std::uint64_t base, std::uint64_t address) const;
  std::size_t functions() const { return functions_.size(); }

 private:
  struct Function {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;  // 0: up to the next
    std::uint32_t name = 0;  // where in names_
    bool global = false;
  };

  template <class Types>
  bool load(int file, std::uint64_t file_size, std::size_t most);
  template <class Types>
  bool load_symbols(int file, std::uint64_t file_size, const typename Types::Section& symbols,
                    const typename Types::Section& names, std::size_t most);
  void sort();

  std::vector<Function> functions_;  // by begin, which is of one each
  std::string names_;
  std::uint64_t first_ = 0;  // the address for which the file was linked
  bool is_moved_ = true;     // it may lie anywhere
};

}  // namespace margay::lttng_rules
