#include <unistd.h>
#include <array>
#include <random>

#include <algorithm>

#include "margay/wire/columns.h"
#include "session.h"

namespace margay::viewer {
namespace {

constexpr double kAround = 10;      // slices, at least, shown round an alert
constexpr double kAlertPart = 0.2;  // of the picture before it

std::string user_name() {
  std::array<char, 256> name{};
  return ::getlogin_r(name.data(), name.size()) == 0 ? name.data() : "viewer";
}

}  // namespace

void Session::handle(wire::ControlRequest::Kind kind, wire::Handle what) {
  static std::mt19937_64 random{std::random_device{}()};
  wire::ControlRequest r;
  r.set_kind(kind);
  *r.mutable_handle() = std::move(what);
  r.mutable_handle()->set_token(random());
  r.mutable_handle()->set_by(user_name());
  request(std::move(r));
}
void Session::request(wire::ControlRequest r) {
  r.set_version(wire::kWireVersion);
  chosen_.request = r;
  emit requested_something();
  if (link_ != nullptr) link_->send(std::move(r));
}
void Session::acknowledge(const std::string& id, const std::string& comment) {
  wire::Handle what;
  what.set_id(id);
  what.set_comment(comment);
  handle(wire::ControlRequest::ACKNOWLEDGE, std::move(what));
}
void Session::unacknowledge(const std::string& id) {
  wire::Handle what;
  what.set_id(id);
  handle(wire::ControlRequest::UNACKNOWLEDGE, std::move(what));
}
void Session::silence(const std::string& node, DurationNs how_long) {
  wire::Handle what;
  what.set_node(node);
  what.set_duration_ns(how_long.value);
  handle(wire::ControlRequest::SILENCE, std::move(what));
}
void Session::unsilence(const std::string& id) {
  wire::Handle what;
  what.set_id(id);
  handle(wire::ControlRequest::UNSILENCE, std::move(what));
}
void Session::ask_for_silences() {
  handle(wire::ControlRequest::HANDLING, {});
}

void Session::play(double speed) {
  wire::ControlRequest r;
  r.set_kind(wire::ControlRequest::PLAY);
  r.set_speed(speed);
  request(std::move(r));
}
void Session::pause() {
  wire::ControlRequest r;
  r.set_kind(wire::ControlRequest::PAUSE);
  request(std::move(r));
}
void Session::step(std::uint32_t slices) {
  wire::ControlRequest r;
  r.set_kind(wire::ControlRequest::STEP);
  r.set_steps(slices);
  request(std::move(r));
}
void Session::jump(TimeNs to) {
  wire::ControlRequest r;
  r.set_kind(wire::ControlRequest::JUMP);
  r.set_jump_ns(to.value);
  request(std::move(r));
}

void Session::go_to(const terminal::AlertView& a) {
  choose_alert(a.id);
  go_to(TimeNs(a.onset_ns), a.end_ns && !a.firing ? TimeNs(*a.end_ns) : now(), a.place());
}

void Session::choose_alert(const std::string& id) {
  if (std::exchange(chosen_.alert, id) != id) emit alert_chosen();
}

const wire::Alert* Session::alert() const {
  return report_ == nullptr || chosen_.alert.empty() ? nullptr
                                                     : terminal::find_alert(*report_, chosen_.alert);
}

// There the alert begins at a fifth of the picture, which is as long as it was, and what it blames is
// selected.
void Session::go_to(TimeNs from, TimeNs to, const std::string& node) {
  const scene::TimeRange now = this->time();
  const DurationNs least((report_ ? report_->slice_ns() : 100'000'000) * static_cast<std::int64_t>(kAround));
  const DurationNs length = std::max(least, now.to - now.from);
  target_ = Target{from, std::max(to, from + DurationNs(1)), node};
  const scene::TimeRange known = data_->range();
  const bool there = !data_->empty() && !scene::nodes_named(*data_, node).empty();
  if (there && from >= std::max(now.from, known.from) && from < std::min(now.to, known.to)) {
    // Who looks at an alert does not want it to scroll away.
    if (!history_.now().time) held_ = true;
    show_target();
    ask_for_curve();
    emit view_changed();
    emit status_changed();
    return;
  }
  // It may lie outside of the part of the hierarchy that is looked at.
  scene::Subject whole = history_.now();
  if (!there) whole.node.clear();
  scene::TimeRange range{
      from - DurationNs(static_cast<std::int64_t>(kAlertPart * static_cast<double>(length.value))), {}};
  range.to = range.from + length;
  whole.time = range;
  go(std::move(whole));
}

void Session::show_target() {
  if (!target_ || data_->empty()) return;
  const std::int64_t node = scene::node_over(*data_, scene::nodes_named(*data_, target_->node));
  if (node >= 0) {
    const auto n = static_cast<std::uint32_t>(node);
    scroll_ = scene::showing(drawn_.rows, scroll_, n);
    chosen_.selection =
        Selection{n, static_cast<std::uint32_t>(data_->slice_at(target_->from)),
                  static_cast<std::uint32_t>(data_->slice_at(target_->to - DurationNs(1)) + 1)};
  }
  target_.reset();
}

}  // namespace margay::viewer
