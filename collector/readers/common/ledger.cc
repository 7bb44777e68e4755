#include "margay/reader/ledger.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace margay::reader {
namespace {
constexpr std::uint64_t kMagic = 0x315245444c47524dULL;  // "MRGLDER1"
}

struct Ledger::File {
  std::uint64_t magic = 0, size = 0;
  std::uint32_t epoch = 0;
  std::array<Name, kNames> names;
  std::array<Process, kProcesses> processes;
  std::array<Thread, kThreads> threads;
};

void Ledger::Text::operator=(std::string_view text) {
  size = static_cast<std::uint32_t>(std::min(text.size(), kLongestName));
  std::copy_n(text.data(), size, bytes.data());
}

Result<std::unique_ptr<Ledger>> Ledger::open(const std::string& path) {
  static_assert(std::is_trivially_destructible_v<File>);
  const auto failed = [&] { return fail(ErrorCode::kIo, path + ": " + std::strerror(errno)); };
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failed();
  const off_t before = lseek(fd, 0, SEEK_END);
  if (ftruncate(fd, sizeof(File)) != 0) {
    const auto error = failed();
    close(fd);
    return error;
  }
  void* const at = mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const bool mapped = at != MAP_FAILED;
  const auto error = failed();
  if (mapped) {
    File* const file = static_cast<File*>(at);
    if (before != static_cast<off_t>(sizeof(File)) || file->magic != kMagic || file->size != sizeof(File)) {
      // All of it is zero, and an entry that is zero is free.
      if (ftruncate(fd, 0) != 0 || ftruncate(fd, sizeof(File)) != 0) {
        munmap(at, sizeof(File));
        close(fd);
        return error;
      }
      file->magic = kMagic;
      file->size = sizeof(File);
    }
    ++file->epoch;
    close(fd);
    return std::unique_ptr<Ledger>(new Ledger(file));
  }
  close(fd);
  return error;
}

Ledger::~Ledger() {
  munmap(file_, sizeof(File));
}

std::uint32_t Ledger::epoch() const {
  return file_->epoch;
}
std::span<Ledger::Process> Ledger::processes() {
  return file_->processes;
}
std::span<Ledger::Thread> Ledger::threads() {
  return file_->threads;
}
std::span<Ledger::Name> Ledger::names() {
  return file_->names;
}

Ledger::Process* Ledger::free_process() {
  for (std::size_t n = 0; n < kProcesses; ++n)
    if (Process& p = file_->processes[next_process_++ % kProcesses]; p.source == 0) return &p;
  return nullptr;
}
Ledger::Thread* Ledger::free_thread() {
  for (std::size_t n = 0; n < kThreads; ++n)
    if (Thread& t = file_->threads[next_thread_++ % kThreads]; t.source == 0) return &t;
  return nullptr;
}

}  // namespace margay::reader
