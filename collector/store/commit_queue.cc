#include "margay/store/commit_queue.h"

#include <pthread.h>

#include <algorithm>

namespace margay::store {

CommitQueue::CommitQueue(Writer writer, CommitQueueOptions options)
    : writer_(std::move(writer)), options_(std::move(options)) {
  if (!options_.stepped) thread_ = std::thread([this] { run(); });
}

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
  return !waiting_ && !writing_;
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
  if (options_.stepped && patience > DurationNs(0))
    while (write_next() && !unwritten_) {
    }
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

// Writes `writing_`, or the cut that waits. False: an error.
bool CommitQueue::try_once(std::unique_lock<std::mutex>& lock) {
  if (!writing_) {
    writing_ = std::exchange(waiting_, std::nullopt);
    attempt_ = 0;
  }
  ++attempt_;
  lock.unlock();
  const auto begin = std::chrono::steady_clock::now();
  const Status status = writer_(*writing_, options_.sync);
  const DurationNs latency(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count());
  if (status) last_committed_.store(writing_->sequence, std::memory_order_release);
  report({writing_->sequence, status ? std::nullopt : std::optional(status.error()), attempt_, latency});
  lock.lock();
  unwritten_.reset();
  if (status)
    writing_.reset();
  else
    unwritten_ = status.error();
  return status.has_value();
}

bool CommitQueue::write_next() {
  std::unique_lock lock(mutex_);
  if (!writing_ && !waiting_) return false;
  static_cast<void>(try_once(lock));
  return true;
}

void CommitQueue::run() {
  pthread_setname_np(pthread_self(), "margay-store");
  using Steady = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return waiting_ || stopping_; });
    if (!waiting_) return;
    std::int64_t pause = std::max<std::int64_t>(1, options_.first_pause.value);
    while (!try_once(lock)) {
      // Until the pause is over; once stopping, no longer than the caller's patience.
      const auto next = Steady::now() + std::chrono::nanoseconds(pause);
      changed_.wait_until(lock, next, [&] { return stopping_; });
      if (stopping_) {
        if (Steady::now() >= give_up_) {
          waiting_.reset();
          writing_.reset();
          return;
        }
        changed_.wait_until(lock, std::min(next, give_up_), [] { return false; });
      }
      pause = std::min(2 * pause, std::max<std::int64_t>(1, options_.longest_pause.value));
    }
  }
}

}  // namespace margay::store
