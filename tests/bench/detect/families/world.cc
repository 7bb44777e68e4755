#include "world.h"

#include <algorithm>
#include <cmath>

namespace margay::bench {

void World::run() {
  while (!events_.empty() && events_.top().t <= end_) {
    const Event e = events_.top();
    events_.pop();
    now_ = e.t;
    if (e.timer != nullptr)
      e.timer->fire(e.ticket);
    else
      e.handle.resume();
  }
  now_ = end_;
}

void World::forget_ended() {
  std::deque<Process> going;
  for (Process& p : processes_)
    if (!p.handle().done()) going.push_back(std::move(p));
  processes_.swap(going);
}

void World::enter(std::uint32_t leaf, std::uint16_t state) {
  auto& of = changes_[leaf];
  if (!of.empty() && of.back().at == now_)
    of.back().state = state;
  else
    of.push_back({now_, state});
}

void Mailbox::put(std::uint64_t what, double t) {
  t = std::max(t, world_->now());
  if (!takers_.empty()) {
    takers_.front().take->what = what;
    world_->wake(takers_.front().handle, t);
    takers_.pop_front();
    return;
  }
  auto at = items_.end();
  while (at != items_.begin() && std::prev(at)->t > t) --at;
  items_.insert(at, {t, what});
}

bool Mailbox::Take::await_ready() {
  if (box->items_.empty() || box->items_.front().t > box->world_->now()) return false;
  what = box->items_.front().what;
  box->items_.pop_front();
  return true;
}

void Mailbox::Take::await_suspend(std::coroutine_handle<> h) {
  if (box->items_.empty()) {
    box->takers_.push_back({h, this});
    return;
  }
  what = box->items_.front().what;
  box->world_->wake(h, box->items_.front().t);
  box->items_.pop_front();
}

void Mailbox::post() {
  if (senders_.empty()) {
    ++posted_;
    return;
  }
  world_->wake(senders_.front(), world_->now());
  senders_.pop_front();
}

std::size_t Rate::index(double t) const {
  const auto after =
      std::upper_bound(steps_.begin(), steps_.end(), t, [](double x, const Step& s) { return x < s.from; });
  return static_cast<std::size_t>(after - steps_.begin()) - 1;
}

std::size_t Rate::split(double t) {
  const std::size_t i = index(t);
  if (steps_[i].from == t) return i;
  steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(i) + 1, {t, steps_[i].share});
  return i + 1;
}

void Rate::during(double begin, double end, double share) {
  if (end <= begin) return;
  const std::size_t first = split(begin), last = std::isinf(end) ? steps_.size() : split(end);
  for (std::size_t i = first; i < last; ++i) steps_[i].share *= share;
}

double Rate::finish(double t, double work) const {
  if (work <= 0) return t;
  for (std::size_t i = index(t);; ++i) {
    const double share = steps_[i].share;
    if (i + 1 == steps_.size()) return share > 0 ? t + work / share : std::numeric_limits<double>::infinity();
    const double room = (steps_[i + 1].from - t) * share;
    if (room >= work) return t + work / share;
    work -= room;
    t = steps_[i + 1].from;
  }
}

double Rate::next_edge(double t) const {
  const std::size_t i = index(t) + 1;
  return i < steps_.size() ? steps_[i].from : std::numeric_limits<double>::infinity();
}

void Fault::hurt(std::uint32_t leaf, double from, double to, double longer) {
  if (!leaves.contains(leaf) || longer <= 0) return;
  first = std::min(first, std::max(from, begin));
  last = std::max(last, to);
  lost[leaf] += longer;
  const double usual = to - from - longer;
  const double far = std::log((to - from) / std::max(usual, 1e-3 * (to - from))) / deviation;
  squares += far * far;
}

double Core::run(double work) {
  const double begin = world_->now(), end = rate_.finish(begin, work);
  if (faults_.empty() || end <= begin) return end;
  const double longer = end - usual_.finish(begin, work);
  if (longer > 1e-9)
    for (Fault* const f : faults_)
      if (begin < f->end && end > f->begin) f->hurt(leaf_, begin, end, longer);
  return end;
}

double Wire::carry(double t, double bytes, std::initializer_list<std::uint32_t> leaves) {
  const double work = bytes / bytes_per_s_, begin = std::max(t, busy_);
  busy_ = rate_.finish(begin, work);
  for (Fault* const f : faults_)
    if (busy_ - begin > work * 1.001 && begin < f->end && busy_ > f->begin)
      for (const std::uint32_t l : leaves) f->hurt(l, begin, busy_, busy_ - begin - work);
  return busy_ + latency_;
}

double Shared::speed() const {
  const double each = capacity_ / static_cast<double>(std::max<std::size_t>(1, jobs_.size()));
  return rate_.at(since_) * std::min(most_, each);
}

// Between edges and changes of who is there, the speed is constant.
void Shared::advance() {
  had_ += (world_->now() - since_) * speed();
  since_ = world_->now();
}

void Shared::plan() {
  if (jobs_.empty()) return;
  const double v = speed();
  double next = rate_.next_edge(since_);
  if (v > 0) next = std::min(next, since_ + std::max(0.0, jobs_.top().done - had_) / v);
  if (std::isfinite(next)) world_->set(this, next, ++ticket_);
}

void Shared::fire(std::uint64_t ticket) {
  if (ticket != ticket_) return;
  advance();
  // What is left of less than a nanosecond is rounding.
  while (!jobs_.empty() && jobs_.top().done <= had_ + 1e-9 * most_) {
    world_->wake(jobs_.top().handle, world_->now());
    jobs_.pop();
  }
  plan();
}

void Shared::Use::await_suspend(std::coroutine_handle<> h) {
  begin = shared->world_->now();
  shared->advance();
  shared->jobs_.push({shared->had_ + work, shared->order_++, h});
  shared->plan();
}

void Shared::account(std::uint32_t leaf, double begin, double work) {
  const double took = world_->now() - begin, alone = work / most_;
  for (Fault* const f : faults_) {
    const double overlap = std::min(f->end, world_->now()) - std::max(f->begin, begin);
    if (f->acts && overlap > 0 && took > 1.1 * alone)
      f->hurt(leaf, begin, world_->now(), std::min(took - alone, (1 - f->share()) * overlap));
  }
}

}  // namespace margay::bench
