// A file descriptor that is closed with its object; none is less than 0. Thread safety: none.
#pragma once

#include <unistd.h>

#include <utility>

namespace margay {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& o) noexcept : fd_(o.release()) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    if (this != &o) reset(o.release());
    return *this;
  }
  ~Descriptor() { reset(); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace margay
