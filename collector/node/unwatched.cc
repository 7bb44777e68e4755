#include "margay/node/unwatched.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace margay::node {
namespace {

// The probes' word is the first; a reason's own is that of its number, and these are not 0 but for OTHER.
constexpr std::size_t kProbes = 0;
static_assert(wire::Unwatched::NO_SEGMENT == 1 && wire::Unwatched::OTHER == 0);

off_t place_of(std::size_t word) {
  return static_cast<off_t>(word * sizeof(std::uint64_t));
}

}  // namespace

Unwatched::Unwatched(const std::string& path) {
  if (path.empty()) return;
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  struct stat st {};
  constexpr off_t kBytes = kWords * sizeof(std::uint64_t);
  if (fd_ < 0) return;
  if (fstat(fd_, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
      (st.st_size < kBytes && ftruncate(fd_, kBytes) != 0)) {
    close(fd_);
    fd_ = -1;
    return;
  }
  for (std::size_t reason = 2; reason < kReasons; ++reason) ever_[reason] = from_file(reason);
}

Unwatched::~Unwatched() {
  if (fd_ >= 0) close(fd_);
}

std::uint64_t Unwatched::from_file(std::size_t word) const {
  std::uint64_t n = 0;
  if (fd_ < 0 || pread(fd_, &n, sizeof n, place_of(word)) != static_cast<ssize_t>(sizeof n)) return 0;
  return std::min(n, kMost);
}

void Unwatched::add(Reason reason) {
  if (ever_[reason] < kMost) ++ever_[reason];
  // On a full disk it is known for as long as this agent lives.
  if (fd_ >= 0 && reason >= 2)
    static_cast<void>(pwrite(fd_, &ever_[reason], sizeof(std::uint64_t), place_of(reason)) < 0);
}

wire::NodeAccount Unwatched::account(const std::string& node) {
  ever_[wire::Unwatched::NO_SEGMENT] = std::max(ever_[wire::Unwatched::NO_SEGMENT], from_file(kProbes));
  wire::NodeAccount account;
  account.set_node(node);
  for (std::size_t reason = 0; reason < kReasons; ++reason) {
    const std::uint64_t n = ever_[reason] + now_[reason];
    if (n == 0) continue;
    wire::Unwatched& u = *account.add_unwatched();
    u.set_reason(static_cast<Reason>(reason));
    u.set_processes(n);
  }
  return account;
}

}  // namespace margay::node
