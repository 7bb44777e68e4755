// From an address in a process to the name of a function.
//
// Cost: see each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace margay::lttng_rules {

// Where names are looked up; tests have their own.
class SymbolSource {
 public:
  virtual ~SymbolSource() = default;
  // The function at `address` in the file `path`, which lies in memory from `base` on; "" if it is not known.
  virtual std::string find(std::string_view path, std::uint64_t base, std::uint64_t address) = 0;
};

// Reads the symbol tables (.symtab, else .dynsym) of ELF files of this host, of either word length, in its
// byte order. C++ names are demangled. Files are untrusted: every offset is checked, nothing is run.
//
// Bounds: 256 files, 1 GiB a file, 1 M functions a file, 4 M in all; what is beyond is not known. A file is
// read once; one that changes afterwards is not read again. Thread safety: none. Cost: a file's first address
// reads its tables (100 MB/s or so); then a binary search, and demangling.
class ElfSymbols final : public SymbolSource {
 public:
  ElfSymbols();
  ~ElfSymbols() override;
  std::string find(std::string_view path, std::uint64_t base, std::uint64_t address) override;

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

}  // namespace margay::lttng_rules
