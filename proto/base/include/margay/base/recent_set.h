// The newest `capacity` different things that were put in: what is older is forgotten, so that a run of weeks
// stays within its bounds.
//
// Thread safety: none. Cost: O(log capacity) an insert; twice the things in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>

namespace margay {

template <class T>
class RecentSet {
 public:
  explicit RecentSet(std::size_t capacity) : capacity_(capacity) {}
  // False if it is in already; its age stays what it is.
  bool insert(T value) {
    if (!members_.insert(value).second) return false;
    order_.push_back(std::move(value));
    ++inserted_;
    if (order_.size() > capacity_) {
      members_.erase(order_.front());
      order_.pop_front();
    }
    return true;
  }
  bool contains(const T& value) const { return members_.contains(value); }
  std::size_t size() const { return members_.size(); }
  std::uint64_t inserted() const { return inserted_; }  // also those that are forgotten

 private:
  std::size_t capacity_;
  std::uint64_t inserted_ = 0;
  std::set<T> members_;
  std::deque<T> order_;  // oldest first
};

}  // namespace margay
