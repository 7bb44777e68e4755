// What the archive is told of phases, of all levels that are watched. Thread safety: none.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "margay/analysis/analyst.h"
#include "margay/analysis/phase_records.h"

namespace margay::daemon {

class PhaseFindings {
 public:
  PhaseFindings(const Options& options, const detect::Levels& levels);
  // The archive has these. `before`: where what is looked back on begins, or nothing where that is all of the
  // run.
  void take_over(const store::Resume& resume, std::optional<TimeNs> before);
  void put_into(Findings& findings, const detect::Levels& levels);
  // What was put there has been dropped: all of it is to be told again.
  void again();

 private:
  std::vector<PhaseRecords> records_;  // by level
  std::set<std::string> signatures_;   // in the archive, by name; bounded by those that can be recognised
};

}  // namespace margay::daemon
