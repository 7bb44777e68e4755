#include "margay/query/told_areas.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace margay::daemon {
namespace {

// As the daemon's own picture: ten of its slices.
constexpr DurationNs kJoined = seconds(1);

}  // namespace

std::vector<wire::Alert> told_in(std::span<const store::AlertRecord> alerts, TimeNs from, TimeNs to) {
  std::vector<wire::Alert> out;
  for (const store::AlertRecord& record : alerts) {
    auto a = wire::read_alert_untrusted(record.json);
    if (!a || (a->kind() != wire::Alert::PERTURBATION && a->kind() != wire::Alert::STALL)) continue;
    if (a->onset_ns() >= to.value || (a->has_end_ns() && a->end_ns() <= std::max(from.value, a->onset_ns())))
      continue;
    out.push_back(std::move(*a));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.onset_ns() > b.onset_ns(); });
  if (out.size() > partition::kMostTold) out.resize(partition::kMostTold);
  return out;
}

std::vector<partition::Area> told_areas(std::span<const wire::Alert> alerts, const Model& model) {
  std::vector<partition::Area> out;
  if (alerts.empty() || !model.has_names() || !model.times || model.slices == 0) return out;
  std::unordered_map<std::string, std::uint32_t> position;
  for (std::uint32_t l = 0; l < model.leaves(); ++l) position.emplace(model.resource(l), l);
  const TimeNs from = model.times->from, to = model.times->to;
  const double slice = static_cast<double>((to - from).value) / static_cast<double>(model.slices);
  const auto slice_at = [&](TimeNs t) {
    const TimeNs inside = std::clamp(t, from, to);
    const auto i = static_cast<std::int64_t>(static_cast<double>((inside - from).value) / slice);
    return model.first_slice + std::min(i, static_cast<std::int64_t>(model.slices) - 1);
  };
  for (const wire::Alert& a : alerts) {
    const TimeNs end = a.has_end_ns() ? TimeNs(a.end_ns()) : to;
    partition::Area area{{}, slice_at(TimeNs(a.onset_ns())), slice_at(end - DurationNs(1))};
    for (const std::string& path : a.resources())
      if (const auto found = position.find(path); found != position.end())
        area.leaves.emplace_back(found->second);
    if (area.leaves.size() == static_cast<std::size_t>(a.resources_size()) && !area.leaves.empty())
      out.push_back(std::move(area));
  }
  const auto gap = static_cast<std::int64_t>(static_cast<double>(kJoined.value) / slice);
  out = partition::join_areas(out, std::max<std::int64_t>(1, gap));
  if (out.size() > partition::kMostAreas) out.erase(out.begin() + partition::kMostAreas, out.end());
  return out;
}

}  // namespace margay::daemon
