#include "margay/store/commit_queue.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <future>
#include <semaphore>

namespace margay::store {
namespace commit_queue_test {

Cut cut(std::uint64_t sequence) {
  Cut c;
  c.sequence = sequence;
  return c;
}

// Waits (for the queue's own signal, not for time) until `n` results are there.
class Results {
 public:
  std::function<void()> wake() {
    return [this] { signal_.release(); };
  }
  std::vector<CommitResult> take(CommitQueue& queue, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) signal_.acquire();
    std::vector<CommitResult> out;
    while (out.size() < n) queue.poll_results(out);
    return out;
  }

 private:
  std::counting_semaphore<1000> signal_{0};
};

TEST(CommitQueue, HoldsOneInProgressAndOneWaitingAndRefusesTheThird) {
  std::binary_semaphore entered{0};
  std::binary_semaphore go{0};
  Results results;
  CommitQueueOptions options;
  options.wake = results.wake();
  std::string thread_name(16, '\0');
  CommitQueue queue(
      [&](const Cut&, bool sync) -> Status {
        EXPECT_TRUE(sync);
        pthread_getname_np(pthread_self(), thread_name.data(), thread_name.size());
        entered.release();
        go.acquire();
        return {};
      },
      [&] {
        options.sync = true;
        return options;
      }());
  ASSERT_TRUE(queue.try_submit(cut(1)));
  entered.acquire();  // 1 is in progress on a slow disk
  ASSERT_TRUE(queue.try_submit(cut(2)));
  Cut third = cut(3);
  third.alerts.push_back({"kept", "", ""});
  EXPECT_FALSE(queue.try_submit(std::move(third)));
  EXPECT_EQ(third.alerts.size(), 1u) << "a refused cut stays as it was";
  EXPECT_EQ(queue.last_committed(), 0u);
  EXPECT_FALSE(queue.idle());
  go.release();
  entered.acquire();
  go.release();
  const auto done = results.take(queue, 2);
  EXPECT_EQ(done[0].sequence, 1u);
  EXPECT_EQ(done[1].sequence, 2u);
  EXPECT_FALSE(done[0].error);
  EXPECT_EQ(queue.last_committed(), 2u);
  EXPECT_TRUE(queue.stop(seconds(10)));
  EXPECT_TRUE(queue.idle());
  EXPECT_EQ(thread_name.c_str(), std::string("margay-store"));
  EXPECT_FALSE(queue.try_submit(cut(4))) << "stopped";
}

TEST(CommitQueue, FailedCutIsTriedAgainUntilItIsInAndEveryFailureIsReported) {
  Results results;
  CommitQueueOptions options;
  options.first_pause = DurationNs(1000);
  options.longest_pause = DurationNs(4000);
  options.wake = results.wake();
  int failures = 5;
  std::vector<std::uint64_t> written;
  CommitQueue queue(
      [&](const Cut& c, bool) -> Status {
        if (failures-- > 0) return fail(ErrorCode::kIo, "the disk is full");
        written.push_back(c.sequence);
        return {};
      },
      options);
  ASSERT_TRUE(queue.try_submit(cut(1)));
  const auto all = results.take(queue, 6);
  for (std::uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(all[i].error);
    EXPECT_EQ(all[i].error->message, "the disk is full");
    EXPECT_EQ(all[i].attempt, i + 1);
    EXPECT_EQ(all[i].sequence, 1u);
  }
  EXPECT_FALSE(all[5].error);
  ASSERT_TRUE(queue.try_submit(cut(2)));
  EXPECT_TRUE(queue.stop(seconds(10)));
  EXPECT_EQ(written, (std::vector<std::uint64_t>{1, 2})) << "in order, each once";
  EXPECT_EQ(queue.last_committed(), 2u);
}

TEST(CommitQueue, StopGivesUpOnADiskThatStaysFullAndSaysWhy) {
  Results results;
  CommitQueueOptions options;
  options.first_pause = seconds(3600);  // stop must interrupt the pause
  options.wake = results.wake();
  CommitQueue queue([](const Cut&, bool) -> Status { return fail(ErrorCode::kIo, "the disk is full"); },
                    options);
  ASSERT_TRUE(queue.try_submit(cut(1)));
  static_cast<void>(results.take(queue, 1));
  const Status s = queue.stop(DurationNs(0));
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().message, "the disk is full");
  EXPECT_EQ(queue.last_committed(), 0u);
}

TEST(CommitQueue, UnpolledResultsAreBounded) {
  std::uint64_t calls = 0;
  std::promise<void> enough;
  CommitQueueOptions options;
  options.first_pause = DurationNs(1);
  options.longest_pause = DurationNs(1);
  CommitQueue queue(
      [&](const Cut&, bool) -> Status {
        if (++calls < 300) return fail(ErrorCode::kIo, std::to_string(calls));
        if (calls == 300) enough.set_value();
        return {};
      },
      options);
  ASSERT_TRUE(queue.try_submit(cut(1)));
  enough.get_future().wait();
  EXPECT_TRUE(queue.stop(seconds(10)));
  std::vector<CommitResult> out;
  EXPECT_EQ(queue.poll_results(out), CommitQueue::kMostResults);
  EXPECT_FALSE(out.back().error) << "the newest are kept";
  EXPECT_EQ(queue.last_committed(), 1u);
}

TEST(CommitQueue, ManyCutsFromAnotherThreadAllArriveInOrder) {
  std::vector<std::uint64_t> written;
  CommitQueue queue(
      [&](const Cut& c, bool) -> Status {
        written.push_back(c.sequence);
        return {};
      },
      {});
  std::vector<CommitResult> out;
  for (std::uint64_t i = 1; i <= 2000; ++i) {
    while (!queue.try_submit(cut(i))) std::this_thread::yield();
    if (i % 10 == 0) queue.poll_results(out);
  }
  EXPECT_TRUE(queue.stop(seconds(10)));
  ASSERT_EQ(written.size(), 2000u);
  for (std::uint64_t i = 0; i < 2000; ++i) EXPECT_EQ(written[i], i + 1);
}

}  // namespace commit_queue_test
}  // namespace margay::store
