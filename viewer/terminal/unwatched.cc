#include "margay/terminal/unwatched.h"

#include <algorithm>

#include "margay/base/text.h"

namespace margay::terminal {

std::string unwatched_text(const wire::Health& h) {
  const std::uint64_t n = h.processes_unwatched(), all = std::max<std::uint64_t>(n, h.processes());
  if (n == 0) return "";
  return grouped(n) + " of " + grouped(all) + (all == 1 ? " process" : " processes") +
         (n == 1 ? " was" : " were") + " not watched, or not to the end" +
         (h.unwatched_why().empty() ? "" : " (" + h.unwatched_why() + ")");
}

}  // namespace margay::terminal
