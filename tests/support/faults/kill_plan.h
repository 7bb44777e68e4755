// Which kill comes next, and whether it hit what it was meant to hit.
//
// Four kinds take turns, each with its share of the whole; within a kind the exact place is drawn at random.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>

#include "captured_job.h"
#include "faulty_daemon.h"
#include "margay/base/ids.h"

namespace margay::test {

enum class KillKind : std::uint8_t { kCommit, kAck, kAmendment, kRecovery };
inline constexpr std::array<const char*, 4> kKillNames = {"commit", "ack", "amendment", "recovery"};

class KillPlan {
 public:
  KillPlan(std::uint32_t kills, std::uint64_t seed);

  std::uint32_t left() const;
  std::uint32_t left(KillKind kind) const { return left_[static_cast<std::size_t>(kind)]; }
  std::uint32_t done(KillKind kind) const { return done_[static_cast<std::size_t>(kind)]; }

  // Writes an order for a kill of a running daemon into its page and arms it. kCommit and kAck take turns.
  void arm_next(FaultyDaemon& daemon);
  // In the commit that writes the closed slice `amended` again, after the host time `release`.
  void arm_amendment(FaultyDaemon& daemon, SliceIndex amended, TimeNs release);
  // For a daemon that is about to be started, whose predecessor needed so many calls (and reads by the
  // analysis) to be at work again.
  void arm_recovery(FaultyDaemon& daemon, std::int64_t calls, std::int64_t reads);
  // Whether a kill of the predecessor shall be followed by one in the recovery.
  bool wants_recovery();

  // After the daemon died of it: counts it; an empty string, or what is wrong with it. `line` describes it.
  // `settled`: it had confirmed something since its start.
  std::string judge(const faults_page& page, bool settled, std::string& line);
  KillKind armed() const { return armed_; }

 private:
  void order(FaultyDaemon& daemon, std::int64_t op, std::int64_t what, std::int64_t nth, std::int64_t when);
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  std::mt19937_64 random_;
  std::array<std::uint32_t, 4> left_{}, done_{};
  std::uint32_t in_a_row_ = 0;
  KillKind armed_ = KillKind::kCommit;
};

}  // namespace margay::test
