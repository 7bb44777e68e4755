#include "unwatched.h"

#include <endian.h>
#include <fcntl.h>
#include <unistd.h>

#include "margay/probe/segment.h"

namespace margay::app {
namespace {

std::string file_in(const std::string& run_directory) {
  return run_directory + "/" + probe::kUnwatchedFile;
}

}  // namespace

void make_unwatched_counter(const std::string& run_directory) {
  const int fd = open(file_in(run_directory).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  static_cast<void>(posix_fallocate(fd, 0, sizeof(std::uint64_t)));  // the probe asks for it once more
  close(fd);
}

std::uint64_t unwatched_processes(const std::string& run_directory) {
  const int fd = open(file_in(run_directory).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return 0;
  std::uint64_t count = 0;
  const bool whole = pread(fd, &count, sizeof count, 0) == static_cast<ssize_t>(sizeof count);
  close(fd);
  return whole ? le64toh(count) : 0;
}

}  // namespace margay::app
