// A map from texts to numbers that neither allocates nor copies to look one up: open addressing, linear
// probing, the texts in an arena. Nothing is ever taken out. Pure.
//
// A key is a text and a scope, so that one map holds the names of many tables. Cost: one probe or two; per
// key its text and about 40 bytes. Thread safety: none.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace margay::trace::paje {

inline constexpr std::uint32_t kNone = 0xffffffff;

class NameMap {
 public:
  NameMap() : slots_(64, kNone) {}

  // kNone: not there.
  std::uint32_t find(std::string_view text, std::uint32_t scope) const {
    const std::uint32_t hash = hash_of(text, scope);
    for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at] == kNone) return kNone;
      const Entry& e = entries_[slots_[at]];
      if (e.hash == hash && e.scope == scope && std::string_view(e.text, e.size) == text) return e.value;
    }
  }
  // Replaces the value of a key that is there.
  void put(std::string_view text, std::uint32_t scope, std::uint32_t value) {
    const std::uint32_t hash = hash_of(text, scope);
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at] != kNone; at = (at + 1) & (slots_.size() - 1)) {
      Entry& e = entries_[slots_[at]];
      if (e.hash == hash && e.scope == scope && std::string_view(e.text, e.size) == text) {
        e.value = value;
        return;
      }
    }
    slots_[at] = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back({kept(text), static_cast<std::uint32_t>(text.size()), hash, scope, value});
    if (entries_.size() * 2 > slots_.size()) grow();
  }
  // Puts it only where nothing is.
  void put_first(std::string_view text, std::uint32_t scope, std::uint32_t value) {
    if (find(text, scope) == kNone) put(text, scope, value);
  }
  std::size_t size() const { return entries_.size(); }
  // Of the texts.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    const char* text;
    std::uint32_t size, hash, scope, value;
  };
  static constexpr std::size_t kArena = 64 << 10;

  static std::uint32_t hash_of(std::string_view text, std::uint32_t scope) {
    std::uint64_t h = (scope + 1) * 0x9e3779b97f4a7c15ull ^ text.size();
    const char* p = text.data();
    std::size_t n = text.size();
    const auto mix = [&h](std::uint64_t word) {
      const auto product = static_cast<unsigned __int128>(h ^ word) * 0xd6e8feb86659fd93ull;
      h = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    for (; n >= 8; p += 8, n -= 8) {
      std::uint64_t word;
      std::memcpy(&word, p, 8);
      mix(word);
    }
    std::uint64_t word = 0;
    if (n > 0) std::memcpy(&word, p, n);
    mix(word);
    return static_cast<std::uint32_t>(h ^ (h >> 32));
  }
  const char* kept(std::string_view text) {
    bytes_ += text.size();
    if (text.size() > arena_left_) {
      arena_left_ = text.size() > kArena ? text.size() : kArena;
      arena_.push_back(std::make_unique<char[]>(arena_left_));
      arena_at_ = arena_.back().get();
    }
    char* const to = arena_at_;
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    arena_at_ += text.size();
    arena_left_ -= text.size();
    return to;
  }
  void grow() {
    std::vector<std::uint32_t> slots(slots_.size() * 2, kNone);
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      std::size_t at = entries_[i].hash & (slots.size() - 1);
      while (slots[at] != kNone) at = (at + 1) & (slots.size() - 1);
      slots[at] = i;
    }
    slots_ = std::move(slots);
  }

  std::vector<std::uint32_t> slots_;  // entry, or kNone; a power of two, at most half full
  std::vector<Entry> entries_;
  std::vector<std::unique_ptr<char[]>> arena_;
  char* arena_at_ = nullptr;
  std::size_t arena_left_ = 0, bytes_ = 0;
};

}  // namespace margay::trace::paje
