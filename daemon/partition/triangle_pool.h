// Triangles that are taken and given back, within a number of bytes. Private to the module.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "batch_model.h"

namespace margay::partition::internal {

class TrianglePool {
 public:
  using Slot = std::uint32_t;

  // Made in chunks of at most `most` triangles and some 4 MiB.
  TrianglePool(std::size_t entries, std::size_t most, std::uint64_t bytes)
      : entries_(entries),
        per_chunk_(std::clamp<std::size_t>((std::size_t{4} << 20) / (entries * sizeof(double)), 1, most)),
        chunks_left_(bytes / (per_chunk_ * entries * sizeof(double))) {}

  std::optional<Slot> take() {
    if (free_.empty()) {
      if (chunks_left_ == 0) return std::nullopt;
      --chunks_left_;
      chunks_.emplace_back(per_chunk_ * entries_);
      for (std::size_t i = per_chunk_; i-- > 0;) {
        free_.push_back(static_cast<Slot>((chunks_.size() - 1) * per_chunk_ + i));
      }
    }
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give(Slot slot) { free_.push_back(slot); }
  double* at(Slot slot) { return chunks_[slot / per_chunk_].data() + slot % per_chunk_ * entries_; }
  const double* at(Slot slot) const {
    return chunks_[slot / per_chunk_].data() + slot % per_chunk_ * entries_;
  }

 private:
  std::size_t entries_, per_chunk_;
  std::uint64_t chunks_left_;
  std::vector<Triangles> chunks_;
  std::vector<Slot> free_;
};

}  // namespace margay::partition::internal
