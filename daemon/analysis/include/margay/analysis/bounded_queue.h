// A queue with a bound between two threads. What does not fit is refused, and the sender decides.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

namespace margay::daemon {

template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  // False, and `value` untouched, when the queue is full.
  bool try_push(T&& value) {
    {
      const std::lock_guard lock(mutex_);
      if (items_.size() >= capacity_) return false;
      items_.push_back(std::move(value));
    }
    changed_.notify_one();
    return true;
  }
  // Waits for room at most `timeout`; false, and `value` untouched, when there was none.
  bool push(T&& value, std::chrono::milliseconds timeout) {
    {
      std::unique_lock lock(mutex_);
      if (!taken_.wait_for(lock, timeout, [&] { return items_.size() < capacity_; })) return false;
      items_.push_back(std::move(value));
    }
    changed_.notify_one();
    return true;
  }
  std::size_t room() const {
    const std::lock_guard lock(mutex_);
    return capacity_ - items_.size();
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }
  std::optional<T> try_pop() {
    std::unique_lock lock(mutex_);
    return items_.empty() ? std::nullopt : take(lock);
  }
  std::optional<T> pop(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [&] { return !items_.empty(); })) return std::nullopt;
    return take(lock);
  }

 private:
  std::optional<T> take(std::unique_lock<std::mutex>& lock) {
    std::optional<T> value(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    taken_.notify_one();
    return value;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable changed_, taken_;
  std::deque<T> items_;
};

}  // namespace margay::daemon
