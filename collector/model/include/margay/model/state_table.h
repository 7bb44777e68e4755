// The states of a run: names and families, numbered in order of first appearance. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/result.h"

namespace margay::model {

// Families colour the views. The numbers are those of wire::StateFamily.
enum class StateFamily : std::uint8_t {
  kOther = 0,
  kCompute = 1,
  kPointToPoint = 2,
  kCollective = 3,
  kWait = 4,
  kIo = 5,
  kStartEnd = 6,
  kAbsent = 7,
  kUnknown = 8,
  kIdle = 13,  // nothing to do, and nobody is waited for
};
// Families of states, as numbers from outside: those between are of other names.
constexpr bool is_state_family(std::uint32_t family) {
  return family <= static_cast<std::uint32_t>(StateFamily::kUnknown) ||
         family == static_cast<std::uint32_t>(StateFamily::kIdle);
}

struct StateInfo {
  std::string name;
  StateFamily family = StateFamily::kOther;
};

class StateTable {
 public:
  // Bounds of untrusted tables.
  static constexpr std::size_t kMostStates = 1024;
  static constexpr std::size_t kLongestName = 128;

  StateTable() {
    static_cast<void>(intern("Absent", StateFamily::kAbsent));
    static_cast<void>(intern("Unknown", StateFamily::kUnknown));
    static_cast<void>(intern("Compute", StateFamily::kCompute));
  }

  // The id of `name`, new or known (the family of the first call stays). Errors: kLimit, kInvalidArgument.
  Result<StateId> intern(const std::string& name, StateFamily family) {
    if (const auto it = ids_.find(name); it != ids_.end()) return it->second;
    if (name.empty() || name.size() > kLongestName)
      return fail(ErrorCode::kInvalidArgument, "a state's name has 1 to 128 characters");
    if (states_.size() >= kMostStates) return fail(ErrorCode::kLimit, "more than 1024 states");
    const StateId id(static_cast<std::uint16_t>(states_.size()));
    states_.push_back({name, family});
    ids_.emplace(name, id);
    return id;
  }

  bool knows(const std::string& name) const { return ids_.contains(name); }
  std::size_t size() const { return states_.size(); }
  const StateInfo& operator[](StateId id) const { return states_[id.value]; }
  const std::vector<StateInfo>& states() const { return states_; }

 private:
  std::vector<StateInfo> states_;
  std::unordered_map<std::string, StateId> ids_;
};

}  // namespace margay::model
