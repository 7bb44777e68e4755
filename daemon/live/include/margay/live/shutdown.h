// The end of a run, step by step: who is waited for, and until when.
//
//   kNone --begin()--> kSources: until all sources have ended, or nothing comes any more
//         --said_end()--> kAnalysis: the last slice and the end are with the analysis
//         --analysed()--> kArchive: its last findings are in the last cut, which is to be committed
//
// Pure. Thread safety: none; owned by the ingest. Times are host time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "margay/analysis/exchange.h"

namespace margay::daemon {

class Shutdown {
 public:
  enum class State : std::uint8_t { kNone, kSources, kAnalysis, kArchive };

  State state() const { return state_; }
  std::int32_t exit_code() const { return exit_code_; }

  void begin(const FinishRequest& request, TimeNs now) {
    state_ = State::kSources;
    exit_code_ = request.exit_code;
    patience_ = request.patience;
    deadline_ = now + patience_;
    last_deadline_ = now + patience_ * 4;
  }
  // Is nobody waited for any more? A source that does not end is not; but as long as records come they are
  // taken. `taken`: records so far.
  bool sources_done(bool all_ended, std::uint64_t taken, TimeNs now) {
    if (taken != taken_) deadline_ = std::min(now + patience_, last_deadline_);
    taken_ = taken;
    return all_ended || now >= deadline_;
  }
  void said_end() { state_ = State::kAnalysis; }
  void analysed(TimeNs now) {
    state_ = State::kArchive;
    last_cut_sent_ = false;
    last_deadline_ = now + kLastCutPatience;
  }
  // REQUIRES, for these: kArchive.
  void last_cut_sent() { last_cut_sent_ = true; }
  bool last_cut_is_sent() const { return last_cut_sent_; }
  bool given_up(TimeNs now) const { return now >= last_deadline_; }

 private:
  static constexpr DurationNs kLastCutPatience = seconds(10);

  State state_ = State::kNone;
  bool last_cut_sent_ = false;
  std::int32_t exit_code_ = 0;
  DurationNs patience_{};
  TimeNs deadline_{}, last_deadline_{};
  std::uint64_t taken_ = 0;
};

}  // namespace margay::daemon
