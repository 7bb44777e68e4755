// A silence: which alerts are not to be sent anywhere for some time, and whether one of them is this alert.
// Values; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "margay/alert/alert.h"
#include "margay/base/result.h"

namespace margay::alert {

// Times are of the wall clock. Texts are valid UTF-8 without control characters.
struct Silence {
  static constexpr std::size_t kLongestPattern = 1024;  // bytes; of node and state
  static constexpr std::size_t kLongestComment = 500;
  static constexpr std::size_t kLongestName = 100;
  static constexpr DurationNs kLongest = seconds(366LL * 24 * 3600);  // also: until it begins

  std::string id;     // "s1", "s2", ... in an archive; never given twice
  std::string node;   // "" any; else a pattern, below
  std::string state;  // "" any; else a pattern for one of the alert's states
  std::optional<Kind> kind;
  TimeNs from{}, until{};  // [from, until)
  std::string by, comment;
  std::uint64_t token = 0;  // of the request that asked for it: asked again, it is the same one
  bool operator==(const Silence&) const = default;
};

// `node` of a silence is a path, of which each component may have '*' (any characters) and '?' (any one):
// "/node7", "/*/rank3". It stands for that node and all below it. "/" is everything.
bool matches_path(std::string_view pattern, std::string_view path);

// Whether all that the alert blames (or, if it blames nobody, its node) is below the node, one of its states
// is the state, and it is of the kind. Not looked at: when. Cost: O(pattern x text) for each name.
bool matches(const Silence& silence, const Alert& alert);
inline bool active(const Silence& s, TimeNs wall) {
  return s.from <= wall && wall < s.until;
}

// What is wrong with it, as a sentence that names the option to give; times not looked at. Ok otherwise.
Result<void> check(const Silence& silence);
// "perturbation", "stall" ...
std::vector<std::string> kind_names();
// The kind of this name, or an error that names them all.
Result<Kind> kind_of(std::string_view name);
// "node /h1, state MPI_Wait", or "everything".
std::string what(const Silence& silence);

}  // namespace margay::alert
