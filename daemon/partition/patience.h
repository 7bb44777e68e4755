// When a solution that takes long asks whether it is still wanted. Private to the module.
#pragma once

#include <functional>

namespace margay::partition::internal {

// Asks a caller's go_on now and then: before each solution, and within one after kStep entries were combined.
class Patience {
 public:
  explicit Patience(const std::function<bool()>& go_on) : go_on_(go_on) {}
  // Both false from the first refusal on.
  bool next_solution() {
    work_ = 0;
    return ask();
  }
  bool after(double work) {
    work_ += work;
    if (work_ < kStep) return !ended_;
    work_ = 0;
    return ask();
  }
  bool ask() {
    if (!ended_ && go_on_ && !go_on_()) ended_ = true;
    return !ended_;
  }
  bool ended() const { return ended_; }

 private:
  static constexpr double kStep = 5e7;  // some 10 to 30 ms
  const std::function<bool()>& go_on_;
  double work_ = 0;
  bool ended_ = false;
};

}  // namespace margay::partition::internal
