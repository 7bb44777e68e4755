// What was said live, beside what a replay with other settings says.
//
// Other settings move onsets, ends and who is blamed, so alerts are not compared byte by byte
// (live_comparison.h): two are *alike* where they are of the same kind (perturbations and stalls are), touch
// in time, two slices of either away at most, and blame at least one resource in common (nobody: the same
// node).
//
// Thread safety: none needed, const. Memory: kMost alerts of the archive. Cost of a comparison: of a report's
// alerts times kMost at worst.
#pragma once

#include <span>
#include <vector>

#include "margay/store/archive.h"
#include "margay/wire/alert.pb.h"
#include "margay/wire/report.pb.h"

namespace margay::daemon {

class SaidLive {
 public:
  static constexpr std::size_t kMost = 1000;     // that are compared: the newest
  static constexpr std::size_t kMostTold = 256;  // of those that none is like: the newest

  // Those of the archive that touch [from, to). What is damaged is left out.
  SaidLive(std::span<const store::AlertRecord> alerts, TimeNs from, TimeNs to);

  // Adds to `out` which of these alerts none that was said live is like, and what was said live by
  // `watermark` that none of these is like.
  void compare(const google::protobuf::RepeatedPtrField<wire::Alert>& now, TimeNs watermark,
               wire::WhatIf& out) const;

 private:
  std::vector<wire::Alert> alerts_;  // by onset
};

}  // namespace margay::daemon
