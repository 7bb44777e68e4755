#include "hold_ups.h"

#include <algorithm>

namespace margay::detect {
void HoldUps::on_slice(const VisitsSeen& seen, const std::vector<char>& work) {
  const std::size_t columns = seen.state_of.size();
  if (waits_.size() < columns) waits_.resize(columns);
  ++known_;
  for (Wait& w : waits_) w.held.clear(), w.now = {};
  const std::size_t leaves = std::min({seen.there.size(), seen.spent.rows(), seen.after.size()});
  for (std::uint32_t l = 0; l < leaves; ++l) {
    if (!seen.there[l]) continue;
    const float *const ended = seen.ended[l], *const spent = seen.spent[l];
    const OpenVisit& open = seen.after[l];
    for (std::size_t x = 0; x < columns; ++x) {
      if (!seen.counted[x] || work[x]) continue;
      Wait& w = waits_[x];
      w.now.ended += ended[x], w.now.spent += spent[x];
      if (open.state != seen.state_of[x] || open.age < 1) continue;
      w.held.insert(l);
      w.now.oldest = std::max(w.now.oldest, open.age);
    }
  }
  for (Wait& w : waits_) end_slice(w);
}

void HoldUps::end_slice(Wait& w) const {
  if (w.now.ended == 0 && !w.held.empty()) {
    // Who was in it when it began still is. Between two slices that are seen somebody may have got away.
    w.slices = std::min(w.slices + 1, static_cast<std::uint32_t>(w.now.oldest + kOpenFrom));
    return;
  }
  // One that was told is no habit, unless it had become the usual.
  if (w.slices > 0 && (!w.told || w.slices >= usual_slices_)) w.before.add(w.slices);
  w.slices = 0, w.told = false;
  w.spent += static_cast<double>(w.now.spent), w.ended += static_cast<double>(w.now.ended);
}

bool HoldUps::is_news(std::size_t column) const {
  const Wait& w = waits_[column];
  return known_ >= Habit::kKnown && goes_on(column) && !w.told && w.held.size() > 1 &&
         w.slices >= w.before.patience(least_slices_);
}

double HoldUps::times_as_long(std::size_t column) const {
  const Wait& w = waits_[column];
  return w.slices * std::max(1.0, w.ended) / std::max(static_cast<double>(kOpenFrom), w.spent);
}

}  // namespace margay::detect
