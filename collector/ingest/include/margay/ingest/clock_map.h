// The clock of another machine: its host time becomes trace time. Pure.
//
// Each sample says that a host time was a trace time, give or take its error: half of the round trip of a
// question and its answer (Cristian's bound; the truth lies inside). The map follows the samples with the
// smallest errors: their offset and drift by least squares, reached over `kSlew` without a jump, so that
// times of one source keep their order. Only where a sample contradicts the map by more than its error and
// kStep (the machine was suspended, or its first clock was a guess) it jumps, and counts that.
//
// Thread safety: none. Cost: to_trace a few nanoseconds; add O(kMostSamples).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "margay/base/time.h"

namespace margay::ingest {

struct ClockSample {
  TimeNs host{};       // CLOCK_MONOTONIC of that machine
  TimeNs trace{};      // trace time then
  DurationNs error{};  // at most, each way
};

class ClockMap {
 public:
  static constexpr std::size_t kMostSamples = 32;
  static constexpr std::size_t kMostSegments = 16;  // older times are mapped by the oldest one kept
  static constexpr DurationNs kSlew = seconds(2);
  static constexpr DurationNs kStep = milliseconds(50);
  static constexpr std::int64_t kMostDriftPpb = 500'000;  // of a clock that somebody disciplines

  // Trace time less host time, as far as it is known before the first sample.
  ClockMap(DurationNs offset, DurationNs error);

  TimeNs to_trace(TimeNs host) const;
  void add(const ClockSample& sample);

  bool known() const { return !samples_.empty(); }
  DurationNs offset_at(TimeNs host) const { return to_trace(host) - host; }
  DurationNs error() const { return error_; }  // of the best samples
  std::int64_t drift_ppb() const { return drift_ppb_; }
  std::uint64_t steps() const { return steps_; }

 private:
  // From `begin` on: trace + (host - begin) * (1 + ppb / 1e9).
  struct Segment {
    TimeNs begin{};
    TimeNs trace{};
    std::int64_t ppb = 0;
    TimeNs at(TimeNs host) const;
  };
  struct Line {
    TimeNs host{};
    TimeNs trace{};
    std::int64_t ppb = 0;
  };
  Line fit() const;
  void cut_after(TimeNs host);

  std::deque<ClockSample> samples_;
  std::vector<Segment> segments_;  // by begin; never empty
  DurationNs error_{};
  std::int64_t drift_ppb_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace margay::ingest
