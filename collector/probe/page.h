// The MPI library below the probe (mpi_library.cc), and the page in which all lies that a call looks at.
//
// Where processes take turns on a core, each comes back to a cold TLB and to cold caches; every page that a
// call touches then costs more than all the rest of it (PROBE.md, *Pages*).
#pragma once

#include <string.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "margay/probe/segment.h"
#include "mpi_abi.h"
#include "mpi_constants.h"
#include "requests.h"

#define MARGAY_EXPORT extern "C" __attribute__((visibility("default")))

namespace margay::probe {

// Indices into the name table; 0 is the state outside MPI.
enum Function : std::uint16_t {
  kCompute = 0,
#define SPECIAL(name, family) k_##name,
#define FN(name, family, ...) k_##name,
#define RECV(name, family, ...) k_##name,
#define IRECV(name, family, ...) k_##name,
#include "functions.def"
  kFunctions
};
static_assert(kFunctions < kNames / 2, "regions need room in the name table as well");

// What the MPI's own header would have told, and the few calls the probe itself makes. First what each call
// looks at.
struct Library {
  int (*comm_c2f)(MPI_Comm);  // null: the handle is the number
  MPI_Comm world;
  MPI_Datatype datatype_null;
  MpiConstants is;
  MPI_Comm comm_null;
  MPI_Datatype byte;
  int (*type_size)(MPI_Datatype, int*);
  int (*comm_rank)(MPI_Comm, int*);
  int (*comm_size)(MPI_Comm, int*);
  int (*comm_remote_size)(MPI_Comm, int*);
  int (*comm_test_inter)(MPI_Comm, int*);
  int (*get_elements)(const MPI_Status*, MPI_Datatype, MPI_Count*);
  int (*initialized)(int*);
  int (*finalized)(int*);
  const char* name;
};
// Sizes of the types that MPI itself has, so that MPI need not be asked for them. MPICH writes them into its
// handles; Open MPI's handles are addresses, which are looked up here. Filled once, read without a lock.
class TypeSizes {
 public:
  // False: there is no room for it; MPI is asked then.
  bool add(std::uintptr_t handle, std::uint16_t size) {
    for (std::size_t n = 0; n < kNear; ++n) {
      std::atomic<std::uint64_t>& known = known_[at(handle, n)];
      if (known.load(std::memory_order_relaxed) != 0) continue;
      known.store(handle << 16 | size, std::memory_order_relaxed);
      return true;
    }
    return false;
  }
  // -1: not known.
  int of(std::uintptr_t handle) const {
    for (std::size_t n = 0; n < kNear; ++n)
      if (const std::uint64_t known = known_[at(handle, n)].load(std::memory_order_relaxed);
          known >> 16 == handle)
        return static_cast<int>(known & 0xffff);
    return -1;
  }

 private:
  static constexpr std::size_t kSlots = 32;  // a power of two
  static constexpr std::size_t kNear = 4;
  // Addresses of objects of half a KiB, one behind the other.
  static std::size_t at(std::uintptr_t handle, std::size_t n) { return ((handle >> 9) + n) % kSlots; }
  std::atomic<std::uint64_t> known_[kSlots]{};  // the address, of 48 bits, and the size
};

enum class Mode : std::uint32_t {
  kUnknown = 0,  // no MPI call has been seen yet
  kOff,          // nothing is recorded, for good
  kOn,
  kDone,  // MPI_Finalize has returned: what comes after is passed on and not looked at
};

// A call comes in by either of its names. A program in C calls MPI_Send; Open MPI's Fortran bindings call
// PMPI_Send (MPICH's both), and so does a tool that stands before us. It is recorded once, on the outside,
// and goes out by the name it came in by: MPI_Send, PMPI_Send, or with counts of 64 bits MPI_Send_c,
// PMPI_Send_c (MPI 4).
enum class Entry : std::uint8_t { kMpi, kPmpi, kMpiLarge, kPmpiLarge };
inline constexpr std::size_t kEntries = 4;

// All that a call looks at beside its stack, its thread and its ring. Zero until it is set, and ready before
// constructors run.
struct alignas(4096) Page {
  // One cache line, with the first part of `library`.
  std::atomic<Mode> mode;
  std::atomic<bool> count_in_status;  // a status says itself how much came, as `library.is` has it
  SegmentHeader* segment;
  Library library;
  TypeSizes types;
  alignas(64) FewRequests receives;
  std::atomic<bool> more_receives;
  // First what programs in C call: what Fortran and tools call may lie beyond this page.
  alignas(64) std::atomic<void*> real[kEntries][kFunctions]{};
};
extern constinit Page g_page;
static_assert(offsetof(Page, library.is.status_ignore) + 8 <= 64);
static_assert(offsetof(Page, real) + sizeof(Page::real[0]) <= 4096);

// What forwarding uses: the next definition after ours, so that other interposers still see the call; MPI's
// own PMPI_ entry where MPI was loaded out of sight (dlopen with RTLD_LOCAL). Null if there is neither.
void* resolve(std::uint16_t function, Entry entry);
template <class Fn>
inline Fn* real(std::uint16_t function, Entry entry) {
  void* p = g_page.real[static_cast<std::size_t>(entry)][function].load(std::memory_order_relaxed);
  if (p == nullptr) p = resolve(function, entry);
  return reinterpret_cast<Fn*>(p);
}
template <class Handle>
inline bool same(Handle a, Handle b) {
  return ((reinterpret_cast<std::uintptr_t>(a) ^ reinterpret_cast<std::uintptr_t>(b)) &
          g_page.library.is.handle_bits) == 0;
}
// Of a communicator: 0 is the world, as Open MPI numbers it.
inline std::uint32_t number_of(MPI_Comm comm) {
  if (same(comm, g_page.library.world)) return 0;
  const auto word = [](MPI_Comm c) { return static_cast<std::uint32_t>(reinterpret_cast<std::intptr_t>(c)); };
  return g_page.library.comm_c2f != nullptr ? static_cast<std::uint32_t>(g_page.library.comm_c2f(comm))
                                            : word(comm) ^ word(g_page.library.world);
}
void* resolve_pcontrol(Entry entry);

// What can be asked only of an MPI that is initialized.
void learn_from_library();
// What a call answers that cannot go anywhere, for want of MPI: MPI_ERR_INTERN, or nearly.
inline constexpr int kNowhere = 16;
// Fills Page::library. False if this is an MPI whose handles we would misread.
bool find_library();
// What came; negative where it cannot be told.
MPI_Count bytes_by_mpi(const MPI_Status& status);
inline MPI_Count bytes_of(const MPI_Status& status) {
  if (!g_page.count_in_status.load(std::memory_order_relaxed)) return bytes_by_mpi(status);
  std::uint64_t told = 0;
  memcpy(&told, status.raw + g_page.library.is.status_count, sizeof told);
  if (g_page.library.is.split_count) told = (told & UINT32_MAX) | (told >> 33 << 32);
  return static_cast<MPI_Count>(told);
}

}  // namespace margay::probe
