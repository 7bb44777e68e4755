// What wakes a thread that waits for sockets when something else has come for it: an eventfd.
//
// Thread safety: ring() from any thread and from signal handlers; the rest by the thread that waits. Never
// blocks. Where the kernel gives no descriptor nobody is woken: who waits goes on after its timeout.
#pragma once

namespace margay::transport {

class Bell {
 public:
  Bell();
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  void ring() noexcept;
  // Whatever was rung before this is over.
  void hush() noexcept;
  int descriptor() const { return descriptor_; }  // -1: none

 private:
  int descriptor_;
};

}  // namespace margay::transport
