#include "http_receiver.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <stdexcept>
#include <thread>

namespace margay::support {

HttpReceiver::HttpReceiver() : HttpReceiver([](std::size_t) { return Answer{}; }) {}

HttpReceiver::HttpReceiver(std::function<Answer(std::size_t)> answer) : answer_(std::move(answer)) {
  const char* options[] = {"listening_ports", "127.0.0.1:0", "num_threads", "4", nullptr};
  mg_callbacks callbacks{};
  callbacks.begin_request = &on_request;
  mg_init_library(0);
  context_ = mg_start(&callbacks, this, options);
  if (context_ == nullptr) throw std::runtime_error("no HTTP server");
  mg_server_port port{};
  mg_get_server_ports(context_, 1, &port);
  port_ = static_cast<std::uint16_t>(port.port);
}

HttpReceiver::~HttpReceiver() {
  release();
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

std::vector<HttpReceiver::Request> HttpReceiver::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpReceiver::release() {
  {
    const std::lock_guard lock(mutex_);
    release_ = true;
  }
  released_.notify_all();
}

int HttpReceiver::on_request(mg_connection* connection) {
  const mg_request_info* info = mg_get_request_info(connection);
  auto* self = static_cast<HttpReceiver*>(info->user_data);
  Request r;
  r.method = info->request_method;
  r.path = info->local_uri;
  for (int i = 0; i < info->num_headers; ++i) {
    std::string name = info->http_headers[i].name;
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    r.headers[name] = info->http_headers[i].value;
  }
  char buffer[4096];
  for (int n = 0; (n = mg_read(connection, buffer, sizeof buffer)) > 0;)
    r.body.append(buffer, static_cast<std::size_t>(n));
  std::size_t number = 0;
  {
    const std::lock_guard lock(self->mutex_);
    number = self->requests_.size();
    self->requests_.push_back(std::move(r));
  }
  const Answer answer = self->answer_(number);
  if (answer.hang) {
    std::unique_lock lock(self->mutex_);
    self->released_.wait(lock, [&] { return self->release_; });
  }
  mg_printf(connection, "HTTP/1.1 %d Whatever\r\n%sContent-Length: %zu\r\n\r\n", answer.status,
            answer.headers.c_str(), answer.body.size());
  mg_write(connection, answer.body.data(), answer.body.size());
  return answer.status;
}

std::uint16_t free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&at), size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    throw std::runtime_error("no free port");
  close(fd);
  return ntohs(at.sin_port);
}

}  // namespace margay::support
