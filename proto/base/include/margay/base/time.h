// Time: nanoseconds, signed, 64 bits.
//
// Two clocks exist. *Host time* is CLOCK_MONOTONIC of one host, what probes record. *Trace time* is what the
// model, alerts and archives carry: nanoseconds since the Unix epoch, taken once at the start of a run and
// advanced by host time, so that it never jumps when somebody sets the wall clock.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <ctime>

namespace margay {

struct DurationNs {
  std::int64_t value = 0;
  constexpr DurationNs() = default;
  constexpr explicit DurationNs(std::int64_t v) : value(v) {}
  constexpr auto operator<=>(const DurationNs&) const = default;
  constexpr DurationNs operator+(DurationNs o) const { return DurationNs(value + o.value); }
  constexpr DurationNs operator-(DurationNs o) const { return DurationNs(value - o.value); }
  constexpr DurationNs operator*(std::int64_t n) const { return DurationNs(value * n); }
  constexpr DurationNs& operator+=(DurationNs o) {
    value += o.value;
    return *this;
  }
};

struct TimeNs {
  std::int64_t value = 0;
  constexpr TimeNs() = default;
  constexpr explicit TimeNs(std::int64_t v) : value(v) {}
  constexpr auto operator<=>(const TimeNs&) const = default;
  constexpr TimeNs operator+(DurationNs d) const { return TimeNs(value + d.value); }
  constexpr TimeNs operator-(DurationNs d) const { return TimeNs(value - d.value); }
  constexpr DurationNs operator-(TimeNs o) const { return DurationNs(value - o.value); }
};

constexpr DurationNs milliseconds(std::int64_t n) {
  return DurationNs(n * 1'000'000);
}
constexpr DurationNs seconds(std::int64_t n) {
  return DurationNs(n * 1'000'000'000);
}

// Injected wherever code would otherwise ask the machine for the time.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimeNs monotonic() const = 0;  // host time
  virtual TimeNs realtime() const = 0;   // wall clock, nanoseconds since the Unix epoch
  virtual TimeNs processor() const = 0;  // what the calling thread has had of a CPU
};

class SystemClock final : public Clock {
 public:
  TimeNs monotonic() const override {
    return TimeNs(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::steady_clock::now().time_since_epoch())
                      .count());
  }
  TimeNs realtime() const override {
    return TimeNs(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count());
  }
  TimeNs processor() const override {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return TimeNs(t.tv_sec * 1'000'000'000 + t.tv_nsec);
  }
};

class ManualClock final : public Clock {
 public:
  TimeNs mono{};
  TimeNs real{};
  TimeNs used{};
  TimeNs monotonic() const override { return mono; }
  TimeNs realtime() const override { return real; }
  TimeNs processor() const override { return used; }
};

}  // namespace margay
