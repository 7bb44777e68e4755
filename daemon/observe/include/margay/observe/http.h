// /metrics, /health and /live over HTTP, for Prometheus and for whoever asks whether the daemon is well.
//
//   GET /metrics   200, exposition.h; 503 before the first report
//   GET /health    200 or 503: the verdict as JSON
//   GET /live      200 while the process runs
//   all else       404, 405, 400, 431
//
// A request for another host than this one is answered 421: an address in numbers, localhost, this machine's
// own name and `hosts` are this one. A page of the web can make a browser here ask by any other name (DNS
// rebinding).
//
// Answers are made from the last report alone, a value that never changes: no question reaches the stages.
// One thread ("margay-http") serves all connections and waits for none: who is slow delays nobody else.
// Bounded: kConnections at once, a newer one ends the oldest that has not asked yet; kPatience for a request,
// and for each piece of an answer to be taken; kLargestRequest of headers; one request a connection.
// Thread safety: update() and the accessors may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/wire/report.pb.h"

namespace margay::observe {

// "127.0.0.1:9464", "[::1]:9464", or "9464" for the loopback. Errors: kInvalidArgument, with a sentence.
Result<std::string> parse_listen(const std::string& text);

class HttpServer {
 public:
  static constexpr std::size_t kConnections = 64;
  static constexpr DurationNs kPatience = seconds(2);
  static constexpr std::size_t kLargestRequest = 8192;

  // `listen` as for parse_listen; port 0 takes a free one. `hosts`: names beside this machine's own. Errors:
  // kInvalidArgument; kUnavailable (cannot be bound). `clock` must outlive it.
  static Result<std::unique_ptr<HttpServer>> start(const std::string& listen, const Clock& clock,
                                                   std::vector<std::string> hosts = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void update(std::shared_ptr<const wire::Report> report);
  std::uint64_t requests() const { return requests_; }
  const std::string& address() const { return address_; }  // "127.0.0.1:9464"

 private:
  struct Connection;
  HttpServer(const Clock& clock, std::vector<std::string> hosts) : clock_(clock), hosts_(std::move(hosts)) {}
  Status listen_at(const std::string& address);
  void run();
  void accept_all(std::vector<Connection>& open);
  void serve(Connection& c);
  void read_request(Connection& c);
  void write_answer(Connection& c);
  std::string answer_untrusted(std::string_view head);
  std::string answer(const std::string& method, const std::string& path);

  const Clock& clock_;
  const std::vector<std::string> hosts_;
  std::string address_;
  int listener_ = -1, wake_ = -1;
  TimeNs rest_until_{};  // no descriptor is left: nobody is taken in
  std::string last_refused_;
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // held for the copy of a pointer
  std::shared_ptr<const wire::Report> report_;
  TimeNs updated_{};
  std::thread thread_;
};

}  // namespace margay::observe
