// An HTTP server on the loopback that does as it is told, and keeps what it was sent. For tests of what
// posts.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

struct mg_connection;
struct mg_context;

namespace margay::support {

class HttpReceiver {
 public:
  struct Request {
    std::string method, path, body;
    std::map<std::string, std::string> headers;  // names in lower case
  };
  struct Answer {
    int status = 200;
    std::string body, headers;  // whole lines with \r\n
    bool hang = false;          // says nothing until release()
  };
  // `answer` gets the number of the request, from 0 on; called by the server's threads.
  explicit HttpReceiver(std::function<Answer(std::size_t)> answer);
  HttpReceiver();  // answers 200
  ~HttpReceiver();
  HttpReceiver(const HttpReceiver&) = delete;
  HttpReceiver& operator=(const HttpReceiver&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<Request> requests() const;
  void release();  // those that hang

 private:
  static int on_request(mg_connection* connection);
  std::function<Answer(std::size_t)> answer_;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  bool release_ = false;
  std::vector<Request> requests_;
  std::uint16_t port_ = 0;
  mg_context* context_ = nullptr;
};

// A port on the loopback that nobody listens at (it was free a moment ago).
std::uint16_t free_port();

}  // namespace margay::support
