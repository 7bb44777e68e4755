// Shares of several parts pooled, and which state they have most of. Private to the folder.
//
// Thread safety: exclusive access. Cost: add() and clear() are linear in the states added, not in all there
// are.
#pragma once

#include <cstdint>
#include <vector>

#include "margay/scene/view_data.h"

namespace margay::scene::internal {

struct Mode {
  std::int32_t state = kNoState;
  double strength = 0;
};

class Mixture {
 public:
  explicit Mixture(const ViewData& data) : data_(&data), sums_(data.states.size()) {}

  // `area`: of what the part is here, leaves x time in any unit; counts by the part's weight.
  void add(const Part& part, double area);
  void clear();

  double area() const { return area_; }
  // What of the area that was added counts.
  double weight() const { return added_ > 0 ? area_ / added_ : 1; }
  // Of the area; 0 of none.
  double known() const;
  double share(std::uint32_t state) const;
  // Those added since clear(), in order of their first coming; some may have a share of 0.
  const std::vector<std::uint32_t>& states() const { return touched_; }
  Mode mode() const;

 private:
  const ViewData* data_;
  std::vector<double> sums_;  // by state
  std::vector<std::uint32_t> touched_;
  double area_ = 0, added_ = 0;
  double known_ = 0;
};

// Of one part. `states` are ViewData::states.
Mode mode_of(std::span<const StateShare> shares, double known, const std::vector<State>& states);

}  // namespace margay::scene::internal
