// A file of somebody else's, mapped so that it may be cut short at any moment: a page that is not there any
// more ends no process (SIGBUS).
//
// The first access to such a page replaces the whole mapping by zeros, private ones, and marks it as broken;
// the access then goes on and reads 0. So what was read is to be believed only if broken() is false
// afterwards.
//
// It is done by a handler of SIGBUS, put in place with the first mapping; a fault anywhere else goes to the
// handler that was there before. Bounds: kMostMappings at a time in a process. Thread safety: several threads
// may map and use mappings; each mapping has one user. Cost: an access costs what it costs; a mapping is one
// system call and a search for a free place.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "margay/base/result.h"

namespace margay::node {

inline constexpr std::size_t kMostMappings = 8192;

class GuardedMapping {
 public:
  // Maps [0, bytes) of the file, shared, for reading and writing; `fd` may be closed afterwards. `name` is
  // for the message. Errors: kLimit (there are kMostMappings, or the kernel gives no more), kIo.
  static Result<GuardedMapping> map(int fd, std::size_t bytes, const std::string& name);
  GuardedMapping(GuardedMapping&& other) noexcept;
  GuardedMapping& operator=(GuardedMapping&&) = delete;
  ~GuardedMapping();

  void* data() const { return data_; }
  // Since it was cut short all of it reads 0, and what is written goes nowhere.
  bool broken() const;

 private:
  GuardedMapping(void* data, std::size_t place) : data_(data), place_(place) {}
  void* data_;
  std::size_t place_;
};

}  // namespace margay::node
