// Writes cuts on a thread of its own ("margay-store"), so that the stage that makes them never waits for a
// disk; or, for who steps a daemon by hand (a simulation), in write_next().
//
// Bounded: one cut is being written and one waits; `try_submit` refuses a third. A refused cut is not lost:
// cuts hold absolute values, so the caller simply goes on and offers a newer one later. A cut whose writing
// fails is kept and tried again, with growing pauses, until it succeeds or the queue is stopped; each failure
// is reported. Nothing may be acknowledged to a source before its cut's sequence is in last_committed().
//
// Thread safety: has_room, try_submit, poll_results and stop are for one thread, the owner; last_committed
// for any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/store/records.h"

namespace margay::store {

struct CommitResult {
  std::uint64_t sequence = 0;
  std::optional<Error> error;  // nothing: committed; else it will be tried again
  std::uint32_t attempt = 1;   // 1 for the first
  DurationNs latency{};        // of this attempt
};

struct CommitQueueOptions {
  bool sync = false;
  bool stepped = false;                       // no thread: write_next() writes
  DurationNs first_pause = milliseconds(50);  // after a failure; doubles up to longest_pause
  DurationNs longest_pause = seconds(5);
  // Called on the store's thread after each result is there to be polled (write to an eventfd, for example).
  // Must not block and must not call the queue.
  std::function<void()> wake;
};

class CommitQueue {
 public:
  // Results that were not polled: beyond this many the oldest go. A commit that goes unseen is told by any
  // later one and by last_committed(), since sequences grow.
  static constexpr std::size_t kMostResults = 64;

  // Writes one cut; called on the store's thread only. For an archive: its commit().
  using Writer = std::function<Status(const Cut&, bool sync)>;

  CommitQueue(Writer writer, CommitQueueOptions options);
  // Stops without waiting for a failing disk: like stop(0).
  ~CommitQueue();
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  // Takes the cut, or returns false and leaves it as it was (another one waits, or the queue was stopped).
  // Never blocks on the disk.
  bool try_submit(Cut&& cut);
  // False when try_submit would refuse: no need to make a cut.
  bool has_room() const;
  // Appends the results so far, oldest first; returns how many.
  std::size_t poll_results(std::vector<CommitResult>& out);
  // The greatest sequence that is in the archive through this queue; 0 for none.
  std::uint64_t last_committed() const { return last_committed_.load(std::memory_order_acquire); }
  // True when every cut that was taken is committed.
  bool idle() const;

  // REQUIRES: options.stepped. Tries once to write the oldest cut that is not committed. False: there is
  // none.
  bool write_next();

  // Takes no more cuts, writes those it has for at most `patience` more (a write in progress is waited for
  // in any case) and ends the thread. Error: the last one of the cut that could not be written (kIo ...).
  Status stop(DurationNs patience);

 private:
  void run();
  bool try_once(std::unique_lock<std::mutex>& lock);
  void report(CommitResult result);

  const Writer writer_;
  const CommitQueueOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Cut> waiting_;
  std::deque<CommitResult> results_;
  std::optional<Cut> writing_;  // is being written or tried again; set under mutex_, read by who writes
  std::uint32_t attempt_ = 0;
  bool stopping_ = false;
  std::chrono::steady_clock::time_point give_up_{};  // meaningful once stopping_
  std::optional<Error> unwritten_;                   // why the last attempt failed
  std::atomic<std::uint64_t> last_committed_{0};
  std::thread thread_;
};

}  // namespace margay::store
