// An example of margay/annotate.h: a made-up player. A reader, four decoders and a display, 25 frames a
// second; each names what it does. Where asked to, one decoder becomes slow for two seconds. See what that
// does to the others:
//
//   margay run -- build/release/tests/examples/player [--seconds 20] [--slow-at 12]
//
// The states "wait for ..." are those in which a thread waits for another one: tell Margay with
//   --idle-state 'wait for input' --idle-state 'wait for room' --idle-state 'wait for a frame'
#include <margay/annotate.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A queue with room for a few frames. Who waits says for what.
class Queue {
 public:
  Queue(std::size_t room, const char* waits_to_put, const char* waits_to_take)
      : room_(room), waits_to_put_(waits_to_put), waits_to_take_(waits_to_take) {}

  void put(int frame) {
    std::unique_lock lock(mutex_);
    if (frames_.size() >= room_) {
      const margay::State waits(waits_to_put_);
      changed_.wait(lock, [&] { return frames_.size() < room_; });
    }
    frames_.push_back(frame);
    changed_.notify_all();
  }
  // Negative: there are no more.
  int take() {
    std::unique_lock lock(mutex_);
    if (frames_.empty()) {
      const margay::State waits(waits_to_take_);
      changed_.wait(lock, [&] { return !frames_.empty(); });
    }
    const int frame = frames_.front();
    if (frame >= 0) frames_.pop_front();  // the end stays, for the other decoders
    changed_.notify_all();
    return frame;
  }

 private:
  const std::size_t room_;
  const char* const waits_to_put_;
  const char* const waits_to_take_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int> frames_;
};

void work(milliseconds duration) {
  for (const auto end = Clock::now() + duration; Clock::now() < end;)
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

constexpr int kDecoders = 4;
constexpr milliseconds kFrame(40);

}  // namespace

int main(int argc, char** argv) {
  double seconds = 20, slow_at = -1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::atof(argv[i + 1]);
    if (std::strcmp(argv[i], "--slow-at") == 0) slow_at = std::atof(argv[i + 1]);
  }
  if (argc % 2 == 0 || !(seconds > 0 && seconds <= 86400)) {
    std::cerr << "usage: player [--seconds 20] [--slow-at 12]\n";
    return 2;
  }
  const int frames = static_cast<int>(seconds * 1000 / static_cast<double>(kFrame.count()));
  Queue packets(8, "wait for room", "wait for input"), pictures(8, "wait for room", "wait for a frame");
  const auto begin = Clock::now();

  std::thread reader([&] {
    for (int i = 0; i < frames; ++i) {
      {
        const margay::State reads("read");
        work(milliseconds(2));
      }
      packets.put(i);
    }
    packets.put(-1);
  });
  std::vector<std::thread> decoders;
  for (int d = 0; d < kDecoders; ++d)
    decoders.emplace_back([&, d] {
      for (int frame; (frame = packets.take()) >= 0;) {
        {
          const margay::State decodes("decode");
          const double now = std::chrono::duration<double>(Clock::now() - begin).count();
          const bool slow = d == 2 && slow_at >= 0 && now >= slow_at && now < slow_at + 2;
          work(milliseconds(slow ? 200 : 10));
        }
        pictures.put(frame);
      }
    });
  int shown = 0;
  for (auto due = begin; shown < frames; ++shown) {
    pictures.take();
    {
      const margay::State sleeps("sleep until the frame is due");
      std::this_thread::sleep_until(due += kFrame);
    }
    const margay::State shows("show");
    work(milliseconds(2));
  }
  reader.join();
  for (std::thread& d : decoders) d.join();
  std::cout << shown << " frames in " << std::chrono::duration<double>(Clock::now() - begin).count()
            << " s\n";
}
