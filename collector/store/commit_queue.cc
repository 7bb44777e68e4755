#include "margay/store/commit_queue.h"

#include <pthread.h>

#include <algorithm>

namespace margay::store {

CommitQueue::CommitQueue(Writer writer, CommitQueueOptions options)
    : writer_(std::move(writer)), options_(std::move(options)), thread_([this] { run(); }) {}

CommitQueue::~CommitQueue() {
  static_cast<void>(stop(DurationNs(0)));
}

bool CommitQueue::try_submit(Cut&& cut) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_ || stopping_) return false;
    waiting_.emplace(std::move(cut));
  }
  changed_.notify_one();
  return true;
}

bool CommitQueue::has_room() const {
  const std::lock_guard lock(mutex_);
  return !waiting_ && !stopping_;
}

std::size_t CommitQueue::poll_results(std::vector<CommitResult>& out) {
  const std::lock_guard lock(mutex_);
  const std::size_t n = results_.size();
  std::move(results_.begin(), results_.end(), std::back_inserter(out));
  results_.clear();
  return n;
}

bool CommitQueue::idle() const {
  const std::lock_guard lock(mutex_);
  return !waiting_ && !busy_;
}

Status CommitQueue::stop(DurationNs patience) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      stopping_ = true;
      give_up_ = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience.value);
    }
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  if (unwritten_) return fail(unwritten_->code, unwritten_->message);
  return {};
}

void CommitQueue::report(CommitResult result) {
  {
    const std::lock_guard lock(mutex_);
    if (results_.size() == kMostResults) results_.pop_front();
    results_.push_back(std::move(result));
  }
  if (options_.wake) options_.wake();
}

void CommitQueue::run() {
  pthread_setname_np(pthread_self(), "margay-store");
  using Steady = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return waiting_ || stopping_; });
    if (!waiting_) return;
    const Cut cut = std::move(*waiting_);
    waiting_.reset();
    busy_ = true;
    std::int64_t pause = std::max<std::int64_t>(1, options_.first_pause.value);
    for (std::uint32_t attempt = 1;; ++attempt) {
      lock.unlock();
      const auto begin = Steady::now();
      const Status status = writer_(cut, options_.sync);
      const DurationNs latency(
          std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now() - begin).count());
      if (status) last_committed_.store(cut.sequence, std::memory_order_release);
      report({cut.sequence, status ? std::nullopt : std::optional(status.error()), attempt, latency});
      lock.lock();
      if (status) break;
      // Until the pause is over; once stopping, no longer than the caller's patience.
      const auto next = Steady::now() + std::chrono::nanoseconds(pause);
      changed_.wait_until(lock, next, [&] { return stopping_; });
      if (stopping_) {
        if (Steady::now() >= give_up_) {
          unwritten_ = status.error();
          waiting_.reset();
          busy_ = false;
          return;
        }
        changed_.wait_until(lock, std::min(next, give_up_), [] { return false; });
      }
      pause = std::min(2 * pause, std::max<std::int64_t>(1, options_.longest_pause.value));
    }
    busy_ = false;
  }
}

}  // namespace margay::store
