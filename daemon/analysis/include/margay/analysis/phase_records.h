// What the archive is told of the phases of one level: stretches that are new or may have changed, which of
// those it has are none any more, and each phase's signature once its first stretch is over for good.
//
// A daemon that is started again and could not look back over the whole run leaves the stretches from before
// as they are; its own are numbered behind them. Thread safety: none. Cost: linear in the stretches that may
// have changed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exchange.h"
#include "margay/detect/known_phase.h"

namespace margay::daemon {

class PhaseRecords {
 public:
  explicit PhaseRecords(LevelIndex level) : level_(level) {}

  // The archive has these (of any level). `before`: where what is looked back on begins, or nothing where
  // that is all of the run.
  void take_over(const std::vector<store::PhaseRecord>& archived, std::optional<TimeNs> before);
  // What `findings` have to tell of the stretches, by now.
  void put_into(Findings& findings, const std::deque<detect::PhaseSpan>& spans);
  // Those that were put there have been dropped: all are to be told again.
  void again() { sent_ = 0; }
  // Signatures of phases that have none in the archive. `kept`: names of those that have.
  using Known = std::function<std::optional<detect::KnownPhase>(const std::string& name)>;
  void put_signatures_into(Findings& findings, const std::deque<detect::PhaseSpan>& spans,
                           const std::string& init_name, const Known& known, std::set<std::string>& kept);

 private:
  LevelIndex level_;
  std::uint32_t before_ = 0;  // stretches from before what was looked back on
  std::uint32_t end_ = 0;     // one past the last index that the archive was told of
  std::uint32_t sent_ = 0;    // index of the oldest stretch that may still change
  std::uint32_t seen_ = 0;    // index of the first one that was not asked for its signature
};

}  // namespace margay::daemon
