#include "margay/scene/phase_ribbon.h"

#include <algorithm>
#include <map>

#include "margay/scene/phase_list.h"

namespace margay::scene {
namespace {

// Slices of the daemon by which a phase's boundary and the cut that it is may differ: a boundary is put where
// two phases differ most, a cut where the partition as a whole is best.
constexpr std::int64_t kNearSlices = 3;

// Whether the partition tells apart what is before `at` from what is after it.
bool cut_at(const ViewData& temporal, std::int64_t slice_ns, TimeNs at) {
  if (temporal.empty() || at <= temporal.range().from || at >= temporal.range().to) return true;
  const std::size_t slice = temporal.slice_at(at);
  const DurationNs own = temporal.boundaries[slice + 1] - temporal.boundaries[slice];
  const std::int64_t near = std::max(own.value, std::max<std::int64_t>(slice_ns, 0) * kNearSlices);
  return std::any_of(temporal.parts.begin(), temporal.parts.end(), [&](const Part& part) {
    if (part.first == 0) return false;
    const std::int64_t off = (temporal.boundaries[part.first] - at).value;
    return off <= near && -off <= near;
  });
}

std::vector<PhaseStretch> joined(const google::protobuf::RepeatedPtrField<wire::PhaseSpan>& phases,
                                 const wire::Report& report, const ViewData* temporal) {
  std::vector<PhaseStretch> out;
  std::map<std::string, double> lasted;  // of the last stretch
  for (const wire::PhaseSpan& s : phases) {
    const TimeNs from(s.begin_ns()),
        to(std::max(s.end_ns(), s.current() ? report.watermark_ns() : s.end_ns()));
    const bool joins = temporal != nullptr && !out.empty() && !cut_at(*temporal, report.slice_ns(), from);
    if (!joins) {
      out.push_back({from, to, {}, false, {}, s.label(), s.occurrence()});
      lasted.clear();
    } else {
      out.back().label.clear();
      out.back().occurrence = 0;
    }
    PhaseStretch& stretch = out.back();
    stretch.to = std::max(stretch.to, to);
    if (std::find(stretch.names.begin(), stretch.names.end(), s.name()) == stretch.names.end()) {
      if (stretch.names.size() < kMostPhaseNames)
        stretch.names.push_back(s.name());
      else
        stretch.more = true;
    }
    lasted[s.name()] += static_cast<double>(to.value) - static_cast<double>(from.value);
    stretch.longest = std::max_element(lasted.begin(), lasted.end(), [](const auto& a, const auto& b) {
                        return a.second < b.second;
                      })->first;
  }
  return out;
}

}  // namespace

std::vector<PhaseStretch> phase_stretches(const wire::Report& report, const ViewData* temporal) {
  return joined(report.phases(), report, temporal);
}

std::size_t level_ribbon_count(const wire::Report& report) {
  return std::min(levels_that_tell_more(report).size(), kMostLevelRibbons);
}

std::vector<LevelRibbon> level_ribbons(const wire::Report& report) {
  std::vector<LevelRibbon> out;
  for (const int l : levels_that_tell_more(report)) {
    if (out.size() == kMostLevelRibbons) break;
    const wire::LevelPhases& level = report.levels(l);
    out.push_back({DurationNs(level.slice_ns()), joined(level.phases(), report, nullptr)});
  }
  return out;
}

std::string phase_names(const PhaseStretch& phase) {
  std::string out;
  for (const std::string& name : phase.names) out += (out.empty() ? "" : "+") + name;
  return phase.more ? out + "+..." : out;
}

std::string phase_text(const PhaseStretch& phase) {
  std::string out = phase_names(phase);
  if (!phase.label.empty()) out += " (" + phase.label + ")";
  if (phase.occurrence > 1) out += ", " + ordinal(phase.occurrence);
  return out;
}

}  // namespace margay::scene
