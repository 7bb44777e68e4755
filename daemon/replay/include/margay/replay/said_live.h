// What was said live, beside what a replay with other settings says.
//
// Other settings move onsets, ends and who is blamed, so alerts are not compared byte by byte
// (live_comparison.h): two are *alike* where they are of the same kind (perturbations and stalls are), touch
// in time, two slices of either away at most, and blame at least one resource in common (nobody: the same
// node).
//
// Thread safety: none. Memory: kMost alerts of the archive, and as many of the replay. Cost of a comparison:
// that of the two in pairs at worst.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "margay/alert/alert.h"
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

  // The replay says this; of the same id the newest counts. It begins anew.
  void take(const alert::Alert& alert);
  void begin_anew() { now_.clear(); }

  // Adds to `out` what the replay has said and none that was said live is like, and what was said live by
  // `watermark` and none that the replay has said is like.
  void compare(TimeNs watermark, wire::WhatIf& out) const;
  // What the replay said under this id; null: nothing, or it was said too long ago.
  const wire::Alert* said_now(const std::string& id) const;

 private:
  std::vector<wire::Alert> live_;  // by onset
  std::map<std::string, wire::Alert> now_;
};

}  // namespace margay::daemon
