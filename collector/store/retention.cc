#include "margay/store/retention.h"

#include <algorithm>

namespace margay::store {

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
