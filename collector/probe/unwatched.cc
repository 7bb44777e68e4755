// Counting the processes that nobody can watch.
#include "libc.h"
#include "probe.h"

namespace margay::probe {

// The run's directory has a file that says how many processes had no segment, for whoever reads it: 64 bits,
// little endian, which `margay run` has given memory. Once per process.
void count_unwatched() {
  static std::atomic<bool> counted{false};
  const char* dir = getenv("MARGAY_RUN_DIR");
  if (dir == nullptr || *dir == '\0' || counted.exchange(true, std::memory_order_relaxed)) return;
  char path[512];
  const int n = snprintf(path, sizeof path, "%s/%s", dir, kUnwatchedFile);
  if (n < 0 || static_cast<std::size_t>(n) >= sizeof path) return;
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  int error = EINTR;
  for (int tries = 0; error == EINTR && tries < 100; ++tries)
    error = posix_fallocate(fd, 0, sizeof(std::uint64_t));
  void* const page = error == 0
                         ? mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                         : MAP_FAILED;
  close(fd);
  if (page == MAP_FAILED) return;
  static_cast<std::atomic<std::uint64_t>*>(page)->fetch_add(1, std::memory_order_relaxed);
  munmap(page, sizeof(std::uint64_t));
}

}  // namespace margay::probe
