#include "gate_socket.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace margay::transport {
namespace {

constexpr int kBacklog = 256;
constexpr int kRounds = 8;  // reads of one pipe before the others have their turn

struct HostPort {
  std::string host, port;
};

// "[::1]:7650" or "127.0.0.1:7650".
Result<HostPort> split(const std::string& given) {
  std::string text = given;
  if (text.starts_with("tcp://")) text.erase(0, 6);
  const auto colon = text.rfind(':');
  if (colon != std::string::npos && colon + 1 < text.size()) {
    HostPort r{text.substr(0, colon), text.substr(colon + 1)};
    const bool bracketed = r.host.size() > 2 && r.host.front() == '[' && r.host.back() == ']';
    if (bracketed) r.host = r.host.substr(1, r.host.size() - 2);
    if (r.host == "*") r.host = "0.0.0.0";  // as ZeroMQ writes it
    if (r.port == "*") r.port = "0";
    const bool digits = r.port.size() <= 5 && r.port.find_first_not_of("0123456789") == std::string::npos;
    if (!r.host.empty() && digits && std::stoi(r.port) <= 65535 &&
        (bracketed || r.host.find(':') == std::string::npos))
      return r;
  }
  return fail(ErrorCode::kInvalidArgument,
              "'" + given + "' is not an address to listen at; write \"127.0.0.1:7650\" or \"[::1]:7650\"");
}

std::string text_of(const sockaddr_storage& a, socklen_t size) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&a), size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "?";
  return a.ss_family == AF_INET6 ? "[" + std::string(host) + "]:" + port : std::string(host) + ":" + port;
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

Result<Listener> listen_tcp(const std::string& address) {
  auto parts = split(address);
  if (!parts) return tl::unexpected(parts.error());
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found) != 0 || found == nullptr)
    return fail(ErrorCode::kInvalidArgument,
                "'" + address + "' is not an address to listen at: '" + parts->host + "' is no IP address");
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  Listener r;
  r.socket.reset(socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  // SO_REUSEADDR: connections of a daemon that was killed keep nobody from the port.
  if (!r.socket || setsockopt(r.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      (found->ai_family == AF_INET6 &&
       setsockopt(r.socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
      bind(r.socket.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(r.socket.get(), kBacklog) != 0 ||
      getsockname(r.socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    return fail(ErrorCode::kIo, address + ": cannot listen there: " + std::strerror(errno));
  r.address = text_of(bound, size);
  return r;
}

Result<Descriptor> connect_unix(const std::string& path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  if (path.size() >= sizeof a.sun_path)
    return fail(ErrorCode::kInvalidArgument, path + ": too long for a socket");
  std::memcpy(a.sun_path, path.data(), path.size());
  Descriptor d(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!d) return fail(ErrorCode::kLimit, path + ": " + std::strerror(errno));
  if (connect(d.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) return d;
  return fail(would_block() ? ErrorCode::kTimeout : ErrorCode::kUnavailable,
              path + ": " + std::strerror(errno));
}

std::string address_key(const sockaddr_storage& a) {
  if (a.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(a);
    return {reinterpret_cast<const char*>(&six.sin6_addr), 8};
  }
  const auto& four = reinterpret_cast<const sockaddr_in&>(a);
  return {reinterpret_cast<const char*>(&four.sin_addr), 4};
}

std::string address_text(const sockaddr_storage& a) {
  char host[NI_MAXHOST];
  const socklen_t size = a.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&a), size, host, sizeof host, nullptr, 0,
                  NI_NUMERICHOST) != 0)
    return "?";
  return host;
}

void tune_client(int fd) {
  const auto set = [fd](int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

void reset_on_close(int fd) {
  const linger none{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

bool Pipe::keep(std::string_view bytes, std::size_t limit) {
  if (bytes.empty()) return true;
  if (end_ - begin_ + bytes.size() > limit) return false;
  if (!buffer_) {
    buffer_.reset(new (std::nothrow) char[limit]);
    if (!buffer_) return false;
    size_ = limit;
    begin_ = end_ = 0;
  }
  if (end_ + bytes.size() > size_) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  std::memcpy(buffer_.get() + end_, bytes.data(), bytes.size());
  end_ += bytes.size();
  return true;
}

Pipe::Result Pipe::flush(int to) {
  while (!empty()) {
    const ssize_t n = send(to, buffer_.get() + begin_, end_ - begin_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) return would_block() ? Result::kOpen : Result::kBroken;
    begin_ += static_cast<std::size_t>(n);
    moved_ += static_cast<std::uint64_t>(n);
  }
  buffer_.reset();
  begin_ = end_ = 0;
  return Result::kOpen;
}

Pipe::Result Pipe::pump(int from, int to, std::size_t limit, std::size_t most, char* scratch,
                        const std::function<bool(std::string_view)>& seen) {
  if (!empty())
    if (const auto r = flush(to); r != Result::kOpen) return r;
  for (int i = 0; i < kRounds && empty(); ++i) {
    const ssize_t got = recv(from, scratch, std::min(limit, most), MSG_DONTWAIT);
    if (got == 0) return Result::kSourceClosed;
    if (got < 0) return would_block() ? Result::kOpen : Result::kSourceClosed;
    std::string_view bytes(scratch, static_cast<std::size_t>(got));
    if (!seen(bytes)) return Result::kBroken;
    const ssize_t put = send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && !would_block()) return Result::kBroken;
    const std::size_t done = put < 0 ? 0 : static_cast<std::size_t>(put);
    moved_ += done;
    bytes.remove_prefix(done);
    if (!keep(bytes, limit)) return Result::kBroken;
    // A short read was the last one: the next event says when there is more.
    if (static_cast<std::size_t>(got) < std::min(limit, most)) break;
  }
  return Result::kOpen;
}

}  // namespace margay::transport
