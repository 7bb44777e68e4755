// One perturbation, as long as it lasts.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/time.h"

namespace margay::detect {

struct Episode {
  std::uint64_t number = 0;        // counted from the first
  std::set<std::uint32_t> leaves;  // blamed
  SliceIndex onset{};
  SliceIndex end{};  // first slice back in order, of one that has been
  bool over = false;
  // Instead of a state: it is ready to run and does not; it is stopped; storage keeps it waiting.
  static constexpr std::uint16_t kDenied = 0xfffe, kStopped = 0xfffd, kBlocked = 0xfffc;
  std::uint16_t state = 0;     // in which the time goes that is missing
  bool works = false;          // that state is work
  double excess = 0;           // share of the time that its visits take longer than usual
  bool by_lengths = false;     // told by how long visits take
  double log_ratio = 0;        // of these: the mean logarithm of how many times as long as usual
  double less_work = 0;        // share of the whole job's work that is missing (job_slowdown.h)
  bool small = false;          // it takes little of the time, and lasts (small_shifts.h)
  bool usual = false;          // it comes back by the clock, and is not told
  double nats = 0, limit = 0;  // the evidence when it was told, and what it had to exceed; 0: a fact
  double rarer = 0;            // nats: how much seldomer chance exceeds this evidence than the limit
};

}  // namespace margay::detect
