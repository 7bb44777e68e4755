// /metrics, /health and /live over HTTP, for Prometheus and for whoever asks whether the daemon is well.
//
//   GET /metrics   200, exposition.h; 503 before the first report
//   GET /health    200 or 503: the verdict as JSON
//   GET /live      200 while the process runs
//   all else       404 or 405
//
// Answers are made from the last report alone, a value that never changes: no question reaches the stages.
// Bounded: kThreads threads ("margay-http"), kQueue connections beside those being answered, the rest wait in
// the kernel's queue; kPatience for a request; kLargestRequest of headers; one request a connection.
// Thread safety: update() and the accessors may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/wire/margay.pb.h"

struct mg_connection;
struct mg_context;

namespace margay::observe {

// "127.0.0.1:9464", "[::1]:9464", or "9464" for the loopback. Errors: kInvalidArgument, with a sentence.
Result<std::string> parse_listen(const std::string& text);

class HttpServer {
 public:
  static constexpr int kThreads = 2;
  static constexpr int kQueue = 16;
  static constexpr DurationNs kPatience = seconds(2);
  static constexpr int kLargestRequest = 8192;

  // `listen` as for parse_listen; port 0 takes a free one. Errors: kInvalidArgument; kUnavailable (cannot be
  // bound). `clock` must outlive it.
  static Result<std::unique_ptr<HttpServer>> start(const std::string& listen, const Clock& clock);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void update(std::shared_ptr<const wire::Report> report);
  std::uint64_t requests() const { return requests_; }
  const std::string& address() const { return address_; }  // "127.0.0.1:9464"

 private:
  explicit HttpServer(const Clock& clock) : clock_(clock) {}
  static int on_request(mg_connection* connection);
  int answer(mg_connection* connection, const char* method, const std::string& path);

  const Clock& clock_;
  std::string address_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> requests_{0};
  std::mutex mutex_;  // held for the copy of a pointer
  std::shared_ptr<const wire::Report> report_;
  TimeNs updated_{};
  mg_context* context_ = nullptr;
};

}  // namespace margay::observe
