#include "told_areas.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace margay::daemon {

std::vector<partition::Area> told_areas(std::span<const store::AlertRecord> alerts, const Model& model) {
  std::vector<partition::Area> out;
  if (!model.has_names() || !model.times || model.slices == 0) return out;
  std::map<std::string, std::uint32_t> position;
  for (std::uint32_t l = 0; l < model.leaves(); ++l)
    position.emplace(model.path(model.tree.leaf_node(partition::LeafPosition(l))), l);
  const TimeNs from = model.times->from, to = model.times->to;
  const double slice = static_cast<double>((to - from).value) / static_cast<double>(model.slices);
  const auto slice_at = [&](TimeNs t) {
    const auto i = static_cast<std::int64_t>(static_cast<double>((t - from).value) / slice);
    return model.first_slice + std::clamp<std::int64_t>(i, 0, static_cast<std::int64_t>(model.slices) - 1);
  };
  std::map<std::string, std::pair<TimeNs, partition::Area>> newest;  // by alert: what was said last
  for (const store::AlertRecord& record : alerts) {
    const auto a = nlohmann::json::parse(record.json, nullptr, false);
    if (!a.is_object()) continue;
    const auto kind = a.value("kind", "");
    if ((kind != "perturbation" && kind != "stall") || !a.contains("resources") || !a["resources"].is_array())
      continue;
    const TimeNs onset(a.value("onset_ns", std::int64_t{0}));
    const TimeNs end = a.contains("end_ns") && a["end_ns"].is_number_integer()
                           ? TimeNs(a["end_ns"].get<std::int64_t>())
                           : to;
    if (onset >= to || end <= from || onset >= end) continue;
    partition::Area area{{}, slice_at(onset), slice_at(end - DurationNs(1))};
    bool all = true;
    for (const auto& path : a["resources"]) {
      const auto found = path.is_string() ? position.find(path.get<std::string>()) : position.end();
      if (found != position.end()) area.leaves.emplace_back(found->second);
      all = all && found != position.end();
    }
    if (all && !area.leaves.empty()) newest[a.value("id", "")] = {onset, std::move(area)};
  }
  std::vector<std::pair<TimeNs, partition::Area>> in_order;
  for (auto& [id, area] : newest) in_order.push_back(std::move(area));
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < std::min(in_order.size(), partition::kMostAreas); ++i)
    out.push_back(std::move(in_order[i].second));
  return out;
}

}  // namespace margay::daemon
