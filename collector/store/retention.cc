#include "margay/store/retention.h"

#include <algorithm>

namespace margay::store {

std::optional<std::size_t> AgeRules::level_out_of_order() const {
  for (std::size_t i = 0; i + 1 < levels.size(); ++i)
    if (levels[i + 1] && (!levels[i] || *levels[i + 1] < *levels[i])) return i;
  return std::nullopt;
}

std::vector<std::int64_t> restart_floor(const std::vector<DurationNs>& levels, std::int64_t window,
                                        std::int64_t amendable) {
  std::vector<std::int64_t> floor(levels.size(), window);
  if (!levels.empty()) floor[0] = std::max(window, levels.back().value / levels[0].value) + 2 * amendable;
  return floor;
}

std::optional<TimeNs> too_old(std::optional<DurationNs> age, TimeNs newest, TimeNs keep_from, TimeNs oldest) {
  if (!age) return std::nullopt;
  const TimeNs before = std::min(newest - *age, keep_from);
  const DurationNs slack = std::max(DurationNs(age->value / 16), seconds(10));
  if (before <= oldest + slack) return std::nullopt;
  return before;
}

std::uint64_t bytes_to_drop(const DiskRules& rules, const DiskUse& use) {
  std::uint64_t need = 0;
  if (rules.budget != 0 && use.archive > rules.budget / 8 * 7) need = use.archive - rules.budget / 16 * 13;
  const std::uint64_t keep = std::min(rules.keep_free, use.size / 20);
  if (use.free < keep) need = std::max(need, keep + keep / 16 - use.free);
  return need;
}

DropPlan plan_drops(std::uint64_t bytes, const std::vector<Stock>& stocks) {
  DropPlan plan;
  for (const Stock& stock : stocks) {
    Drop drop{stock.shelf, stock.level, {}, 0};
    bool any = false;
    for (const Extent& e : stock.extents) {
      if (plan.bytes >= bytes || stock.keep_from < e.end) break;
      drop.before = e.end;
      drop.bytes += e.bytes;
      plan.bytes += e.bytes;
      any = true;
    }
    if (any) plan.drops.push_back(drop);
  }
  plan.enough = plan.bytes >= bytes;
  return plan;
}

}  // namespace margay::store
