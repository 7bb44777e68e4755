// How much CPU time leaves that share CPUs have together, and how much somebody else takes. Pure.
//
// Leaves that share CPUs keep each other waiting when more of them have work: that is what the job does. CPU
// time is conserved: what somebody else takes, they have less of together than they have when they want it.
// So no more than that much of the time in which they were ready to run, and not let, has been taken from
// them.
//
// What all leaves have less of may be the program's doing, too (threads of their own that work now, say); but
// not as far as somebody who is not of the job was seen on their CPUs.
//
// Cost per slice: O(leaves). Memory: 40 bytes for leaves that share CPUs, 12 of each. Thread safety: none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "grid.h"
#include "margay/base/time.h"
#include "margay/model/taker.h"

namespace margay::detect {

class CpuSupply {
 public:
  // What the machine usually does is known of so many slices.
  static constexpr std::size_t kMemory = 96;
  // A number of each leaf: the same of those that share CPUs. Of leaves beyond these nothing is known.
  void share(std::vector<std::uint32_t> cpus_of);
  bool shared(std::size_t leaf, std::size_t other) const {
    return std::max(leaf, other) < cpus_of_.size() && cpus_of_[leaf] == cpus_of_[other];
  }
  // A number: the same of those that share CPUs.
  std::optional<std::uint32_t> of(std::size_t leaf) const {
    return leaf < cpus_of_.size() ? std::optional(cpus_of_[leaf]) : std::nullopt;
  }
  void begin_slice();
  // In the slice the leaf had so much of a CPU.
  void add(std::size_t leaf, float cpus);
  // Who was seen on the CPUs of leaves in the slice.
  void see(const std::vector<model::Taker>& takers, DurationNs slice);
  // The part of a leaf's time that those who are not of the job have taken from it at most. What was seen
  // holds until somebody looks again, and for twice as long as they looked.
  float taken_by_others(std::size_t leaf) const;
  // The part of its time that a leaf has less of a CPU in the slice than all that share its CPUs want, each
  // its part; 0 while that is not known.
  float missing(std::size_t leaf) const;
  // The slice is a quiet one.
  void learn();
  // Of the column `denied` of leaves' departures (the time they were not let, beyond what is usual) leaves
  // what somebody else took. Where they had more than they usually want that is less than nothing: samples of
  // a slice are off, means are not. Of whom nothing has been learned, all of it.
  void leave_taken(Grid& departure, std::size_t denied) const;

 private:
  static constexpr std::size_t kSlices = 8;
  struct Shared {
    std::array<float, kSlices> last{};  // CPUs, the newest slice first
    float wanted = 0;                   // mean of as many when they want them; 0: not known
  };
  struct Others {
    float cpus = 0;    // that they had, of those on which the leaf may run
    float slices = 0;  // for which that holds
  };
  std::vector<std::uint32_t> cpus_of_;  // by leaf
  std::vector<Shared> shared_;
  std::vector<std::uint32_t> sharing_;  // so many leaves
  std::vector<Others> others_;          // by leaf: its part
};

}  // namespace margay::detect
