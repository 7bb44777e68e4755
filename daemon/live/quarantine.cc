#include "margay/live/quarantine.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace margay::daemon {

std::string Quarantine::keep(std::string_view message) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMostFiles) return "";
  std::string file = dir_ + "/quarantine." + std::to_string(number_ % kMostFiles);
  waiting_.push_back({file, std::string(message.substr(0, kMostBytes))});
  ++number_;
  return file;
}

void Quarantine::write() {
  std::deque<Kept> kept;
  {
    const std::lock_guard lock(mutex_);
    kept.swap(waiting_);
  }
  for (const Kept& k : kept) {
    // Anew each time: the mode is of the file that is made, and nobody's link is followed.
    static_cast<void>(::unlink(k.file.c_str()));
    const int fd = ::open(k.file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) continue;
    std::string_view rest = k.bytes;
    while (!rest.empty()) {
      const ssize_t n = ::write(fd, rest.data(), rest.size());
      if (n <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    ::close(fd);
  }
}

}  // namespace margay::daemon
