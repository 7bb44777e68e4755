// What kind of state it is: by its family, and where that is not told (imported traces) by its name. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "margay/model/state_table.h"

namespace margay::detect {

// A resource in it does something, rather than wait for somebody else.
bool is_work(const model::StateInfo& state);

// Who is in it sleeps until there is something to do, and is ready to run only then. An MPI's calls poll, and
// so are always ready; of a trace that does not tell families nothing is known.
bool sleeps(const model::StateInfo& state);

// A call that all make together: who is in it waits for the last.
bool is_collective(const model::StateInfo& state);

// A call that ends when the last of several partners has done his part: a collective, or MPI_Waitall.
bool waits_for_several(const model::StateInfo& state);

// A call of an MPI that asks whether there is something, and is made again and again until there is.
bool polls(const model::StateInfo& state);

// A call of an MPI that returns when there is no more to wait for.
bool returns_when_done(const model::StateInfo& state);

// By column of the window, after those of the machine (contrast.h): the state, and its kind, not 0.
struct Columns {
  std::vector<std::uint16_t> state_of;
  std::vector<char> work, collective, sleeps, polls, returns_when_done;
};

}  // namespace margay::detect
