// What is not known: events that were lost, sources that are no longer heard.
#include <algorithm>

#include "margay/base/text.h"
#include "margay/detect/detector.h"

namespace margay::detect {
namespace {

constexpr std::uint32_t kLossResolveSlices = 20;

}  // namespace

// Events lost in the slices from `first` on, of those that the window holds.
std::uint64_t Detector::lost_since(SliceIndex first) const {
  std::uint64_t sum = 0;
  for (auto it = lost_in_.lower_bound(first); it != lost_in_.end(); ++it) sum += it->second;
  return sum;
}

std::vector<const alert::Alert*> Detector::firing() const {
  std::vector<const alert::Alert*> all;
  for (const Incident& i : open_) all.push_back(&i.alert);
  for (const Incident& i : absent_) all.push_back(&i.alert);
  if (loss_) all.push_back(&loss_->alert);
  return all;
}

// Said once, until none have been lost for a while; a slice that had closed may turn out to have lost some.
void Detector::loss_alert(const model::SliceColumn& column, TimeNs watermark,
                          std::vector<alert::Alert>& out) {
  while (!lost_in_.empty() && lost_in_.begin()->first < window_.first()) lost_in_.erase(lost_in_.begin());
  if (column.lost_events == 0) return;
  std::uint64_t& known = lost_in_[column.index];
  if (column.lost_events <= known) return;
  const std::uint64_t lost = column.lost_events - known;
  known = column.lost_events;
  const bool first = !loss_;
  if (first) {
    loss_.emplace();
    loss_->first = column.index;
    alert::Alert& a = loss_->alert;
    a.run = options_.run;
    a.kind = alert::Kind::kLoss;
    a.level = options_.window.slice;
    a.onset = slice_begin(column.index, options_.window.slice);
    a.detected = watermark;
    a.id = options_.run + "-loss-" + std::to_string(a.onset.value / 1'000'000);
  }
  alert::Alert& a = loss_->alert;
  a.lost_events += lost;
  // Whose they are shows in the cells: that time is Unknown.
  for (std::uint32_t l = 0; l < column.leaves(); ++l)
    if (column.states() > kUnknown.value && column.duration_ns(LeafIndex(l))[kUnknown.value] > 0)
      loss_->culprits.insert(l);
  a.node = common_node(loss_->culprits);
  a.resources.clear();
  for (const std::uint32_t l : loss_->culprits)
    if (l < topology_->hierarchy.leaf_count())
      a.resources.push_back(topology_->hierarchy.path_of(LeafIndex(l)));
  a.affected = paths(cover(loss_->culprits, false));
  const std::string of = loss_->culprits.empty() ? "" : " of " + names(loss_->culprits);
  a.message = grouped(a.lost_events) + " events" + of + " were lost: what they did then is unknown";
  loss_->quiet = 0;
  loss_->quiet_since = std::max(loss_->quiet_since, slice_end(column.index, options_.window.slice));
  set_area(*loss_, slice_of(loss_->quiet_since, options_.window.slice) - 1);
  if (first) out.push_back(a);
}

void Detector::end_of_loss(const model::SliceColumn& column, TimeNs watermark,
                           std::vector<alert::Alert>& out) {
  if (!loss_ || column.lost_events > 0 || ++loss_->quiet < kLossResolveSlices) return;
  resolve(*loss_, loss_->quiet_since, watermark);
  out.push_back(loss_->alert);
  loss_.reset();
}

void Detector::source_alerts(const model::SliceColumn& column, TimeNs watermark,
                             std::vector<alert::Alert>& out) {
  const TimeNs now = slice_end(column.index, options_.window.slice);
  std::set<std::uint32_t> silent, fresh;
  TimeNs onset = now;
  for (std::uint32_t l = 0; l < column.leaves(); ++l) {
    const TimeNs since = column.evidence(LeafIndex(l)).silent_since;
    if (since == TimeNs() || column.open(LeafIndex(l)).state == kAbsent) continue;
    silent.insert(l);
    if (now - since < options_.lost_after) continue;
    if (std::any_of(absent_.begin(), absent_.end(),
                    [&](const Incident& i) { return i.culprits.contains(l); }))
      continue;
    fresh.insert(l);
    onset = std::min(onset, since);
  }
  if (!fresh.empty() && absent_.size() >= options_.most_open) {
    ++suppressed_;
    fresh.clear();
  }
  if (!fresh.empty()) {
    // Silent since about the same time (an agent that has gone speaks for none of its ranks): one alert.
    Incident incident;
    incident.culprits = fresh;
    incident.first = slice_of(onset, options_.window.slice);
    alert::Alert& a = incident.alert;
    a.run = options_.run;
    a.kind = alert::Kind::kSourceLost;
    a.level = options_.window.slice;
    a.onset = onset;
    a.detected = watermark;
    a.id = options_.run + "-source_lost-" + std::to_string(onset.value / 1'000'000) + "-" +
           std::to_string(*fresh.begin());
    a.phase = phases_.known() ? phases_.spans().back().name : "";
    a.p = window_.p();
    a.node = common_node(fresh);
    for (const std::uint32_t l : fresh)
      if (l < topology_->hierarchy.leaf_count())
        a.resources.push_back(topology_->hierarchy.path_of(LeafIndex(l)));
    a.likely_cause = a.resources;
    a.affected = paths(cover(fresh, false));
    a.lost_events = lost_since(incident.first);
    a.message = "no events from " + names(fresh) + " for " +
                std::to_string((now - onset).value / 1'000'000'000) + " s; what they do is unknown";
    set_area(incident, column.index);
    for (const std::string& path : a.resources) {
      if (a.candidates.size() == alert::kMostCandidates) break;
      a.candidates.push_back({path, "resource", 0, 1});
    }
    out.push_back(a);
    absent_.push_back(std::move(incident));
  }
  for (auto it = absent_.begin(); it != absent_.end();) {
    if (std::any_of(it->culprits.begin(), it->culprits.end(),
                    [&](std::uint32_t l) { return silent.contains(l); })) {
      extend_area(*it, column.index);
      ++it;
      continue;
    }
    resolve(*it, slice_begin(column.index, options_.window.slice), watermark);
    out.push_back(it->alert);
    it = absent_.erase(it);
  }
}

}  // namespace margay::detect
