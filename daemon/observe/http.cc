#include "margay/observe/http.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include "http_request.h"
#include "margay/base/text.h"
#include "margay/log/log.h"
#include "margay/observe/exposition.h"

namespace margay::observe {
namespace {

constexpr int kBacklog = 64;
constexpr DurationNs kRest = milliseconds(100);
constexpr const char* kText = "text/plain; charset=utf-8";
constexpr std::size_t kLongestShown = 200;  // of what a stranger sent

std::string message(int status, const char* reason, const char* type, const std::string& body,
                    bool with_body = true) {
  return "HTTP/1.1 " + std::to_string(status) + " " + reason + "\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n" + (with_body ? body : "");
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

std::string port_of(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return "?";
  return std::to_string(ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                                          : reinterpret_cast<sockaddr_in&>(bound).sin_port));
}

}  // namespace

Result<std::string> parse_listen(const std::string& text) {
  const auto wrong = [&] {
    return fail(ErrorCode::kInvalidArgument,
                "'" + text + "' is no address to listen at: expected 127.0.0.1:9464, [::1]:9464 or 9464");
  };
  const std::size_t colon = text.rfind(':');
  std::string host = colon == std::string::npos ? "127.0.0.1" : text.substr(0, colon);
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  unsigned n = 0;
  const auto r = std::from_chars(port.data(), port.data() + port.size(), n);
  if (r.ec != std::errc() || r.ptr != port.data() + port.size() || n > 65535) return wrong();
  const bool v6 = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const char* allowed = v6 ? "[]0123456789abcdefABCDEF:." : "0123456789.";
  if (host.empty() || host.find_first_not_of(allowed) != std::string::npos) return wrong();
  return host + ":" + std::to_string(n);
}

struct HttpServer::Connection {
  enum class State { kAsks, kIsAnswered, kLeaves, kGone };
  int fd = -1;
  State state = State::kAsks;
  TimeNs deadline{};
  std::string in, out;
  std::size_t sent = 0;
  std::size_t ignored = 0;  // bytes behind its request
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& listen, const Clock& clock,
                                                      std::vector<std::string> hosts) {
  auto address = parse_listen(listen);
  if (!address) return tl::unexpected(address.error());
  for (std::string& name : own_host_names()) hosts.push_back(std::move(name));
  std::unique_ptr<HttpServer> server(new HttpServer(clock, std::move(hosts)));
  if (auto ok = server->listen_at(*address); !ok) return tl::unexpected(ok.error());
  try {
    server->thread_ = std::thread([s = server.get()] {
      pthread_setname_np(pthread_self(), "margay-http");
      s->run();
    });
  } catch (const std::system_error& e) {
    return fail(ErrorCode::kUnavailable, *address + " (http.listen): no thread can be started: " + e.what());
  }
  return server;
}

Status HttpServer::listen_at(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)));
  const bool v6 = host.front() == '[';
  sockaddr_storage to{};
  bool good = false;
  if (v6) {
    auto& six = reinterpret_cast<sockaddr_in6&>(to);
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    good = inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six.sin6_addr) == 1;
  } else {
    auto& four = reinterpret_cast<sockaddr_in&>(to);
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    good = inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1;
  }
  const int on = 1;
  if (good) {
    listener_ = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    good = listener_ >= 0 && wake_ >= 0 &&
           setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
           (!v6 || setsockopt(listener_, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0) &&
           bind(listener_, reinterpret_cast<const sockaddr*>(&to),
                v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in)) == 0 &&
           ::listen(listener_, kBacklog) == 0;
  } else {
    errno = EINVAL;
  }
  if (!good)
    return fail(ErrorCode::kUnavailable, address + " (http.listen): cannot be bound: " +
                                             std::strerror(errno) + "; is the port taken?");
  address_ = host + ":" + port_of(listener_);
  return {};
}

HttpServer::~HttpServer() {
  stop_ = true;
  const std::uint64_t one = 1;
  if (wake_ >= 0) static_cast<void>(!write(wake_, &one, sizeof one));
  if (thread_.joinable()) thread_.join();
  for (const int fd : {listener_, wake_})
    if (fd >= 0) close(fd);
}

void HttpServer::update(std::shared_ptr<const wire::Report> report) {
  const TimeNs now = clock_.monotonic();
  const std::lock_guard lock(mutex_);
  report_.swap(report);  // the old one goes after the lock, with the argument
  updated_ = now;
}

void HttpServer::run() {
  std::vector<Connection> open;  // oldest first
  std::vector<pollfd> items;
  while (!stop_) {
    TimeNs now = clock_.monotonic();
    TimeNs next = now + seconds(3600);
    items.clear();
    items.push_back({wake_, POLLIN, 0});
    const bool rests = now < rest_until_;
    items.push_back({rests ? -1 : listener_, POLLIN, 0});
    if (rests) next = std::min(next, rest_until_);
    for (const Connection& c : open) {
      items.push_back(
          {c.fd, static_cast<short>(c.state == Connection::State::kIsAnswered ? POLLOUT : POLLIN), 0});
      next = std::min(next, c.deadline);
    }
    const std::int64_t ms = (next - now).value / 1'000'000 + 1;
    if (poll(items.data(), items.size(), static_cast<int>(std::clamp<std::int64_t>(ms, 0, 3'600'000))) < 0 &&
        errno != EINTR)
      rest_until_ = now + kRest;
    now = clock_.monotonic();
    for (std::size_t i = 0; i < open.size(); ++i) {
      Connection& c = open[i];
      try {
        if (items[i + 2].revents != 0) serve(c);
      } catch (const std::exception& e) {
        log::error(std::string("http: ") + e.what());
        c.state = Connection::State::kGone;
      }
      if (now >= c.deadline) c.state = Connection::State::kGone;
    }
    const auto gone = [](const Connection& c) {
      if (c.state == Connection::State::kGone) close(c.fd);
      return c.state == Connection::State::kGone;
    };
    std::erase_if(open, gone);
    if (items[1].revents != 0) accept_all(open);
    std::erase_if(open, gone);
  }
  for (const Connection& c : open) close(c.fd);
}

