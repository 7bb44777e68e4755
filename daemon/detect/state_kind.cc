#include "state_kind.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>

namespace margay::detect {
namespace {

using F = model::StateFamily;

bool names_any(const std::string& mixed, std::initializer_list<const char*> words) {
  std::string name;
  for (const char c : mixed) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::size_t at; (at = name.find("clock")) != std::string::npos;) name.erase(at, 5);  // no lock
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return name.find(word) != std::string::npos; });
}

}  // namespace

bool is_work(const model::StateInfo& state) {
  if (state.family != F::kOther) return state.family == F::kCompute || state.family == F::kIo;
  return !names_any(state.name,
                    {"mpi_", "wait", "idle", "recv", "send", "barrier", "reduce", "gather", "bcast", "lock",
                     "mutex", "futex", "semaphore", "sleep", "poll", "queue", "init", "finalize"});
}

bool sleeps(const model::StateInfo& state) {
  return (state.family == F::kWait || state.family == F::kIdle) && !state.name.starts_with("MPI_");
}

bool polls(const model::StateInfo& state) {
  return state.name.starts_with("MPI_") && names_any(state.name, {"test", "probe"});
}

bool returns_when_done(const model::StateInfo& state) {
  return state.name.starts_with("MPI_") && !polls(state);
}

bool is_collective(const model::StateInfo& state) {
  if (state.family != F::kOther) return state.family == F::kCollective;
  return names_any(state.name, {"barrier", "reduce", "gather", "bcast", "alltoall", "scan", "scatter"});
}

bool waits_for_several(const model::StateInfo& state) {
  return is_collective(state) || names_any(state.name, {"waitall"});
}

}  // namespace margay::detect
