// Who had the CPU while a leaf's process was ready to run and not let. Pure; values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "margay/base/ids.h"

namespace margay::model {

// As the node agent told it (margay/node/takers.h), summed over the scans that fell into a slice.
struct Taker {
  enum class Kind : std::uint8_t {
    kOther,       // a process that is not of this job
    kJob,         // one of this job that is no rank: its launcher, what a rank has started
    kRank,        // another rank
    kMargay,      // margayd, margay-node, margay
    kUnseen,      // who has ended since, or is hidden from the agent
    kHypervisor,  // another machine on the same hardware
  };
  static constexpr std::uint8_t kKinds = 6;
  static constexpr std::uint32_t kNobody = 0xffffffff;
  LeafIndex leaf{};  // that was not let
  Kind kind = Kind::kOther;
  std::int64_t pid = 0;          // 0 of what is no process
  std::uint32_t rank = kNobody;  // of kRank: its leaf
  std::int32_t cpu = -1;         // the only one that the leaf may run on; -1: one of several
  std::int64_t cpu_ns = 0;       // CPU time that it had of those
  std::int64_t over_ns = 0;      // in so much time
  std::string name;              // its command, at most kLongestName bytes
  static constexpr std::size_t kLongestName = 15;
  bool same_as(const Taker& o) const {
    return leaf == o.leaf && kind == o.kind && pid == o.pid && rank == o.rank && cpu == o.cpu &&
           name == o.name;
  }
  bool operator==(const Taker&) const = default;
};

}  // namespace margay::model
