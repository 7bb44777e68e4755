#include "mixture.h"

#include <algorithm>

namespace margay::scene::internal {
namespace {

// The largest of what is known, and of nothing known the largest of the rest; of equals the lowest index, so
// that the order in which they come does not matter.
class Largest {
 public:
  explicit Largest(const std::vector<State>& states) : states_(states) {}
  void offer(std::uint32_t state, double share) {
    if (!(share > 0)) return;
    const bool known = states_[state].known();
    const bool better = known != known_   ? known
                        : share != share_ ? share > share_
                                          : static_cast<std::int32_t>(state) < state_;
    if (state_ != kNoState && !better) return;
    state_ = static_cast<std::int32_t>(state);
    share_ = share;
    known_ = known;
  }
  Mode mode(double known_share) const {
    if (state_ == kNoState || !known_ || !(known_share > 0)) return {state_, 0};
    return {state_, std::min(1.0, share_ / known_share)};
  }

 private:
  const std::vector<State>& states_;
  std::int32_t state_ = kNoState;
  double share_ = 0;
  bool known_ = false;
};

}  // namespace

void Mixture::add(const Part& part, double area) {
  added_ += area;
  area *= part.weight;
  area_ += area;
  known_ += part.known * area;
  for (const StateShare& s : data_->shares_of(part)) {
    if (!(s.share > 0)) continue;
    if (sums_[s.state] == 0) touched_.push_back(s.state);
    sums_[s.state] += s.share * area;
  }
}

void Mixture::clear() {
  for (const std::uint32_t state : touched_) sums_[state] = 0;
  touched_.clear();
  area_ = added_ = known_ = 0;
}

double Mixture::known() const {
  return area_ > 0 ? std::min(1.0, known_ / area_) : 0;
}

double Mixture::share(std::uint32_t state) const {
  return area_ > 0 ? std::min(1.0, sums_[state] / area_) : 0;
}

Mode Mixture::mode() const {
  Largest largest(data_->states);
  for (const std::uint32_t state : touched_) largest.offer(state, share(state));
  return largest.mode(known());
}

Mode mode_of(std::span<const StateShare> shares, double known, const std::vector<State>& states) {
  Largest largest(states);
  for (const StateShare& s : shares) largest.offer(s.state, s.share);
  return largest.mode(known);
}

}  // namespace margay::scene::internal
