// The states after which a resource is no more: what a live source says with a LEAVE of one of them.
// (Imported traces say MARGAY_END, and there these are states like others.)
#pragma once

#include <string_view>

#include "margay/base/record.h"

namespace margay {

inline bool is_last_state(std::string_view name) {
  return name == "MPI_Finalize" || name == MARGAY_THREAD_END;
}

}  // namespace margay
