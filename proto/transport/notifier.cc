#include "margay/transport/notifier.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace margay::transport {

Notifier::Notifier() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Notifier::~Notifier() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Notifier::notify() noexcept {
  const int saved = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(descriptor_, &one, sizeof one);
  errno = saved;
}

void Notifier::clear() noexcept {
  std::uint64_t rung;
  [[maybe_unused]] const ssize_t n = read(descriptor_, &rung, sizeof rung);
}

}  // namespace margay::transport
