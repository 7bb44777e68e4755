// The reader of symbol tables, on this very program and on files that are damaged.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "elf_file.h"
#include "margay/lttng_rules/symbols.h"

namespace margay::lttng_rules {

// What is looked for. Not static, so that its name is what it is.
__attribute__((noinline)) int a_function_to_be_found(int x);
int a_function_to_be_found(int x) {
  return x * 3;
}

namespace elf_symbols_test {

std::string self() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

std::uint64_t own_base() {
  std::uint64_t base = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uint64_t*>(out) = info->dlpi_addr;
        return 1;  // the first is the program
      },
      &base);
  return base;
}

TEST(ElfSymbols, FindsAFunctionOfThisProgram) {
  ElfSymbols symbols;
  const auto address = reinterpret_cast<std::uint64_t>(&a_function_to_be_found);
  EXPECT_EQ(symbols.find(self(), own_base(), address), "margay::lttng_rules::a_function_to_be_found(int)");
  EXPECT_EQ(symbols.find(self(), own_base(), address + 1),
            "margay::lttng_rules::a_function_to_be_found(int)");
}

TEST(ElfSymbols, FindsAFunctionOfALibrary) {
  ElfSymbols symbols;
  Dl_info info{};
  const auto address = reinterpret_cast<std::uint64_t>(&::strtoul);
  // The entry of the procedure table, or the function: what lies there is of a known file.
  void* where = nullptr;
  std::memcpy(&where, &address, sizeof where);
  ASSERT_NE(dladdr(where, &info), 0);
  EXPECT_EQ(
      symbols.find(info.dli_fname, reinterpret_cast<std::uint64_t>(info.dli_fbase), address).find("strto"),
      0u);
}

TEST(ElfSymbols, WhatIsNoFileHasNoNames) {
  ElfSymbols symbols;
  for (const char* path : {"[linux-vdso.so.1]", "", "/", "/dev/null", "/nonexistent", "relative"})
    EXPECT_EQ(symbols.find(path, 0, 64), "") << path;
}

// Every byte of the headers and tables is at some time something else; sanitizers see what is read.
TEST(ElfSymbols, DamagedFiles) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 rng(seed);
  const std::string path = ::testing::TempDir() + "margay_elf_" + std::to_string(::getpid());
  std::ifstream in("/proc/self/exe", std::ios::binary);
  std::string head(64, '\0');
  in.read(head.data(), 64);
  // A small file: the header, and random bytes for tables that lie where it says.
  for (int i = 0; i < 600; ++i) {
    std::string bytes = head;
    for (int n = 0; n < 2000; ++n) bytes += static_cast<char>(rng() % 5 == 0 ? rng() : 0);
    const auto put = [&bytes](std::size_t at, std::uint64_t value, std::size_t size) {
      std::memcpy(bytes.data() + at, &value, size);
    };
    put(32, 64, 8);                                     // segments
    put(40, rng() % 3 == 0 ? rng() : rng() % 1000, 8);  // sections
    put(56, rng() % 4, 2);                              // how many segments
    put(60, rng() % 5 == 0 ? rng() : rng() % 12, 2);    // how many sections
    const std::size_t table = rng() % 500;
    put(40, table, 8);
    for (std::size_t s = 0; s < 4; ++s) {
      put(table + 64 * s + 4, rng() % 2 == 0 ? 2 : rng() % 12, 4);                             // type
      put(table + 64 * s + 24, rng() % 4 == 0 ? rng() : rng() % 1500, 8);                      // offset
      put(table + 64 * s + 32, rng() % 4 == 0 ? ~std::uint64_t{0} - rng() : rng() % 1500, 8);  // size
      put(table + 64 * s + 40, rng() % 5, 4);                                                  // names
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    if (const auto elf = ElfFile::read(path, 50))
      for (int n = 0; n < 20; ++n) std::ignore = elf->find(0, rng());
  }
  std::filesystem::remove(path);
}

}  // namespace elf_symbols_test
}  // namespace margay::lttng_rules
