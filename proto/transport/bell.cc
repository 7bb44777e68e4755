#include "margay/transport/bell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace margay::transport {

Bell::Bell() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Bell::~Bell() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Bell::ring() noexcept {
  const int saved = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(descriptor_, &one, sizeof one);
  errno = saved;
}

void Bell::hush() noexcept {
  std::uint64_t rung;
  [[maybe_unused]] const ssize_t n = read(descriptor_, &rung, sizeof rung);
}

}  // namespace margay::transport
