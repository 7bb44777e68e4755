// What a sender may claim of its streams. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "margay/wire/ingest.pb.h"

namespace margay::ingest {

// Records of one stream, and what is counted of them: a million a second for nine years. Sums of as many as
// there can be streams do not overflow.
inline constexpr std::uint64_t kMostRecords = std::uint64_t{1} << 48;

inline bool can_be(const wire::EventBatch& b) {
  return std::max({std::uint64_t{b.first()}, std::uint64_t{b.produced()}, std::uint64_t{b.dropped()},
                   std::uint64_t{b.recorded()}, std::uint64_t{b.untold()}, std::uint64_t{b.summed()}}) <=
         kMostRecords;
}
inline bool can_be(const wire::Goodbye& g) {
  return std::all_of(g.streams().begin(), g.streams().end(), [](const wire::StreamTotal& t) {
    return std::max({std::uint64_t{t.produced()}, std::uint64_t{t.dropped()}, std::uint64_t{t.recorded()},
                     std::uint64_t{t.untold()}}) <= kMostRecords;
  });
}

}  // namespace margay::ingest
