#include "side_rounds.h"

#include <algorithm>

#include "usual_lengths.h"

namespace margay::detect {

void SideRounds::end(std::size_t column) {
  for (std::size_t l = 0; l < took_.rows(); ++l) took_[l][column] = 0;
}

void SideRounds::take(const VisitsSeen& seen, const std::vector<char>& columns, SliceIndex now) {
  const std::size_t leaves = std::min(seen.there.size(), seen.spent.rows());
  took_.reach(leaves, columns.size());
  if (now != last_ + 1) {
    took_.fill(0);
    now_.clear();
  }
  last_ = now;
  std::swap(before_, now_);
  before_.resize(columns.size(), 0.0f);
  now_.assign(columns.size(), 0.0f);
  going_on_.resize(columns.size(), 0);
  shared_.assign(columns.size(), 0);
  for (std::size_t x = 0; x < columns.size(); ++x) {
    const bool went_on = going_on_[x];
    going_on_[x] = 0;
    if (!columns[x]) continue;
    for (std::size_t l = 0; l < leaves && !going_on_[x]; ++l) going_on_[x] = seen.spent[l][x] > 0;
    if (!going_on_[x]) {
      if (went_on) end(x);
      continue;
    }
    done_.clear();
    std::size_t at_it = 0;
    for (std::size_t l = 0; l < leaves; ++l) {
      const OpenVisit& after = seen.after[l];
      const bool open = after.state == seen.state_of[x] && after.age > kOpenFrom;
      const float longest = seen.longest[l][x];
      float& took = took_[l][x];
      if (seen.ended[l][x] >= 1 && !(open && longest <= after.age * 1.001f)) took = std::max(took, longest);
      if (took > 0) done_.push_back(took);
      at_it += open || took > 0;
    }
    const auto few = static_cast<std::size_t>(UsualLengths::kSiblings);
    shared_[x] = at_it >= few;
    if (done_.size() < few || done_.size() * 2 < at_it) continue;
    const auto middle = done_.begin() + static_cast<std::ptrdiff_t>(done_.size() / 2);
    std::nth_element(done_.begin(), middle, done_.end());
    now_[x] = *middle;
  }
}

}  // namespace margay::detect
