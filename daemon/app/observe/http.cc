#include "margay/observe/http.h"

#include <civetweb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <thread>

#include "margay/log/log.h"
#include "margay/observe/exposition.h"

namespace margay::observe {
namespace {

void send(mg_connection* connection, const char* method, int status, const char* reason, const char* type,
          const std::string& body) {
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
            "Connection: close\r\n\r\n",
            status, reason, type, body.size());
  if (std::strcmp(method, "HEAD") != 0) mg_write(connection, body.data(), body.size());
}

int on_log(const mg_connection*, const char* message) {
  log::warning(std::string("http: ") + message);
  return 1;
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

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& listen, const Clock& clock) {
  auto address = parse_listen(listen);
  if (!address) return tl::unexpected(address.error());
  std::unique_ptr<HttpServer> server(new HttpServer(clock));
  const std::string threads = std::to_string(kThreads), queue = std::to_string(kQueue),
                    patience = std::to_string(kPatience.value / 1'000'000),
                    largest = std::to_string(kLargestRequest);
  const char* options[] = {"listening_ports",
                           address->c_str(),
                           "num_threads",
                           threads.c_str(),
                           "connection_queue",
                           queue.c_str(),
                           "listen_backlog",
                           "64",
                           "request_timeout_ms",
                           patience.c_str(),
                           "max_request_size",
                           largest.c_str(),
                           "enable_keep_alive",
                           "no",
                           nullptr};
  mg_callbacks callbacks{};
  callbacks.begin_request = &on_request;
  callbacks.log_message = &on_log;
  callbacks.init_thread = [](const mg_context*, int) -> void* {
    pthread_setname_np(pthread_self(), "margay-http");
    return nullptr;
  };
  mg_init_library(0);
  server->context_ = mg_start(&callbacks, server.get(), options);
  if (server->context_ == nullptr) {
    mg_exit_library();
    return fail(ErrorCode::kUnavailable, *address + " (http.listen): cannot be bound; is the port taken?");
  }
  mg_server_port port{};
  server->address_ = *address;
  if (mg_get_server_ports(server->context_, 1, &port) == 1)
    server->port_ = static_cast<std::uint16_t>(port.port),
    server->address_ = address->substr(0, address->rfind(':') + 1) + std::to_string(port.port);
  return server;
}

HttpServer::~HttpServer() {
  if (context_ == nullptr) return;
  // Its accepting thread looks only every two seconds whether it shall end, or when somebody connects.
  std::atomic<bool> stopped{false};
  std::thread caller([&] {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port_);
    while (!stopped) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (fd < 0) return;
      static_cast<void>(connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      close(fd);
    }
  });
  mg_stop(context_);
  stopped = true;
  caller.join();
  mg_exit_library();
}

void HttpServer::update(std::shared_ptr<const wire::Report> report) {
  const TimeNs now = clock_.monotonic();
  const std::lock_guard lock(mutex_);
  report_.swap(report);  // the old one goes after the lock, with the argument
  updated_ = now;
}

int HttpServer::on_request(mg_connection* connection) {
  const mg_request_info* info = mg_get_request_info(connection);
  auto* self = static_cast<HttpServer*>(info->user_data);
  ++self->requests_;
  try {
    return self->answer(connection, info->request_method, info->local_uri == nullptr ? "" : info->local_uri);
  } catch (const std::exception& e) {
    log::error(std::string("http: ") + e.what());
    return 500;
  }
}

int HttpServer::answer(mg_connection* connection, const char* method, const std::string& path) {
  constexpr const char* kText = "text/plain; charset=utf-8";
  const bool known = path == "/metrics" || path == "/health" || path == "/live";
  if (!known) {
    send(connection, method, 404, "Not Found", kText, "There are /metrics, /health and /live.\n");
    return 404;
  }
  if (std::strcmp(method, "GET") != 0 && std::strcmp(method, "HEAD") != 0) {
    send(connection, method, 405, "Method Not Allowed", kText, "GET only.\n");
    return 405;
  }
  if (path == "/live") {
    send(connection, method, 200, "OK", kText, "alive\n");
    return 200;
  }
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
    send(connection, method, healthy ? 200 : 503, healthy ? "OK" : "Service Unavailable", "application/json",
         body);
    return healthy ? 200 : 503;
  }
  if (report == nullptr) {
    send(connection, method, 503, "Service Unavailable", kText, "The daemon is starting.\n");
    return 503;
  }
  send(connection, method, 200, "OK", "text/plain; version=0.0.4; charset=utf-8", exposition(*report));
  return 200;
}

}  // namespace margay::observe
