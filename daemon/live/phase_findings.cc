#include "margay/live/phase_findings.h"

#include <algorithm>

#include "margay/analysis/phase_memory.h"

namespace margay::daemon {

PhaseFindings::PhaseFindings(const Options& options, const detect::Levels& levels) {
  for (std::size_t i = 0; i < levels.count(); ++i) {
    const auto at = std::find(options.levels.begin(), options.levels.end(), levels.slice(i));
    records_.emplace_back(LevelIndex(static_cast<std::uint8_t>(at - options.levels.begin())));
  }
}

void PhaseFindings::take_over(const store::Resume& resume, std::optional<TimeNs> before) {
  for (const store::Blob& b : resume.signatures)
    if (const auto k = from_blob_untrusted(b)) signatures_.insert(k->name);
  for (PhaseRecords& p : records_)
    for (const auto* archived : {&resume.phases, &resume.coarser_phases}) p.take_over(*archived, before);
}

void PhaseFindings::put_into(Findings& findings, const detect::Levels& levels) {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const detect::PhaseTracker& phases = levels.detector(i).phases();
    records_[i].put_signatures_into(
        findings, phases.spans(), phases.init_name(),
        [&](const std::string& name) { return levels.known_phase(i, name); }, signatures_);
    records_[i].put_into(findings, phases.spans());
  }
}

void PhaseFindings::again() {
  for (PhaseRecords& p : records_) p.again();
}

}  // namespace margay::daemon
