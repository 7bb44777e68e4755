#include "margay/node/guarded_mapping.h"

#include <signal.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>

namespace margay::node {
namespace {

// What the handler reads. `begin` is written last and cleared first: 0 is free, 1 is being filled.
struct Place {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};
  std::atomic<bool> broken{false};
};
Place g_places[kMostMappings];
std::atomic<std::size_t> g_next{0};
struct sigaction g_before;
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void on_sigbus(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Place& p : g_places) {
    const std::uintptr_t begin = p.begin.load(std::memory_order_acquire);
    const std::size_t bytes = p.bytes.load(std::memory_order_relaxed);
    if (begin <= 1 || at < begin || at - begin >= bytes) continue;
    void* const to = reinterpret_cast<void*>(begin);
    if (mmap(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
             0) != to)
      break;
    p.broken.store(true, std::memory_order_release);
    errno = saved;
    return;
  }
  errno = saved;
  if ((g_before.sa_flags & SA_SIGINFO) != 0) {
    g_before.sa_sigaction(signal, info, context);
  } else if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN) {
    g_before.sa_handler(signal);
  } else {
    ::signal(SIGBUS, SIG_DFL);  // the access is repeated, and ends the process as it would have
  }
}

void watch_faults() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &g_before);
  });
}

}  // namespace

Result<GuardedMapping> GuardedMapping::map(int fd, std::size_t bytes, const std::string& name) {
  watch_faults();
  std::size_t place = kMostMappings;
  for (std::size_t tries = 0; tries < kMostMappings && place == kMostMappings; ++tries) {
    const std::size_t at = g_next.fetch_add(1, std::memory_order_relaxed) % kMostMappings;
    std::uintptr_t free = 0;
    if (g_places[at].begin.compare_exchange_strong(free, 1, std::memory_order_acquire)) place = at;
  }
  if (place == kMostMappings)
    return fail(ErrorCode::kLimit,
                name + ": there are " + std::to_string(kMostMappings) + " mappings already");
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    g_places[place].begin.store(0, std::memory_order_release);
    return fail(error == ENOMEM || error == EAGAIN ? ErrorCode::kLimit : ErrorCode::kIo,
                name + ": cannot be mapped: " + std::strerror(error));
  }
  g_places[place].bytes.store(bytes, std::memory_order_relaxed);
  g_places[place].broken.store(false, std::memory_order_relaxed);
  g_places[place].begin.store(reinterpret_cast<std::uintptr_t>(memory), std::memory_order_release);
  return GuardedMapping(memory, place);
}

GuardedMapping::GuardedMapping(GuardedMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), place_(other.place_) {}

GuardedMapping::~GuardedMapping() {
  if (data_ == nullptr) return;
  // Unmapped first: a fault in what another thread has mapped there since must not be taken for ours.
  const std::size_t bytes = g_places[place_].bytes.load(std::memory_order_relaxed);
  g_places[place_].begin.store(1, std::memory_order_release);
  munmap(data_, bytes);
  g_places[place_].begin.store(0, std::memory_order_release);
}

bool GuardedMapping::broken() const {
  return g_places[place_].broken.load(std::memory_order_acquire);
}

}  // namespace margay::node
