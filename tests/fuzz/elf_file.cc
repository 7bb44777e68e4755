// A program or library as a trace names it: its functions are found, or it has none.
#include "elf_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("elf", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  const auto elf = margay::lttng_rules::ElfFile::read(path, 100);
  if (!elf) return 0;
  FUZZ_CHECK(elf->functions() <= 100, "no more functions than asked for");
  for (std::uint64_t address = 0; address < 0x4000; address += 64)
    FUZZ_CHECK(elf->find(0, address).size() <= size, "a name is of the file");
  return 0;
}
