// What the headers of either MPI say, and a binary does not tell. tests/unit/probe/mpi_abi_check.cc compares
// them with the headers, where these are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace margay::probe {

struct MpiConstants {
  std::uintptr_t handle_bits;  // those of a word that are the handle
  std::uintptr_t in_place, status_ignore;
  int proc_null;
  std::size_t status_bytes, status_source, status_tag;  // its size, and where it has these ints
  std::size_t status_count;  // where it has the bytes that came, 64 bits. Not in any header: tried out
  bool split_count;          // bit 32 stands for something else
};
inline constexpr MpiConstants kOpenMpiConstants = {~std::uintptr_t{0}, 1, 0, -2, 24, 0, 4, 16, false};
inline constexpr MpiConstants kMpichConstants = {0xffffffff, ~std::uintptr_t{0}, 1, -1, 20, 8, 12, 0, true};
// Handles that are numbers; Open MPI's are addresses of objects, which its library exports.
inline constexpr std::uintptr_t kMpichWorld = 0x44000000, kMpichCommNull = 0x04000000,
                                kMpichByte = 0x4c00010d, kMpichDatatypeNull = 0x0c000000;
// MPICH writes the size of a type that MPI itself has into its handle. -1: one that a program has made, or a
// pair.
constexpr int mpich_type_size(std::uintptr_t handle) {
  return (handle >> 24) == 0x4c ? static_cast<int>((handle >> 8) & 0xff) : -1;
}

}  // namespace margay::probe
