// Finding the MPI library at run time. The probe links none: it is preloaded into every process of a job,
// shells and launchers included, most of which have no MPI.
#include <dlfcn.h>
#include <stdlib.h>

#include "probe.h"

namespace margay::probe {

std::atomic<void*> g_real[kFunctions];
Library g_library;

namespace {

constexpr const char* kFunctionNames[kFunctions] = {
    "Compute",
#define SPECIAL(name, family) #name,
#define FN(name, family, ...) #name,
#define RECV(name, family, ...) #name,
#include "functions.def"
};

// The MPI library if it is loaded, whether in sight or not; never loads it.
void* library_handle() {
  static std::atomic<void*> handle{nullptr};
  void* h = handle.load(std::memory_order_acquire);
  if (h == nullptr) {
    h = dlopen("libmpi.so.40", RTLD_NOLOAD | RTLD_LAZY);
    if (h != nullptr) handle.store(h, std::memory_order_release);
  }
  return h;
}

void* symbol(const char* name) {
  void* p = dlsym(RTLD_NEXT, name);
  if (p == nullptr && library_handle() != nullptr) p = dlsym(library_handle(), name);
  return p;
}

void* next_or_pmpi(const char* name) {
  void* p = dlsym(RTLD_NEXT, name);
  if (p != nullptr) return p;
  char pmpi[64] = "P";
  std::size_t i = 0;
  for (; name[i] != '\0' && i + 2 < sizeof(pmpi); ++i) pmpi[i + 1] = name[i];
  pmpi[i + 1] = '\0';
  return symbol(pmpi);
}

template <class T>
bool find(T& to, const char* name) {
  to = reinterpret_cast<T>(symbol(name));
  return to != nullptr;
}

// MPI's constants are objects. A program may hold the one everybody uses (a copy relocation), so these are
// searched from the start of the global scope, not after us.
template <class T>
bool find_object(T& to, const char* name) {
  void* p = dlsym(RTLD_DEFAULT, name);
  if (p == nullptr && library_handle() != nullptr) p = dlsym(library_handle(), name);
  to = reinterpret_cast<T>(p);
  return p != nullptr;
}

}  // namespace

void* resolve(std::uint16_t function) {
  void* p = next_or_pmpi(kFunctionNames[function]);
  if (p != nullptr) g_real[function].store(p, std::memory_order_relaxed);
  return p;
}

void* resolve_pcontrol() {
  static std::atomic<void*> pcontrol{nullptr};
  void* p = pcontrol.load(std::memory_order_relaxed);
  if (p == nullptr) {
    p = next_or_pmpi("MPI_Pcontrol");
    pcontrol.store(p, std::memory_order_relaxed);
  }
  return p;
}

bool find_library() {
  static std::atomic<bool> done{false};
  if (done.load(std::memory_order_acquire)) return true;
  Library& l = g_library;
  const bool found = find(l.type_size, "PMPI_Type_size") && find(l.comm_c2f, "PMPI_Comm_c2f") &&
                     find(l.comm_rank, "PMPI_Comm_rank") && find(l.comm_size, "PMPI_Comm_size") &&
                     find(l.comm_remote_size, "PMPI_Comm_remote_size") &&
                     find(l.comm_test_inter, "PMPI_Comm_test_inter") &&
                     find(l.get_elements, "PMPI_Get_elements_x") && find(l.initialized, "PMPI_Initialized") &&
                     find(l.finalized, "PMPI_Finalized") && find_object(l.world, "ompi_mpi_comm_world") &&
                     find_object(l.comm_null, "ompi_mpi_comm_null") && find_object(l.byte, "ompi_mpi_byte") &&
                     find_object(l.datatype_null, "ompi_mpi_datatype_null");
  if (found)  // all at once, so that no later call has to search
    for (std::uint16_t f = kCompute + 1; f < kFunctions; ++f) resolve(f);
  done.store(found, std::memory_order_release);
  return found;
}

// Where the program is linked with MPI, what takes long is done before its first call of MPI.
__attribute__((constructor)) static void at_load() {
  const char* dir = getenv("MARGAY_RUN_DIR");
  if (dir != nullptr && *dir != '\0' && library_handle() != nullptr && find_library()) prepare();
}

}  // namespace margay::probe
