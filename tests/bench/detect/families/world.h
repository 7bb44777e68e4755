// A world for made-up programs: an event queue with processes as coroutines, and the physical things that
// they use: cores, wires, and servers that are shared. A fault changes a speed (Rate) of one of these and
// nothing else: what it does to the program follows. No files, no clock; the same in every run. Times in
// seconds.
//
// A process is a coroutine that takes its arguments by value or by pointer; what these point to outlives the
// World. Cost: O(log processes) an event. Thread safety: none.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace margay::bench {

class Process {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;
  struct promise_type {
    Process get_return_object() { return Process(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(Handle h) noexcept {
        return h.promise().after ? h.promise().after : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
    std::coroutine_handle<> after;
  };
  Process(Process&& o) noexcept : handle_(std::exchange(o.handle_, {})) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  Process& operator=(Process&&) = delete;
  ~Process() {
    if (handle_) handle_.destroy();
  }
  // A process may await another: it goes on when that has ended.
  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) {
    handle_.promise().after = h;
    return handle_;
  }
  void await_resume() const {}
  Handle handle() const { return handle_; }

 private:
  explicit Process(Handle h) : handle_(h) {}
  Handle handle_;
};

// From then on the leaf is in this state, until its next change.
struct Change {
  double at;
  std::uint16_t state;
};

class World {
 public:
  // Something that is to be called at a time; tickets tell what is out of date.
  class Timer {
   public:
    virtual void fire(std::uint64_t ticket) = 0;

   protected:
    ~Timer() = default;
  };
  World(std::uint32_t leaves, double end) : end_(end), changes_(leaves) {}

  double now() const { return now_; }
  double end() const { return end_; }
  void start(Process p) {
    wake(p.handle(), now_);
    processes_.push_back(std::move(p));
    if (processes_.size() < room_) return;
    forget_ended();
    room_ = 2 * processes_.size() + 64;
  }
  void wake(std::coroutine_handle<> h, double t) {
    events_.push({std::max(t, now_), order_++, h, nullptr, 0});
  }
  void set(Timer* timer, double t, std::uint64_t ticket) {
    events_.push({std::max(t, now_), order_++, {}, timer, ticket});
  }
  // To the end.
  void run();

  struct Until {
    World* world;
    double t;
    bool await_ready() const { return t <= world->now_; }
    void await_suspend(std::coroutine_handle<> h) const { world->wake(h, t); }
    void await_resume() const {}
  };
  Until until(double t) { return {this, t}; }
  Until sleep(double seconds) { return {this, now_ + seconds}; }

  // The leaf is in this state from now on. What was entered at the same time before it is forgotten.
  void enter(std::uint32_t leaf, std::uint16_t state);
  const std::vector<std::vector<Change>>& changes() const { return changes_; }

 private:
  struct Event {
    double t;
    std::uint64_t order;
    std::coroutine_handle<> handle;
    Timer* timer;
    std::uint64_t ticket;
    bool operator<(const Event& o) const { return t != o.t ? t > o.t : order > o.order; }
  };
  void forget_ended();
  double now_ = 0, end_;
  std::uint64_t order_ = 0;
  std::size_t room_ = 64;
  std::priority_queue<Event> events_;
  std::deque<Process> processes_;
  std::vector<std::vector<Change>> changes_;
};

// Many wait for one moment.
class Gate {
 public:
  explicit Gate(World* world) : world_(world) {}
  struct Wait {
    Gate* gate;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> h) const { gate->waiting_.push_back(h); }
    void await_resume() const {}
  };
  Wait wait() { return {this}; }
  void open(double t) {
    for (const auto h : waiting_) world_->wake(h, t);
    waiting_.clear();
  }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  World* world_;
  std::vector<std::coroutine_handle<>> waiting_;
};

// So many may hold it at once; first come, first served.
class Slots {
 public:
  Slots(World* world, std::size_t free) : world_(world), free_(free) {}
  struct Acquire {
    Slots* slots;
    bool await_ready() const { return slots->free_ > 0 && (--slots->free_, true); }
    void await_suspend(std::coroutine_handle<> h) const { slots->waiting_.push_back(h); }
    void await_resume() const {}
  };
  Acquire acquire() { return {this}; }
  void release() {
    if (waiting_.empty()) {
      ++free_;
      return;
    }
    world_->wake(waiting_.front(), world_->now());
    waiting_.pop_front();
  }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  World* world_;
  std::size_t free_;
  std::deque<std::coroutine_handle<>> waiting_;
};

// What is put in is taken out in the order in which it arrives, by whoever waited longest.
class Mailbox {
 public:
  explicit Mailbox(World* world) : world_(world) {}
  // It arrives at t.
  void put(std::uint64_t what, double t);
  void put(std::uint64_t what) { put(what, world_->now()); }
  struct Take {
    Mailbox* box;
    std::uint64_t what = 0;
    bool await_ready();
    void await_suspend(std::coroutine_handle<> h);
    std::uint64_t await_resume() const { return what; }
  };
  // Cost: O(items that arrive later than the new one).
  Take take() { return {this}; }
  // A sender of what is large waits until a receive is posted. Each post serves one.
  void post();
  struct Posted {
    Mailbox* box;
    bool await_ready() const { return box->posted_ > 0 && (--box->posted_, true); }
    void await_suspend(std::coroutine_handle<> h) const { box->senders_.push_back(h); }
    void await_resume() const {}
  };
  Posted posted() { return {this}; }
  std::size_t size() const { return items_.size(); }

