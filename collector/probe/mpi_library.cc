// Finding the MPI library at run time, and which one it is. The probe links none: it is preloaded into every
// process of a job, shells and launchers included, most of which have no MPI.
#include "libc.h"
#include "probe.h"

namespace margay::probe {

namespace {

constexpr const char* kFunctionNames[kFunctions] = {
    "PCompute",
#define SPECIAL(name, family) "P" #name,
#define FN(name, family, ...) "P" #name,
#define RECV(name, family, ...) "P" #name,
#define IRECV(name, family, ...) "P" #name,
#include "functions.def"
};
// By the name that programs call.
const char* mpi_name(const char* pmpi_name) {
  return pmpi_name + 1;
}

// Of Open MPI: types that messages are made of.
constexpr const char* kTypes[] = {"ompi_mpi_byte",
                                  "ompi_mpi_packed",
                                  "ompi_mpi_char",
                                  "ompi_mpi_unsigned_char",
                                  "ompi_mpi_int",
                                  "ompi_mpi_unsigned",
                                  "ompi_mpi_long",
                                  "ompi_mpi_unsigned_long",
                                  "ompi_mpi_float",
                                  "ompi_mpi_double",
                                  "ompi_mpi_short",
                                  "ompi_mpi_long_long_int",
                                  "ompi_mpi_int8_t",
                                  "ompi_mpi_int32_t",
                                  "ompi_mpi_int64_t",
                                  "ompi_mpi_uint8_t",
                                  "ompi_mpi_uint32_t",
                                  "ompi_mpi_uint64_t",
                                  "ompi_mpi_c_double_complex",
                                  "ompi_mpi_integer",
                                  "ompi_mpi_real",
                                  "ompi_mpi_dblprec",
                                  "ompi_mpi_dblcplex",
                                  "ompi_mpi_logical"};

// What MPICH and those that keep to its ABI say of themselves. Their libraries' names do not tell: each
// vendor has its own.
constexpr const char* kMpichVersions[] = {"MPICH", "MVAPICH", "Intel(R) MPI"};

// Any function of every MPI.
constexpr const char* kOfMpi = "PMPI_Init";

void* ask(void* handle, const char* name) {
  return linker().ask == nullptr ? nullptr : linker().ask(handle, name);
}

// Whether the program is linked with MPI: found by the dynamic linker with our own symbols.
bool mpi_is_in_sight() {
  return PMPI_Get_library_version != nullptr;
}

// Libraries with "mpi" in their names.
struct Candidates {
  static constexpr std::size_t kMost = 32;
  std::size_t count = 0;
  char paths[kMost][512];
};
int note_candidate(dl_phdr_info* info, std::size_t, void* to) {
  auto& all = *static_cast<Candidates*>(to);
  if (info->dlpi_name == nullptr || all.count == Candidates::kMost) return 0;
  const char* const slash = strrchr(info->dlpi_name, '/');
  const std::size_t length = strlen(info->dlpi_name);
  if (length < sizeof all.paths[0] && strstr(slash == nullptr ? info->dlpi_name : slash, "mpi") != nullptr)
    memcpy(all.paths[all.count++], info->dlpi_name, length + 1);
  return 0;
}

std::atomic<void*> g_handle{nullptr};

// The MPI library where it was loaded out of sight (dlopen with RTLD_LOCAL): by what it has, or what it is
// linked with has. Never loads anything. Null where there is none, or MPI is in sight anyway.
void* library_handle() {
  void* h = g_handle.load(std::memory_order_acquire);
  if (h != nullptr || linker().open == nullptr || dl_iterate_phdr == nullptr ||
      ask(RTLD_NEXT, kOfMpi) != nullptr)
    return h;
  Candidates all;
  dl_iterate_phdr(note_candidate, &all);  // it holds a lock that dlopen takes second
  for (std::size_t i = 0; i < all.count && h == nullptr; ++i) {
    h = linker().open(all.paths[i], RTLD_NOLOAD | RTLD_LAZY);
    if (h != nullptr && ask(h, kOfMpi) == nullptr) h = nullptr;
  }
  if (h != nullptr) g_handle.store(h, std::memory_order_release);
  return h;
}

void* symbol(const char* name) {
  void* p = ask(RTLD_NEXT, name);
  if (p == nullptr)
    if (void* const h = library_handle(); h != nullptr) p = ask(h, name);
  return p;
}

bool is_large(Entry entry) {
  return entry == Entry::kMpiLarge || entry == Entry::kPmpiLarge;
}

void* next_or_pmpi(const char* pmpi_name, Entry entry) {
  char name[64];
  if (snprintf(name, sizeof name, "%s%s", pmpi_name, is_large(entry) ? "_c" : "") >= int{sizeof name})
    return nullptr;
  const bool by_mpi = entry == Entry::kMpi || entry == Entry::kMpiLarge;
  void* const p = by_mpi ? ask(RTLD_NEXT, mpi_name(name)) : nullptr;
  return p != nullptr ? p : symbol(name);
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
  void* p = ask(RTLD_DEFAULT, name);
  if (p == nullptr)
    if (void* const h = library_handle(); h != nullptr) p = ask(h, name);
  to = reinterpret_cast<T>(p);
  return p != nullptr;
}

bool is_open_mpi(Library& l) {
  if (!find(l.comm_c2f, "PMPI_Comm_c2f") || !find_object(l.world, "ompi_mpi_comm_world") ||
      !find_object(l.comm_null, "ompi_mpi_comm_null") || !find_object(l.byte, "ompi_mpi_byte") ||
      !find_object(l.datatype_null, "ompi_mpi_datatype_null"))
    return false;
  l.is = kOpenMpiConstants;
  l.name = "Open MPI";
  return true;
}

bool says_it_is_mpich() {
  int (*version)(char*, int*) = nullptr;
  if (!find(version, "PMPI_Get_library_version")) return false;
  char text[16384];  // MPICH takes up to 8192
  int length = 0;
  text[0] = text[sizeof text - 1] = '\0';
  if (version(text, &length) != MPI_SUCCESS) return false;  // MPI allows this call before MPI_Init
  for (const char* known : kMpichVersions)
    if (strstr(text, known) != nullptr) return true;
  return false;
}

bool is_mpich(Library& l) {
  if (!says_it_is_mpich()) return false;
  const auto handle = [](auto& to, std::uintptr_t value) { to = reinterpret_cast<decltype(+to)>(value); };
  l.comm_c2f = nullptr;
  handle(l.world, kMpichWorld);
  handle(l.comm_null, kMpichCommNull);
  handle(l.byte, kMpichByte);
  handle(l.datatype_null, kMpichDatatypeNull);
  l.is = kMpichConstants;
  l.name = "MPICH";
  return true;
}

}  // namespace

const Linker& linker() {
  // Set by the first who asks, to the same by all of them.
  static std::atomic<bool> known{false};
  static Linker it;
  if (!known.load(std::memory_order_acquire)) {
    Linker found{dlopen, dlsym};
    if ((found.open == nullptr || found.ask == nullptr) && __libc_dlopen_mode != nullptr &&
        __libc_dlsym != nullptr)
      // glibc before 2.34, and a program without libdl, which is there.
      if (void* const libdl = __libc_dlopen_mode("libdl.so.2", RTLD_NOW); libdl != nullptr)
        found = {reinterpret_cast<decltype(found.open)>(__libc_dlsym(libdl, "dlopen")),
                 reinterpret_cast<decltype(found.ask)>(__libc_dlsym(libdl, "dlsym"))};
    it = found;
    known.store(true, std::memory_order_release);
  }
  return it;
}

void* resolve(std::uint16_t function, Entry entry) {
  void* p = next_or_pmpi(kFunctionNames[function], entry);
  if (p != nullptr)
    g_page.real[static_cast<std::size_t>(entry)][function].store(p, std::memory_order_relaxed);
  return p;
}

MPI_Count bytes_by_mpi(const MPI_Status& status) {
  MPI_Count bytes = -1;
  const Library& l = g_page.library;
  return l.get_elements(&status, l.byte, &bytes) == MPI_SUCCESS ? bytes : -1;
}

void learn_from_library() {
  Library& l = g_page.library;
  MPI_Status status{};
  constexpr std::uint64_t kSome = 0x1'2345'6780;
  const std::uint64_t told = l.is.split_count ? (kSome & UINT32_MAX) | (kSome >> 32 << 33) : kSome;
  memcpy(status.raw + l.is.status_count, &told, sizeof told);
  MPI_Count got = 0;
  if (l.get_elements(&status, l.byte, &got) == MPI_SUCCESS && got == MPI_Count{kSome})
    g_page.count_in_status.store(true, std::memory_order_relaxed);
  if (l.comm_c2f == nullptr) return;
  for (const char* name : kTypes) {
    MPI_Datatype type = nullptr;
    int size = 0;
    if (find_object(type, name) && g_page.types.of(reinterpret_cast<std::uintptr_t>(type)) < 0 &&
        l.type_size(type, &size) == MPI_SUCCESS && size > 0)
      g_page.types.add(reinterpret_cast<std::uintptr_t>(type), static_cast<std::uint16_t>(size));
  }
}

void* resolve_pcontrol(Entry entry) {
  static std::atomic<void*> pcontrol[kEntries];
  std::atomic<void*>& kept = pcontrol[static_cast<std::size_t>(entry)];
  void* p = kept.load(std::memory_order_relaxed);
  if (p == nullptr) {
    p = next_or_pmpi("PMPI_Pcontrol", entry);
    kept.store(p, std::memory_order_relaxed);
  }
  return p;
}

bool find_library() {
  static std::atomic<bool> done{false};
  if (done.load(std::memory_order_acquire)) return true;
  Library l{};
  const bool found = find(l.type_size, "PMPI_Type_size") && find(l.comm_rank, "PMPI_Comm_rank") &&
                     find(l.comm_size, "PMPI_Comm_size") &&
                     find(l.comm_remote_size, "PMPI_Comm_remote_size") &&
                     find(l.comm_test_inter, "PMPI_Comm_test_inter") &&
                     find(l.get_elements, "PMPI_Get_elements_x") && find(l.initialized, "PMPI_Initialized") &&
                     find(l.finalized, "PMPI_Finalized") && (is_open_mpi(l) || is_mpich(l));
  if (found) {  // all at once, so that no later call has to search
    g_page.library = l;
    const bool large = symbol("PMPI_Send_c") != nullptr;
    for (std::uint16_t f = kCompute + 1; f < kFunctions; ++f)
      for (const Entry entry : {Entry::kMpi, Entry::kPmpi, Entry::kMpiLarge, Entry::kPmpiLarge})
        if (large || !is_large(entry)) resolve(f, entry);
  }
  done.store(found, std::memory_order_release);
  return found;
}

// Where the program is linked with MPI, what takes long is done before its first call of MPI.
__attribute__((constructor)) static void at_load() {
  if (!libc_is_complete()) return;
  const char* dir = getenv("MARGAY_RUN_DIR");
  if (dir == nullptr || *dir == '\0') return;
  if (mpi_is_in_sight() && find_library()) prepare();
}

// How many processes of the job are expected on this node: the launcher's word, which may be several numbers,
// or a usual one.
std::uint64_t local_processes() {
  constexpr std::uint64_t kUsual = 16, kMost = 1 << 16;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE",
                           "SLURM_STEP_TASKS_PER_NODE", "PMI_SIZE"}) {
    const char* told = getenv(name);
    if (told == nullptr || *told < '1' || *told > '9') continue;
    const std::uint64_t n = strtoull(told, nullptr, 10);
    return n < kUsual ? kUsual : n > kMost ? kMost : n;
  }
  return kUsual;
}

}  // namespace margay::probe
