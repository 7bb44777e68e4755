// What was made last, by key: the least recently used goes first. Bounded by bytes and number. Thread safety:
// none.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

namespace margay::daemon {

template <class T>
class RecentCache {
 public:
  explicit RecentCache(std::size_t most) : most_(most) {}

  // Null where there is none. Cost: a look at each.
  std::shared_ptr<T> find(const std::string& key) {
    for (auto it = items_.begin(); it != items_.end(); ++it)
      if (it->key == key) {
        items_.splice(items_.begin(), items_, it);
        return it->value;
      }
    return nullptr;
  }
  // The one used last that is so; it is the caller's from then on. Null where there is none.
  template <class Is>
  std::shared_ptr<T> take(Is is) {
    for (auto it = items_.begin(); it != items_.end(); ++it)
      if (is(*it->value)) {
        auto value = std::move(it->value);
        bytes_ -= it->bytes;
        items_.erase(it);
        return value;
      }
    return nullptr;
  }
  void put(const std::string& key, std::shared_ptr<T> value, std::uint64_t bytes) {
    items_.push_front({key, std::move(value), bytes});
    bytes_ += bytes;
  }
  // Down to so many bytes; the `keep` used last stay whatever they take.
  void shrink(std::uint64_t bytes, std::size_t keep) {
    while (items_.size() > keep && (bytes_ > bytes || items_.size() > most_)) {
      bytes_ -= items_.back().bytes;
      items_.pop_back();
    }
  }
  std::uint64_t bytes() const { return bytes_; }
  std::size_t size() const { return items_.size(); }

 private:
  struct Item {
    std::string key;
    std::shared_ptr<T> value;
    std::uint64_t bytes = 0;
  };
  const std::size_t most_;
  std::list<Item> items_;  // the one used last first
  std::uint64_t bytes_ = 0;
};

}  // namespace margay::daemon
