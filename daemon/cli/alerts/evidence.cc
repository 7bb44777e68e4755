#include "evidence.h"

#include <algorithm>

#include "margay/analysis/detector_settings.h"
#include "margay/model/hierarchy.h"
#include "margay/replay/replay.h"

namespace margay::daemon {
namespace {

constexpr std::int64_t kBefore = 3;  // slices of the table before the onset
constexpr std::int64_t kMost = 12;   // of all

// Durations by state, summed over leaves.
class Sum {
 public:
  void add(const model::SliceColumn& column, LeafIndex leaf) {
    const auto row = column.duration_ns(leaf);
    if (sum_.size() < row.size()) sum_.resize(row.size());
    for (std::size_t x = 0; x < row.size(); ++x) sum_[x] += static_cast<double>(row[x]);
  }
  SliceShares shares(SliceIndex slice, const model::StateTable& states) const {
    SliceShares s;
    s.slice = slice;
    double seen = 0;
    for (std::size_t x = 0; x < sum_.size(); ++x)
      if (x != kAbsent.value && x != kUnknown.value) seen += sum_[x];
    const double unknown = kUnknown.value < sum_.size() ? sum_[kUnknown.value] : 0;
    if (seen + unknown > 0) s.unknown = unknown / (seen + unknown);
    for (std::size_t x = 0; x < sum_.size() && seen > 0; ++x)
      if (x != kAbsent.value && x != kUnknown.value && sum_[x] > 0)
        s.states.emplace_back(states[StateId(static_cast<std::uint16_t>(x))].name, sum_[x] / seen);
    std::stable_sort(s.states.begin(), s.states.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return s;
  }

 private:
  std::vector<double> sum_;
};

Result<CellTable> read_cells(const store::Archive& archive, const store::Resume& resume,
                             const alert::Alert& a) {
  CellTable table;
  const auto& levels = resume.run.levels;
  const auto at = std::find(levels.begin(), levels.end(), a.level);
  if (at == levels.end()) return table;
  const LevelIndex level(static_cast<std::uint8_t>(at - levels.begin()));
  std::vector<model::Attributes> attributes;
  for (const store::LeafRecord& l : resume.leaves) attributes.push_back(l.attributes);
  const model::Hierarchy hierarchy(attributes);
  const auto& named = a.likely_cause.empty() ? a.resources : a.likely_cause;
  std::vector<bool> is_blamed(resume.leaves.size());
  for (std::uint32_t l = 0; l < resume.leaves.size(); ++l) {
    const std::string& path = hierarchy.path_of(LeafIndex(l));
    if (std::find(named.begin(), named.end(), path) == named.end()) continue;
    is_blamed[l] = true;
    table.leaves.push_back(path);
  }
  const SliceIndex onset = slice_of(a.onset, a.level);
  const SliceIndex end = a.end ? slice_of(*a.end, a.level) : onset + kMost;
  const SliceIndex last = std::min(onset + (kMost - kBefore - 1), end + 1);
  const Status read = archive.scan_columns(level, onset - kBefore, last, [&](model::SliceColumn&& column) {
    Sum blamed, others;
    for (std::uint32_t l = 0; l < column.leaves(); ++l)
      (l < is_blamed.size() && is_blamed[l] ? blamed : others).add(column, LeafIndex(l));
    table.blamed.push_back(blamed.shares(column.index, resume.states));
    table.others.push_back(others.shares(column.index, resume.states));
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  return table;
}

// What alerts had not always, and what is made of it.
void leave_out_claims(alert::Alert& a) {
  a.area.reset();
  a.false_alarms_per_day.reset();
  a.cost_s.reset();
  a.candidates.clear();
  a.likely_cause.clear();
}

Result<DerivedAgain> derive_again(const store::Archive& archive, const store::Resume& resume,
                                  const alert::Alert& a, std::map<std::string, std::string>& settings_text) {
  DerivedAgain again;
  Options settings;
  std::unique_ptr<Analyst> analyst;
  bool found = false;
  ReplayListener listener;
  // A daemon that looked back may have said it later: what follows the last word can add nothing.
  listener.before = [&](TimeNs) { return !found; };
  listener.alert = [&](const alert::Alert& b) {
    if (b.id != a.id) return;
    again.alert = b;
    found = alert::step(b) == alert::step(a);
  };
  const auto done = replay(archive, resume, {}, settings, listener, analyst);
  if (!done) return tl::unexpected(done.error());
  again.exact = done->repeats;
  settings_text = to_settings(settings);
  if (!again.alert) return again;
  alert::Alert was = a;
  was.emitted_wall = again.alert->emitted_wall;
  was.message = again.alert->message;  // made of the rest, and worded by the version that wrote it
  alert::Alert now = *again.alert;
  if (!was.area) leave_out_claims(was), leave_out_claims(now);  // an older Margay's
  again.same = alert::to_json(was) == alert::to_json(now);
  return again;
}

}  // namespace

WaitsQuery waits_of(const alert::Alert& a) {
  WaitsQuery query;
  query.from = a.onset;
  query.to = a.end.value_or(a.onset + WaitsQuery::kLongest);
  if (a.kind != alert::Kind::kPerturbation && a.kind != alert::Kind::kStall) return query;
  query.nodes = a.affected;
  query.except = a.likely_cause;
  return query;
}

Result<std::vector<alert::Alert>> read_alerts(const store::Archive& archive) {
  const auto records = archive.alerts();
  if (!records) return tl::unexpected(records.error());
  std::vector<alert::Alert> all;
  for (const store::AlertRecord& r : *records) {
    auto a = alert::parse_untrusted(r.json);
    if (!a) return fail(a.error(), archive.path() + ": alert '" + r.id.substr(0, 100) + "'");
    all.push_back(std::move(*a));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.onset < b.onset; });
  return all;
}

Result<Evidence> collect_evidence(const store::Archive& archive, const alert::Alert& alert) {
  const auto resume = archive.load();
  if (!resume) return tl::unexpected(resume.error());
  Evidence e;
  e.alert = alert;
  e.run_begin = resume->run.begin;
  const auto lies_in = [&](const store::PhaseRecord& p) {
    return p.begin <= alert.onset && (alert.onset < p.end || p.current);
  };
  for (const store::PhaseRecord& p : resume->phases)
    if (lies_in(p)) e.phase = p;
  // Of a coarser level the long one.
  const auto& levels = resume->run.levels;
  for (const store::PhaseRecord& p : resume->coarser_phases)
    if (p.level.value < levels.size() && levels[p.level.value] == alert.level && lies_in(p)) e.phase = p;
  auto cells = read_cells(archive, *resume, alert);
  if (!cells) return tl::unexpected(cells.error());
  e.cells = std::move(*cells);
  auto again = derive_again(archive, *resume, alert, e.settings);
  if (!again) return tl::unexpected(again.error());
  e.again = std::move(*again);
  auto waits = read_waits(archive, *resume, waits_of(alert));
  if (!waits) return tl::unexpected(waits.error());
  e.waits = std::move(*waits);
  return e;
}

}  // namespace margay::daemon
