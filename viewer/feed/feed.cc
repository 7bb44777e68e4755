#include "margay/feed/feed.h"

#include <sys/stat.h>

#include <utility>

#include "margay/wire/columns.h"
#include "margay/wire/report_version.h"

namespace margay::feed {

Feed::Feed(const Clock& clock, Source source) : clock_(clock), source_(std::move(source)) {}

Status Feed::open() {
  const bool here = source_.connect.empty();
  heard_ = clock_.monotonic();
  control_.emplace(context_, clock_, zmq::socket_type::dealer,
                   here ? source_.dir.control_endpoint() : source_.connect, source_.key);
  if (auto ok = control_->open(); !ok) return ok;
  // A daemon on another machine says itself where its reports are.
  return here ? receive_from(source_.dir.reports_endpoint()) : Status();
}

Status Feed::receive_from(const std::string& endpoint) {
  reports_.emplace(context_, clock_, zmq::socket_type::sub, endpoint, source_.key);
  return reports_->open();
}

bool Feed::take(const OnReport& on_report, const OnReply& on_reply) {
  bool any = false;
  control_->look();
  if (reports_) reports_->look();
  while (auto frame = reports_ ? reports_->socket().try_receive() : std::nullopt) {
    wire::Report report;
    if (!report.ParseFromString(frame->body)) continue;
    any = true;
    accept(std::move(report), on_report);
  }
  while (auto frame = control_->socket().try_receive()) {
    wire::ControlReply reply;
    if (!reply.ParseFromString(frame->body)) continue;
    any = true;
    heard_ = clock_.monotonic();
    if (!reply.error().empty()) notice_ = reply.error();
    if (const std::string at = transport::with_port(source_.connect, reply.reports_port());
        !reports_ && !at.empty())
      if (auto ok = receive_from(at); !ok) notice_ = ok.error().message;
    // An answer may be older than what was published since; a final report is never taken back.
    if (reply.has_report() && (!newest_ || reply.report().emitted_wall_ns() > newest_->emitted_wall_ns()))
      accept(std::move(*reply.mutable_report()), on_report);
    if (on_reply) on_reply(reply);
  }
  ask();
  return any;
}

void Feed::accept(wire::Report report, const OnReport& on_report) {
  heard_ = clock_.monotonic();
  notice_ = wire::why_unread(report.version());
  if (!notice_.empty()) return;
  newest_ = std::make_shared<const wire::Report>(std::move(report));
  if (on_report) on_report(newest_);
}

void Feed::ask() {
  const TimeNs now = clock_.monotonic();
  if (began_ && (now - heard_ < kAskAfter || now - asked_ < kAskAfter)) return;
  began_ = true;
  wire::ControlRequest request;
  request.set_version(wire::kWireVersion);
  request.set_kind(wire::ControlRequest::STATUS);
  static_cast<void>(send(request));  // unanswered, it is asked again
  asked_ = now;
}

bool Feed::send(const wire::ControlRequest& request) {
  return static_cast<bool>(control_->socket().try_send(request));
}

Connection Feed::connection() const {
  if (newest_ && newest_->final()) return Connection::kLive;
  if (silence() < kGoneAfter) return newest_ ? Connection::kLive : Connection::kWaiting;
  if (run_is_gone()) return Connection::kRunGone;
  return newest_ ? Connection::kGone : Connection::kWaiting;
}

bool Feed::run_is_gone() const {
  struct stat s {};
  return source_.connect.empty() && ::stat(source_.dir.path.c_str(), &s) != 0;
}

std::vector<zmq::pollitem_t> Feed::poll_items() {
  std::vector<zmq::pollitem_t> items{{control_->socket().raw().handle(), 0, ZMQ_POLLIN, 0}};
  if (reports_) items.push_back({reports_->socket().raw().handle(), 0, ZMQ_POLLIN, 0});
  return items;
}

}  // namespace margay::feed