 private:
  struct Item {
    double t;
    std::uint64_t what;
  };
  struct Waiter {
    std::coroutine_handle<> handle;
    Take* take;
  };
  World* world_;
  std::deque<Item> items_;
  std::deque<Waiter> takers_;
  std::deque<std::coroutine_handle<>> senders_;
  std::size_t posted_ = 0;
};

// How fast something is, as a share of its nominal speed: constant but at its edges.
class Rate {
 public:
  // Slower by this factor in [begin, end), on top of what was said before; 0: nothing goes on.
  void during(double begin, double end, double share);
  double at(double t) const { return steps_[index(t)].share; }
  // When work of so many seconds at nominal speed is done that begins at t.
  double finish(double t, double work) const;
  // The first edge after t; infinite if there is none.
  double next_edge(double t) const;

 private:
  struct Step {
    double from, share;
  };
  std::size_t index(double t) const;
  std::size_t split(double t);  // the step that begins at t, made if need be
  std::vector<Step> steps_{{-std::numeric_limits<double>::infinity(), 1}};
};

// A fault, planned and as it was: `first`, `last` and `lost` are told by what it was put on.
struct Fault {
  std::string kind;
  double begin = 0, end = 0, factor = 1;  // so many times as long takes what is hurt; 0: it stops
  bool acts = true;                       // false: the quiet twin
  std::set<std::uint32_t> leaves;
  std::vector<std::set<std::uint32_t>> alternatives;
  double first = std::numeric_limits<double>::infinity(), last = -first;
  std::map<std::uint32_t, double> lost;  // seconds of each leaf
  // By how much chance alone varies the logarithm of what is hurt; and how far the visits that were hurt are
  // from chance, in squares of that.
  double deviation = 0.05, squares = 0;

  double share() const { return factor <= 0 ? 0 : 1 / factor; }
  void put_on(Rate& rate) const {
    if (acts) rate.during(begin, end, share());
  }
  // The leaf was at something in [from, to) that took so much longer than without the fault.
  void hurt(std::uint32_t leaf, double from, double to, double longer);
};

// A core that one leaf has to itself: noise is part of its usual rate.
class Core {
 public:
  Core(World* world, std::uint32_t leaf) : world_(world), leaf_(leaf) {}
  void slow(Fault* fault) {
    fault->put_on(rate_);
    faults_.push_back(fault);
  }
  // As any fault, but how it goes on is told in steps.
  void slow(Fault* fault, double begin, double end, double share) {
    if (fault->acts) rate_.during(begin, end, share);
    if (faults_.empty() || faults_.back() != fault) faults_.push_back(fault);
  }
  // What is so without any fault.
  void usually(double begin, double end, double share) {
    rate_.during(begin, end, share);
    usual_.during(begin, end, share);
  }
  // When work (s, at nominal speed) is done that begins now.
  double run(double work);

 private:
  World* world_;
  std::uint32_t leaf_;
  Rate rate_, usual_;
  std::vector<Fault*> faults_;
};

// What carries one thing after the other: a link, a network card, a disk without a queue of its own.
class Wire {
 public:
  Wire(double bytes_per_s, double latency_s) : bytes_per_s_(bytes_per_s), latency_(latency_s) {}
  void slow(Fault* fault) {
    fault->put_on(rate_);
    faults_.push_back(fault);
  }
  // When all of it has arrived that is put on at t, for the sake of these leaves.
  double carry(double t, double bytes, std::initializer_list<std::uint32_t> leaves);

 private:
  double bytes_per_s_, latency_, busy_ = 0;
  Rate rate_;
  std::vector<Fault*> faults_;
};

// Cores, a disk or a file system that are shared alike by all that use it at a time, none of which goes
// faster than `most` of the `capacity` (both in work a second).
class Shared final : private World::Timer {
 public:
  Shared(World* world, double capacity, double most) : world_(world), capacity_(capacity), most_(most) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  void slow(Fault* fault) {
    fault->put_on(rate_);
    faults_.push_back(fault);
  }
  // Without telling the fault what it cost.
  void slow_untold(const Fault& fault) { fault.put_on(rate_); }
  void usually(double begin, double end, double share) { rate_.during(begin, end, share); }
  struct Use {
    Shared* shared;
    std::uint32_t leaf;
    double work, begin = 0;
    bool await_ready() const { return work <= 0; }
    void await_suspend(std::coroutine_handle<> h);
    void await_resume() const {
      if (work > 0) shared->account(leaf, begin, work);
    }
  };
  Use use(std::uint32_t leaf, double work) { return {this, leaf, work}; }
  std::size_t users() const { return jobs_.size(); }

 private:
  struct Job {
    double done;  // when everyone has had so much, it is
    std::uint64_t order;
    std::coroutine_handle<> handle;
    bool operator<(const Job& o) const { return done != o.done ? done > o.done : order > o.order; }
  };
  void fire(std::uint64_t ticket) override;
  void advance();
  void plan();
  double speed() const;
  void account(std::uint32_t leaf, double begin, double work);
  World* world_;
  double capacity_, most_;
  Rate rate_;
  std::vector<Fault*> faults_;
  std::priority_queue<Job> jobs_;
  double had_ = 0, since_ = 0;  // by each that was there all the time, until then
  std::uint64_t ticket_ = 0, order_ = 0;
};

}  // namespace margay::bench