void HttpServer::accept_all(std::vector<Connection>& open) {
  for (int i = 0; i < kBacklog; ++i) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
        rest_until_ = clock_.monotonic() + kRest;
      return;
    }
    if (open.size() >= kConnections) {
      auto oldest = std::find_if(open.begin(), open.end(),
                                 [](const Connection& c) { return c.state == Connection::State::kAsks; });
      if (oldest == open.end()) oldest = open.begin();
      close(oldest->fd);
      open.erase(oldest);
    }
    Connection c;
    c.fd = fd;
    c.deadline = clock_.monotonic() + kPatience;
    open.push_back(std::move(c));
    try {
      serve(open.back());  // its request mostly is there already
    } catch (const std::exception& e) {
      log::error(std::string("http: ") + e.what());
      open.back().state = Connection::State::kGone;
    }
  }
}

void HttpServer::serve(Connection& c) {
  if (c.state == Connection::State::kAsks) read_request(c);
  if (c.state == Connection::State::kIsAnswered) write_answer(c);
  if (c.state != Connection::State::kLeaves) return;
  // Closed with bytes unread, a connection is reset, and its answer may be lost on the way.
  char block[4096];
  for (;;) {
    const ssize_t n = recv(c.fd, block, sizeof block, 0);
    if (n < 0 && would_block()) return;
    if (n > 0 && (c.ignored += static_cast<std::size_t>(n)) < 8 * kLargestRequest) continue;
    c.state = Connection::State::kGone;
    return;
  }
}

void HttpServer::read_request(Connection& c) {
  char block[4096];
  std::size_t end = std::string::npos;
  while (end == std::string::npos && c.in.size() <= kLargestRequest) {
    const ssize_t n = recv(c.fd, block, sizeof block, 0);
    if (n < 0 && would_block()) return;
    if (n <= 0) {
      c.state = Connection::State::kGone;
      return;
    }
    c.in.append(block, static_cast<std::size_t>(n));
    end = head_end_untrusted(c.in);
  }
  ++requests_;
  c.out = end <= kLargestRequest
              ? answer_untrusted(std::string_view(c.in).substr(0, end))
              : message(431, "Request Header Fields Too Large", kText, "The request is too long.\n");
  c.in = std::string();
  c.state = Connection::State::kIsAnswered;
  c.deadline = clock_.monotonic() + kPatience;
}

void HttpServer::write_answer(Connection& c) {
  while (c.sent < c.out.size()) {
    const ssize_t n = ::send(c.fd, c.out.data() + c.sent, c.out.size() - c.sent, MSG_NOSIGNAL);
    if (n < 0 && would_block()) return;
    if (n < 0) {
      c.state = Connection::State::kGone;
      return;
    }
    c.sent += static_cast<std::size_t>(n);
    c.deadline = clock_.monotonic() + kPatience;
  }
  c.out = std::string();
  shutdown(c.fd, SHUT_WR);
  c.state = Connection::State::kLeaves;
}

std::string HttpServer::answer_untrusted(std::string_view head) {
  const auto request = parse_head_untrusted(head);
  if (!request) return message(400, "Bad Request", kText, "This is no request of HTTP/1.1 with one Host.\n");
  if (request->host && !host_is_ours(*request->host, hosts_)) {
    const std::string shown = clean_utf8(*request->host, kLongestShown);
    if (shown != last_refused_)
      log::warning("http: a request for '" + shown +
                   "' is refused: that is not this machine's name; if it is, " + "add it to http.hosts");
    last_refused_ = shown;
    return message(421, "Misdirected Request", kText,
                   "'" + shown + "' is not this machine's name; if it is, add it to http.hosts.\n");
  }
  return answer(request->method, request->path);
}

std::string HttpServer::answer(const std::string& method, const std::string& path) {
  const bool get = method == "GET", known = path == "/metrics" || path == "/health" || path == "/live";
  if (!known) return message(404, "Not Found", kText, "There are /metrics, /health and /live.\n", get);
  if (!get && method != "HEAD") return message(405, "Method Not Allowed", kText, "GET only.\n");
  if (path == "/live") return message(200, "OK", kText, "alive\n", get);
  std::shared_ptr<const wire::Report> report;
  TimeNs updated;
  {
    const std::lock_guard lock(mutex_);
    report = report_;
    updated = updated_;
  }
  if (path == "/health") {
    bool healthy = false;
    const std::string body =
        health_json(report.get(), (clock_.monotonic() - updated).value / 1'000'000, &healthy);
    return message(healthy ? 200 : 503, healthy ? "OK" : "Service Unavailable", "application/json", body,
                   get);
  }
  if (report == nullptr) return message(503, "Service Unavailable", kText, "The daemon is starting.\n", get);
  return message(200, "OK", "text/plain; version=0.0.4; charset=utf-8", exposition(*report), get);
}

}  // namespace margay::observe
