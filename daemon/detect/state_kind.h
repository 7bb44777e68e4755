// What kind of state it is: by its family, and where that is not told (imported traces) by its name. Pure.
#pragma once

#include "margay/model/state_table.h"

namespace margay::detect {

// A resource in it does something, rather than wait for somebody else.
bool is_work(const model::StateInfo& state);

// A call that all make together: who is in it waits for the last.
bool is_collective(const model::StateInfo& state);

}  // namespace margay::detect
