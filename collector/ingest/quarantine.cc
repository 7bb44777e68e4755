#include "margay/ingest/quarantine.h"

namespace margay::ingest {

void Quarantine::note(const std::exception& e) noexcept {
  if (trouble_.empty()) ++counters_.quarantined;
  try {
    trouble_ = *e.what() == 0 ? "an unknown error" : e.what();
  } catch (const std::bad_alloc&) {
    trouble_ = "no memory";  // no longer than a string holds by itself
  }
}

}  // namespace margay::ingest
