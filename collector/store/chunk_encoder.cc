#include "chunk_encoder.h"

#include <pthread.h>

#include <new>
#include <system_error>

#include "keys.h"
#include "margay/store/column_codec.h"
#include "plane_codec.h"
#include "record_codec.h"

namespace margay::store {

ChunkEncoder::~ChunkEncoder() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (second_.joinable()) second_.join();
}

void ChunkEncoder::begin_anew() {
  if (!done_) return;
  std::size_t room = 0;
  for (const Chunk& c : chunks_) room += c.value.capacity();
  if (room > kKept) chunks_.clear();
  used_ = 0;
  done_ = false;
}

ChunkEncoder::Chunk& ChunkEncoder::next() {
  begin_anew();
  if (used_ == chunks_.size()) chunks_.emplace_back();
  Chunk& c = chunks_[used_++];
  c.column = nullptr;
  c.leaves = {};
  c.slice = {};
  c.in_order = true;
  c.value.clear();
  c.status = {};
  return c;
}

void ChunkEncoder::add(const model::SliceColumn& column, std::uint16_t number, DurationNs slice) {
  Chunk& c = next();
  c.column = &column;
  c.number = number;
  c.slice = slice;
}

void ChunkEncoder::add(std::span<const LeafState> leaves, std::uint16_t number) {
  Chunk& c = next();
  c.leaves = leaves;
  c.number = number;
}

void ChunkEncoder::pack(Chunk& c) {
  std::uint32_t leaf = c.number * kChunkLeaves;
  for (const LeafState& l : c.leaves) c.in_order = c.in_order && l.leaf.value == leaf++;
  if (c.in_order) c.status = encode_packed(c.leaves, c.value);
}

void ChunkEncoder::work() {
  for (std::size_t i; (i = at_.fetch_add(1, std::memory_order_relaxed)) < used_;) {
    Chunk& c = chunks_[i];
    try {
      if (c.column == nullptr)
        pack(c);
      else if (is_plane(c.number))
        c.status = encode_plane(*c.column, c.number - kPlaneChunk, c.value);
      else
        c.status = encode_chunk(*c.column, c.number, c.slice, c.value);
    } catch (const std::bad_alloc&) {
      c.status = fail(ErrorCode::kInternal, "out of memory");
    }
  }
}

// Waits for work until it is told to stop.
void ChunkEncoder::serve() {
  pthread_setname_np(pthread_self(), "margay-encode");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return wanted_ || stopping_; });
    if (stopping_) return;
    wanted_ = false;
    busy_ = true;
    lock.unlock();
    work();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

// False where there is no thread to be had: the caller does all.
bool ChunkEncoder::start() {
  if (!second_.joinable()) try {
      second_ = std::thread([this] { serve(); });
    } catch (const std::system_error&) {
      return false;
    }
  return true;
}

std::span<const ChunkEncoder::Chunk> ChunkEncoder::encode() {
  begin_anew();
  at_.store(0, std::memory_order_relaxed);
  const bool both = used_ >= kWorthAThread && start();
  if (both) {
    const std::lock_guard lock(mutex_);
    wanted_ = true;
    changed_.notify_all();
  }
  work();
  if (both) {
    std::unique_lock lock(mutex_);
    wanted_ = false;  // it did not come to it
    changed_.wait(lock, [this] { return !busy_; });
  }
  done_ = true;
  return std::span(chunks_).first(used_);
}

}  // namespace margay::store
