// Messages amid which the daemon met an error of its own, kept for whoever looks into it: the newest
// kMostFiles, of each the first kMostBytes, as DIR/quarantine.0 and so on, readable by their owner alone.
//
// Thread safety: keep() by one thread, write() by another. Cost: keep() copies the message; write() waits for
// the disk. What cannot be written is dropped: it is counted elsewhere.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

namespace margay::daemon {

class Quarantine {
 public:
  static constexpr std::uint64_t kMostFiles = 8;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  explicit Quarantine(std::string dir) : dir_(std::move(dir)) {}
  // Where it will be, or "" when too many wait to be written.
  std::string keep(std::string_view message);
  void write();

 private:
  struct Kept {
    std::string file, bytes;
  };
  const std::string dir_;
  std::mutex mutex_;
  std::deque<Kept> waiting_;  // guarded by mutex_; at most kMostFiles
  std::uint64_t number_ = 0;
};

}  // namespace margay::daemon
