// An archive of a run that never was: random visits of random states, nested now and then, gaps, ends; made
// by the slicer and the levels, so that cells, levels and raw events tell the same. Deterministic in the
// seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/record.h"
#include "margay/base/result.h"

namespace margay::test {

struct SyntheticArchive {
  std::uint32_t leaves = 12;  // ranks of hosts with four each
  std::uint32_t states = 8;   // "S1" to "S8", beside Compute
  DurationNs lasts = seconds(30);
  DurationNs visit = milliseconds(37);  // of a state and of what lies between two, about
  std::vector<DurationNs> levels = {milliseconds(100), seconds(1), seconds(10), seconds(60)};
  bool events = true;  // raw ones are kept
  // Each rank is in a state of its own, "Program", from its first event to its end, around all others; and no
  // records are lost.
  bool program = false;
  std::uint64_t seed = 1;

  // Not a multiple of anything.
  static constexpr TimeNs kBegin{1'700'000'000'030'000'007};

  // `saw` is told of each record, in trace time; its state is a StateId.
  Status write(const std::string& path,
               const std::function<void(LeafIndex, const EventRecord&)>& saw = {}) const;
};

}  // namespace margay::test
