#include "margay/ingest/quota.h"

#include <algorithm>

namespace margay::ingest {

bool Quota::has_room(const std::string& owner, std::uint64_t used, std::uint64_t limit, std::uint64_t own) {
  return used < limit && (owner == kLocalOwner || used < limit - limit / 4 || own < limit / 8);
}

bool Quota::cells_fit(const std::string& owner, std::uint64_t leaves, std::uint64_t states, std::uint64_t own,
                      std::uint64_t limit) const {
  return limits_.cells_fit(leaves, states) &&
         (owner == kLocalOwner || own < limit / 8 || limits_.cells_fit(leaves + leaves / 3, states));
}

bool Quota::take_text(std::uint64_t before, std::uint64_t after) {
  if (after > before && text_bytes_ + (after - before) > limits_.text_bytes) {
    ++counters_.refused_by_limit;
    return false;
  }
  text_bytes_ = text_bytes_ + after - std::min(before, text_bytes_ + after);
  return true;
}

}  // namespace margay::ingest
