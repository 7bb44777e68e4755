#include "hold_ups.h"

#include <algorithm>

namespace margay::detect {

void HoldUps::on_slice(const VisitsSeen& seen, const std::vector<char>& work) {
  const std::size_t columns = seen.state_of.size();
  if (waits_.size() < columns) waits_.resize(columns);
  ++known_;
  const std::size_t leaves = std::min({seen.there.size(), seen.spent.rows(), seen.after.size()});
  for (std::size_t x = 0; x < columns; ++x) {
    Wait& w = waits_[x];
    w.held.clear();
    if (!seen.counted[x] || work[x]) continue;
    double ended = 0, spent = 0;
    for (std::uint32_t l = 0; l < leaves; ++l) {
      if (!seen.there[l]) continue;
      ended += static_cast<double>(seen.ended[l][x]), spent += static_cast<double>(seen.spent[l][x]);
      if (seen.after[l].state == seen.state_of[x] && seen.after[l].age >= 1) w.held.insert(l);
    }
    if (ended == 0 && !w.held.empty()) {
      ++w.slices;
      continue;
    }
    if (w.slices > 0 && !w.told) w.before.add(w.slices);
    w.slices = 0, w.told = false;
    w.spent += spent, w.ended += ended;
  }
}

bool HoldUps::is_news(std::size_t column) const {
  const Wait& w = waits_[column];
  return known_ >= Habit::kKnown && !w.told && w.held.size() > 1 &&
         w.slices >= w.before.patience(least_slices_);
}

double HoldUps::times_as_long(std::size_t column) const {
  const Wait& w = waits_[column];
  return w.slices * std::max(1.0, w.ended) / std::max(static_cast<double>(kOpenFrom), w.spent);
}

}  // namespace margay::detect
