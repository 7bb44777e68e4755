#include "ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "margay/base/descriptor.h"

namespace margay::lttng {
namespace {

// The sockets that listen on it, as /proc names them: "socket:[4711]".
std::set<std::string> listeners(std::uint16_t port) {
  std::set<std::string> out;
  std::ifstream file("/proc/net/tcp");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, skip, inode;
    words >> number >> local >> remote >> state;
    for (int i = 0; i < 5; ++i) words >> skip;  // queues, timer, retransmits, uid, timeout
    words >> inode;
    unsigned value = 0;
    const std::size_t colon = local.find(':');
    if (state != "0A" || colon == std::string::npos) continue;
    std::from_chars(local.data() + colon + 1, local.data() + local.size(), value, 16);
    if (value == port) out.insert("socket:[" + inode + "]");
  }
  return out;
}

bool has_one_of(pid_t pid, const std::set<std::string>& sockets) {
  std::error_code ec;
  for (std::filesystem::directory_iterator i("/proc/" + std::to_string(pid) + "/fd", ec), end;
       !ec && i != end; i.increment(ec)) {
    std::error_code gone;
    if (sockets.contains(std::filesystem::read_symlink(i->path(), gone).string())) return true;
  }
  return false;
}

sockaddr* plain(sockaddr_in* address) {
  return static_cast<sockaddr*>(static_cast<void*>(address));
}

}  // namespace

Result<std::array<std::uint16_t, 3>> free_ports() {
  std::array<std::uint16_t, 3> out{};
  std::array<int, 3> fds{-1, -1, -1};
  int error = 0;
  for (std::size_t i = 0; i < out.size() && error == 0; ++i) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    fds[i] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fds[i] < 0 || ::bind(fds[i], plain(&address), size) != 0 ||
        ::getsockname(fds[i], plain(&address), &size) != 0)
      error = errno;
    out[i] = ntohs(address.sin_port);
  }
  for (const int fd : fds)
    if (fd >= 0) ::close(fd);
  if (error != 0)
    return fail(ErrorCode::kIo, std::string("no free port on 127.0.0.1: ") + std::strerror(error));
  return out;
}

bool listens(pid_t pid, std::uint16_t port) {
  const auto sockets = listeners(port);
  return !sockets.empty() && has_one_of(pid, sockets);
}

pid_t who_listens(const std::string& name, std::uint16_t port) {
  const auto sockets = listeners(port);
  if (sockets.empty()) return -1;
  std::error_code ec;
  for (std::filesystem::directory_iterator i("/proc", ec), end; !ec && i != end; i.increment(ec)) {
    const std::string id = i->path().filename();
    pid_t pid = 0;
    if (std::from_chars(id.data(), id.data() + id.size(), pid).ptr != id.data() + id.size()) continue;
    std::ifstream comm(i->path() / "comm");
    std::string said;
    if (std::getline(comm, said) && said == name.substr(0, 15) && has_one_of(pid, sockets)) return pid;
  }
  return -1;
}

bool takes_connection(const std::string& host, std::uint16_t port, DurationNs limit) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (port == 0 || ::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) return false;
  const margay::Descriptor s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (s.get() < 0) return false;
  if (::connect(s.get(), plain(&address), sizeof address) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd p{s.get(), POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof error;
  return ::poll(&p, 1, static_cast<int>(limit.value / 1'000'000)) == 1 &&
         ::getsockopt(s.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace margay::lttng
