// What the machine takes from leaves' processes more than usual: ready to run and not let, stopped, kept
// waiting by storage. Pure.
//
// That is a fact, and no matter of chance but where it always varies; of a slice or two it is none. Cost per
// slice: O(leaves). Memory: 100 bytes a leaf. Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "contrast.h"

namespace margay::detect {

class MachineTest {
 public:
  // Less than so much of the time is never told.
  explicit MachineTest(float least) : least_(least) {}

  void take(const Contrast& contrast);
  // What comes now and what was before are not one stretch.
  void restart() { run_ = 0; }
  bool began() const { return run_ > 0; }

  struct Taken {
    std::uint32_t leaf, slices;  // since when
    float times;                 // the least that is told; more than 1
  };
  std::vector<Taken> taken(const Contrast& contrast) const;

 private:
  static constexpr std::size_t kLong = 8;
  // What a column took of a leaf in the last slices, the newest first.
  using Recent = std::array<float, kLong>;
  float times(const Recent& recent, std::size_t slices, float variance, float least) const;
  bool in_most(const Recent& recent, std::size_t slices) const;

  float least_;
  std::vector<std::array<Recent, Contrast::kMachine>> ring_;  // by leaf
  std::uint64_t run_ = 0;
};

}  // namespace margay::detect
