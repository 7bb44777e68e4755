#include "margay/replay/player.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "margay/serve/handling_request.h"
#include "margay/wire/columns.h"
#include "margay/wire/control.pb.h"

namespace margay::daemon {
namespace {

constexpr std::chrono::milliseconds kPoll(10);
constexpr DurationNs kReportPeriod = milliseconds(100);
constexpr double kFastest = 1e9;

}  // namespace

Result<std::unique_ptr<Player>> Player::open(const Options& options, const Clock& clock,
                                             const std::atomic<bool>& stop) {
  std::unique_ptr<Player> p(new Player(options, clock, stop));
  if (!options.serve) return p;
  auto reports = transport::Socket::bind(p->context_, zmq::socket_type::pub,
                                         options.directory.reports_endpoint(), {}, transport::kSubscriptions);
  if (!reports) return tl::unexpected(reports.error());
  auto control = transport::Socket::bind(p->context_, zmq::socket_type::router,
                                         options.directory.control_endpoint(), {}, transport::kQuestions);
  if (!control) return tl::unexpected(control.error());
  p->reports_.emplace(std::move(*reports));
  p->control_.emplace(std::move(*control));
  if (options.archive != nullptr) {
    ViewService::Options views;
    views.nice = 0;
    p->views_ = std::make_unique<ViewService>(*options.archive, clock, views);
    p->views_->start();
  }
  return p;
}

bool Player::before(TimeNs watermark) {
  for (;;) {
    serve();
    if (stop_ || finished_ || rewind_) return false;
    // Whoever only listens is to see it as well.
    if (std::exchange(changed_, false) && shown_ != nullptr && reports_ && !target_) publish(*shown_);
    if (watermark == TimeNs()) return true;  // tells no time: names, beginnings
    if (target_) {
      if (watermark <= *target_) return true;
      target_.reset();
      pace_anew();
      if (shown_ != nullptr && reports_) publish(*shown_);  // it is there
    }
    if (paused_ && steps_ == 0) {
      transport::Socket* const one[] = {control_ ? &*control_ : nullptr};
      static_cast<void>(transport::wait_readable(std::span(one, control_ ? 1 : 0), kPoll));
      continue;
    }
    if (steps_ > 0) {
      --steps_;
      return true;
    }
    if (speed_ <= 0) return true;
    const TimeNs host = clock_.monotonic();
    if (!pace_from_) pace_from_ = Pace{host, watermark};
    const double due = static_cast<double>((watermark - pace_from_->trace).value) / speed_;
    const double left = due - static_cast<double>((host - pace_from_->host).value);
    if (left <= 0) return true;
    const auto ms = std::clamp<std::int64_t>(static_cast<std::int64_t>(left / 1e6), 1, kPoll.count());
    transport::Socket* const one[] = {control_ ? &*control_ : nullptr};
    static_cast<void>(
        transport::wait_readable(std::span(one, control_ ? 1 : 0), std::chrono::milliseconds(ms)));
  }
}

void Player::after(const Analyst& analyst) {
  now_ = analyst.watermark();
  shown_ = &analyst;
  if (!reports_) return;
  // Whoever steps wants to see each slice.
  if (clock_.monotonic() >= next_report_ || (paused_ && !target_)) publish(analyst);
}

bool Player::at_end(const Analyst& analyst) {
  if (!reports_) return false;
  at_end_ = true;
  target_.reset();
  publish(analyst);
  while (!stop_ && !finished_ && !rewind_) {
    transport::Socket* const one[] = {&*control_};
    static_cast<void>(transport::wait_readable(one, kPoll));
    serve();
    // For viewers that have just come.
    if (clock_.monotonic() >= next_report_ + seconds(1)) publish(analyst);
  }
  at_end_ = false;
  return rewind();
}

void Player::said(const alert::Alert& alert) {
  if (otherwise_) otherwise_->live.take(alert);
}

std::optional<wire::WhatIf> Player::beside(TimeNs watermark) const {
  if (!otherwise_) return {};
  std::optional<wire::WhatIf> out(std::in_place);
  for (const std::string& s : otherwise_->settings) out->add_settings(s);
  otherwise_->live.compare(watermark, *out);
  return out;
}

bool Player::rewind() {
  const bool wanted = rewind_ && !stop_ && !finished_;
  rewind_ = false;
  shown_ = nullptr;
  if (wanted && otherwise_) otherwise_->live.begin_anew();
  pace_anew();
  return wanted;
}

void Player::publish(const Analyst& analyst) {
  wire::Report report = analyst.report();
  report.set_final(false);  // it can go back
  report.set_sequence(++sequence_);
  report.set_emitted_wall_ns(clock_.realtime().value);
  auto* replay = report.mutable_replay();
  replay->set_speed(speed_);
  replay->set_paused(paused_);
  replay->set_at_end(at_end_);
  replay->set_seeking(target_.has_value());
  replay->set_begin_ns(options_.begin.value);
  replay->set_end_ns(options_.end.value);
  if (auto what_if = beside(now_)) *replay->mutable_what_if() = std::move(*what_if);
  report.mutable_health()->set_state(wire::Health::HEALTHY);
  report.mutable_health()->set_verdict("a replay of what was recorded");
  report.mutable_health()->set_daemon_version(MARGAY_VERSION);
  static_cast<void>(reports_->try_send(report));
  newest_ = std::move(report);
  next_report_ = clock_.monotonic() + kReportPeriod;
}

void Player::serve() {
  if (!control_) return;
  while (const auto frame = control_->try_receive()) answer(*frame);
  while (auto view = views_ ? views_->try_take() : std::nullopt) send_view(std::move(*view));
}

void Player::send_view(ViewReply&& view) {
  const std::string to = view.to.from;
  static_cast<void>(control_->try_send(control_reply(std::move(view)), to));
}

void Player::answer(const transport::Socket::Frame& frame) {
  wire::ControlReply reply;
  reply.set_version(wire::kWireVersion);
  wire::ControlRequest request;
  const bool good = request.ParseFromArray(frame.body.data(), static_cast<int>(frame.body.size())) &&
                    request.version() == wire::kWireVersion;
  switch (good ? request.kind() : wire::ControlRequest::NONE) {
    case wire::ControlRequest::STATUS:
      break;
    case wire::ControlRequest::FINISH:
      finished_ = true;
      break;
    case wire::ControlRequest::PLAY:
      changed_ = true;
      paused_ = false;
      steps_ = 0;
      if (request.speed() < 0) speed_ = 0;
      if (request.speed() > 0 && std::isfinite(request.speed())) speed_ = std::min(request.speed(), kFastest);
      pace_anew();
      break;
    case wire::ControlRequest::PAUSE:
      changed_ = true;
      paused_ = true;
      steps_ = 0;
      target_.reset();
      break;
    case wire::ControlRequest::STEP:
      paused_ = true;
      steps_ = std::clamp<std::uint32_t>(request.steps(), 1, 1u << 20);
      break;
    case wire::ControlRequest::JUMP:
      target_ = std::clamp(TimeNs(request.jump_ns()), options_.begin, options_.end);
      rewind_ = *target_ < now_;
      if (rewind_) now_ = options_.begin;
      break;
    case wire::ControlRequest::VIEW:
    case wire::ControlRequest::EVENTS: {
      if (!views_) {
        reply.set_error("this replay answers no questions about stretches");
        break;
      }
      const ViewAsker asker{frame.from, false};
      const bool view = request.kind() == wire::ControlRequest::VIEW;
      for (ViewReply& at_once :
           view ? views_->ask(asker, request.view()) : views_->ask(asker, request.events()))
        send_view(std::move(at_once));
      return;  // answered when it is computed
    }
    default:
      if (good && is_handling(request.kind())) {
        reply.set_error(
            "a replay sends no alerts; what is acknowledged and silenced in its run: margay alerts, with the "
            "archive");
        break;
      }
      reply.set_error(good ? "the request's kind is unknown"
                           : "the request is not of wire version " + std::to_string(wire::kWireVersion));
      break;
  }
  if (newest_.version() != 0) {
    auto* replay = newest_.mutable_replay();
    replay->set_paused(paused_);
    replay->set_speed(speed_);
    replay->set_seeking(target_.has_value());
    *reply.mutable_report() = newest_;
  }
  static_cast<void>(control_->try_send(reply, frame.from));
}

}  // namespace margay::daemon
