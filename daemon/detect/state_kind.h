// What kind of state it is: by its family, and where that is not told (imported traces) by its name. Pure.
#pragma once

#include "margay/model/state_table.h"

namespace margay::detect {

// A resource in it does something, rather than wait for somebody else.
bool is_work(const model::StateInfo& state);

// Who is in it sleeps until there is something to do, and is ready to run only then. An MPI's calls poll, and
// so are always ready; of a trace that does not tell families nothing is known.
bool sleeps(const model::StateInfo& state);

// A call that all make together: who is in it waits for the last.
bool is_collective(const model::StateInfo& state);

}  // namespace margay::detect
