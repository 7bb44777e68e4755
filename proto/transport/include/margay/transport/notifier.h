// What wakes a thread that waits for sockets when something else has come for it: an eventfd.
//
// Thread safety: notify() from any thread and from signal handlers; the rest by the thread that waits. Never
// blocks. Where the kernel gives no descriptor nobody is woken: who waits goes on after its timeout.
#pragma once

namespace margay::transport {

class Notifier {
 public:
  Notifier();
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void notify() noexcept;
  // Whatever was notified before this is over.
  void clear() noexcept;
  int descriptor() const { return descriptor_; }  // -1: none

 private:
  int descriptor_;
};

}  // namespace margay::transport
