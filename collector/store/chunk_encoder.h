// Encodes the chunks of a cut: of its columns, of their measured planes, and of where its leaves stand. Many
// of them in two threads, for at 100,000 leaves that is what a commit takes its time for. The second thread,
// and the room for the values, stay from cut to cut: to make them anew costs as much as to use them.
//
// Thread safety: for one thread at a time; its own second thread touches nothing else than the chunks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "margay/base/result.h"
#include "margay/model/slice_column.h"
#include "margay/store/records.h"

namespace margay::store {

class ChunkEncoder {
 public:
  struct Chunk {
    const model::SliceColumn* column = nullptr;  // null: of `leaves`
    std::span<const LeafState> leaves;
    bool in_order = true;      // these are leaves 1024 x number and so on; if not, they have no value
    std::uint16_t number = 0;  // as in its key
    DurationNs slice;
    std::string value;
    Status status;
  };
  static constexpr std::size_t kMost = 256;  // chunks at once

  ~ChunkEncoder();
  bool full() const { return used_ == kMost; }
  // What is given must live until encode() returns.
  void add(const model::SliceColumn& column, std::uint16_t number, DurationNs slice);
  void add(std::span<const LeafState> leaves, std::uint16_t number);
  // The chunks that were added, each with a value or an error in its status; good until add() is called
  // again, which begins anew.
  std::span<const Chunk> encode();

 private:
  static constexpr std::size_t kWorthAThread = 16;
  static constexpr std::size_t kKept = std::size_t{16} << 20;  // bytes of room for values
  void begin_anew();
  Chunk& next();
  static void pack(Chunk& c);
  void work();
  bool start();
  void serve();

  std::vector<Chunk> chunks_;
  std::size_t used_ = 0;
  bool done_ = false;
  std::atomic<std::size_t> at_{0};  // the next one to encode

  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false, stopping_ = false;  // guarded by mutex_, like the next
  bool busy_ = false;                       // the second thread is at work
  std::thread second_;
};

}  // namespace margay::store
