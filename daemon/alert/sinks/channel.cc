#include "channel.h"

#include <algorithm>

namespace margay::sinks {
namespace {

bool is_update(const Notice& n) {
  return n.alert.status == alert::Status::kFiring && n.alert.updates > 0;
}

}  // namespace

Channel::Channel(std::unique_ptr<Sink> sink, DurationNs time_limit, DurationNs retry_for, Random random)
    : sink_(std::move(sink)), time_limit_(time_limit), retry_for_(retry_for), random_(std::move(random)) {}

void Channel::add(Shared notice, TimeNs now) {
  // Of updates that wait only the newest says anything; it has not waited yet.
  if (is_update(*notice))
    for (std::size_t i = busy_ && !repeating_ ? 1 : 0; i < waiting_.size(); ++i)
      if (is_update(*waiting_[i].notice) && waiting_[i].notice->alert.id == notice->alert.id) {
        waiting_[i].notice = std::move(notice);
        waiting_[i].since = now;
        return;
      }
  waiting_.push_back({std::move(notice), now, false});
  if (waiting_.size() <= kMostWaiting) return;
  // The oldest that is not under way.
  const auto oldest = waiting_.begin() + (busy_ && !repeating_ ? 1 : 0);
  ++given_up_;
  overflown_.push_back({oldest->notice, false, "too many wait"});
  if (overflown_.size() > kMostWaiting) overflown_.pop_front();  // counted all the same
  waiting_.erase(oldest);
}

bool Channel::holds(const std::string& id, const std::string& step) const {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiting& w) {
    return w.notice->alert.id == id && alert::step(w.notice->alert) == step;
  });
}

void Channel::step(TimeNs now, const std::function<void(const Fate&)>& fate) {
  for (; !overflown_.empty(); overflown_.pop_front()) fate(overflown_.front());
  if (busy_) {
    if (const auto outcome = sink_->progress(now)) {
      finish(*outcome, now, fate);
    } else if (!cut_ && now - began_ >= time_limit_) {
      cut_ = true;
      sink_->cut(now);
    }
  }
  if (busy_) return;
  // Its time is over; but one that was never tried is, if the sink may be tried now.
  while (!waiting_.empty() && !trouble_.empty() && now - waiting_.front().since >= retry_for_ &&
         (waiting_.front().tried || now < not_before_))
    give_up(trouble_, fate);
  if (now < not_before_) return;
  if (!waiting_.empty()) {
    busy_ = true;
    repeating_ = false;
    waiting_.front().tried = true;
    sink_->begin(*waiting_.front().notice, now);
  } else if (!hurry_ && sink_->repeat_at() <= now) {
    busy_ = repeating_ = true;
    sink_->begin_repeat(now);
  } else {
    return;
  }
  began_ = now;
  cut_ = false;
}

TimeNs Channel::next(TimeNs now) const {
  if (busy_ || !overflown_.empty()) return now;
  if (waiting_.empty()) return hurry_ ? Sink::kNever : std::max(sink_->repeat_at(), not_before_);
  return std::max(not_before_, now);
}

void Channel::hurry() {
  hurry_ = true;
  dead_ = !trouble_.empty();
  pause_ = kFirstPause;
  not_before_ = TimeNs(std::numeric_limits<std::int64_t>::min());
}

void Channel::finish(const Outcome& outcome, TimeNs now, const std::function<void(const Fate&)>& fate) {
  busy_ = false;
  if (outcome.kind == Outcome::Kind::kSent) {
    trouble_.clear();
    pause_ = kFirstPause;
    if (repeating_) return;
    ++sent_;
    const Fate sent{std::move(waiting_.front().notice), true, ""};
    waiting_.pop_front();
    fate(sent);
    return;
  }
  ++failed_;
  hopeless_ = hurry_ && dead_;
  trouble_ = outcome.why.empty() ? "failed" : outcome.why;
  if (outcome.kind == Outcome::Kind::kRefused && !repeating_) {
    give_up(trouble_, fate);
    return;  // the sink is there: the next one may be taken
  }
  // A half to one and a half of the pause.
  const auto spread =
      static_cast<std::int64_t>(static_cast<double>(pause_.value) * (0.5 + std::clamp(random_(), 0.0, 1.0)));
  not_before_ = now + std::max(DurationNs(spread), std::min(outcome.pause, kLongestPause));
  pause_ = std::min(pause_ * 2, kLongestPause);
}

void Channel::give_up(const std::string& why, const std::function<void(const Fate&)>& fate) {
  ++given_up_;
  const Fate lost{std::move(waiting_.front().notice), false, why};
  waiting_.pop_front();
  fate(lost);
}

void Channel::end(TimeNs now, const std::function<void(const Fate&)>& fate) {
  if (busy_ && !cut_) sink_->cut(now);
  busy_ = false;
  while (!waiting_.empty()) give_up(trouble_.empty() ? "no time was left" : trouble_, fate);
}

}  // namespace margay::sinks
