// What some leaves have in common, and hardly any other leaf has: the view in which they are told in fewest
// words ("rack 7" rather than 32 ranks). Pure.
//
// Looked at are the attributes that people and machines give (rack, switch, socket, program, ...), each by
// itself and within the host, and what ranks leave as a rest. What tells processes apart (rank, pid, ...) is
// no group.
//
// Thread safety: a function of its arguments. Cost: leaves x attributes, and leaves x kMostDivisor.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "margay/base/ids.h"
#include "margay/model/hierarchy.h"

namespace margay::model {

inline constexpr std::uint64_t kMostDivisor = 64;

// Whether an attribute is there to tell processes from each other (rank, pid, start_time, ...): of no use as
// a level of a view but the last.
bool tells_processes_apart(std::string_view attribute);

struct SharedValue {
  std::string level;   // of a view: "rack", "host/socket", "rank mod 8"
  std::string value;   // as a path has it: "rack7", "node3/socket1", "rank mod 8 = 3"
  std::size_t of = 0;  // leaves that have it: `some`, and up to a third more
  bool operator==(const SharedValue&) const = default;
};

// The one that the fewest other leaves have; nothing where there is none, where all leaves of the run have
// it, and of less than two leaves (of a rest: less than three).
std::optional<SharedValue> shared_by(std::span<const Attributes> leaves, std::span<const LeafIndex> some);

}  // namespace margay::model
