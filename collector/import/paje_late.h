// Lines that are held back until no earlier one can come: a heap by time and number, the texts in blocks
// that go when all their lines have gone. Pure.
//
// Thread safety: none. Cost: O(log held) a line; its text and about 40 bytes while it is held.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace margay::trace::paje {

class LateLines {
 public:
  struct Line {
    std::int64_t time_ns = 0;
    std::uint64_t number = 0;
    std::string_view text;  // valid until pop
  };

  void push(std::int64_t time_ns, std::uint64_t number, std::string_view text) {
    if (blocks_.empty() || blocks_.back().text.size() + text.size() > kBlock) {
      blocks_.emplace_back();
      blocks_.back().text.reserve(std::max(kBlock, text.size()));
      bytes_ += blocks_.back().text.capacity();
    }
    Block& block = blocks_.back();
    heap_.push_back({time_ns, number, first_block_ + blocks_.size() - 1, block.text.size(), text.size()});
    block.text.append(text);  // within what was reserved: it never moves
    ++block.lines;
    std::push_heap(heap_.begin(), heap_.end(), Later());
  }
  bool empty() const { return heap_.empty(); }
  std::int64_t earliest() const { return heap_.front().time_ns; }
  Line top() const {
    const Held& h = heap_.front();
    return {h.time_ns, h.number,
            std::string_view(blocks_[h.block - first_block_].text).substr(h.begin, h.size)};
  }
  void pop() {
    const std::uint64_t block = heap_.front().block;
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    heap_.pop_back();
    --blocks_[block - first_block_].lines;
    while (blocks_.size() > 1 && blocks_.front().lines == 0) {
      bytes_ -= blocks_.front().text.capacity();
      blocks_.pop_front();
      ++first_block_;
    }
  }
  // What is held takes.
  std::size_t bytes() const { return bytes_ + heap_.size() * sizeof(Held); }

 private:
  static constexpr std::size_t kBlock = 64 << 10;
  struct Block {
    std::string text;
    std::uint64_t lines = 0;  // that are still held
  };
  struct Held {
    std::int64_t time_ns;
    std::uint64_t number, block;
    std::size_t begin, size;
  };
  struct Later {
    bool operator()(const Held& a, const Held& b) const {
      return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.number > b.number;
    }
  };

  std::deque<Block> blocks_;
  std::uint64_t first_block_ = 0;
  std::vector<Held> heap_;
  std::size_t bytes_ = 0;
};

}  // namespace margay::trace::paje
