#include "shared_cuts.h"

namespace margay::scene::internal {

void SharedCuts::ends(std::uint32_t first, std::uint32_t last, std::vector<std::uint32_t>& out) {
  std::int64_t across = 0;
  for (std::uint32_t cut = first + 1; cut <= last; ++cut) {
    across += change_[cut];
    change_[cut] = 0;
    if (across == 0) out.push_back(cut);
  }
}

}  // namespace margay::scene::internal
