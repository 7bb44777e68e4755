#include "margay/analysis/phase_records.h"

#include <algorithm>

#include "margay/analysis/phase_memory.h"

namespace margay::daemon {

void PhaseRecords::take_over(const std::vector<store::PhaseRecord>& archived, std::optional<TimeNs> before) {
  for (const auto& p : archived) {
    if (p.level != level_) continue;
    end_ = std::max(end_, p.index + 1);
    if (before && p.begin < *before) before_ = std::max(before_, p.index + 1);
  }
}

void PhaseRecords::put_into(Findings& findings, const std::deque<detect::PhaseSpan>& spans) {
  const std::uint32_t end = before_ + (spans.empty() ? 0 : spans.back().index + 1);
  if (end < end_) {
    std::erase_if(findings.phases,
                  [&](const store::PhaseRecord& p) { return p.level == level_ && p.index >= end; });
    findings.phases_end[level_] = end;
  }
  end_ = end;
  for (const auto& p : spans) {
    if (p.index < sent_) continue;
    findings.phases.push_back(
        {before_ + p.index, p.name, p.label, p.begin, p.end, p.occurrence, p.current, level_});
  }
  // The last two may still change (an edge moves, a transition is taken back).
  if (spans.size() > 2) sent_ = spans[spans.size() - 2].index;
}

void PhaseRecords::put_signatures_into(Findings& findings, const std::deque<detect::PhaseSpan>& spans,
                                       const std::string& init_name, const Known& known,
                                       std::set<std::string>& kept) {
  if (spans.size() < 3) return;
  seen_ = std::max(seen_, spans.front().index);
  for (; seen_ + 1 < spans.back().index; ++seen_) {
    const std::string& name = spans[seen_ - spans.front().index].name;
    if (name == init_name || kept.contains(name)) continue;
    const auto phase = known(name);
    if (!phase) continue;
    kept.insert(name);
    if (auto blob = to_blob(*phase)) findings.signatures.push_back(std::move(*blob));
  }
}

}  // namespace margay::daemon
