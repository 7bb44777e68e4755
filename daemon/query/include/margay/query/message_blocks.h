// Who sends to whom, summed up where it is alike: the optimal partitions of the matrix of messages over the
// hierarchy of those that sent or received any (margay/partition/blocks.h).
//
// Resources are paths, and their hierarchy is that of their names. Of more than Blocks::kMostNodes nodes the
// deepest are summed up first, until there are so few: a note says so. A pair counts for 1, or for as many as
// were summed up; one of a resource and itself for nothing, unless somebody sent to himself; by mean time a
// pair counts for as many messages as have a time that is known.
//
// Errors: kTimeout where go_on ended the search before it had anything. Thread safety: pure. Cost: O(nodes^2)
// a solution, kMostSolves of them; memory that of Blocks and twice 8 bytes a pair of leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/query/event_statistics.h"
#include "margay/wire/events.pb.h"

namespace margay::daemon {

// All pairs of a resource at or below one node and one at or below another.
struct MessageBlock {
  std::uint32_t from = 0, to = 0;  // of MessageBlocksFound::nodes
  std::uint64_t pairs = 0;         // that count
  std::uint64_t count = 0, bytes = 0, timed = 0;
  double total_ns = 0;  // of the timed
};

// A partition that is optimal from p on, to the next one's.
struct MessageBlocks {
  double p = 0, gain = 0, loss = 0;  // bits
  bool chosen = false;               // of one: the last before quality falls most (largest_jump())
  std::vector<MessageBlock> blocks;
};

struct MessageBlocksFound {
  std::vector<std::string> nodes;         // paths; that of the root is "/"
  std::vector<MessageBlocks> partitions;  // p ascending; the last is the whole as one block
  std::vector<std::string> notes;
};

inline constexpr std::size_t kMostBlocks =
    4096;  // of a partition; of those of more there is one that has so few
inline constexpr std::size_t kMostPartitions = 24;  // beside that one, evenly among those that were found
inline constexpr std::size_t kMostSolves = 48;

// `pairs`: one each of who sent (name) and who got them (resource). REQUIRES `alike` not NOT.
Result<MessageBlocksFound> find_blocks(std::span<const EventSummary> pairs, wire::EventsQuestion::Alike alike,
                                       const std::function<bool()>& go_on);

}  // namespace margay::daemon
