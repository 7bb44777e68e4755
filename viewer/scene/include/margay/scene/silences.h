// The silences of a run as a list: a daemon's answer (wire::Silences), checked.
//
// WHAT IS CHECKED. It is refused with a sentence (kCorrupt) where a silence has no id or ends before it
// begins; and where there are more than kMostSilences (kLimit). Texts are made valid UTF-8 without control
// characters, and cut.
//
// UNITS. Times are those of the wall clock, [from, until).
//
// Thread safety: values and pure functions. Cost: linear in the answer.
#pragma once

#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/wire/alert.pb.h"

namespace margay::scene {

inline constexpr int kMostSilences = 1000;

struct ListedSilence {
  std::string id;           // "s1"
  std::string what;         // of which alerts: "node /node7, kind stall"
  std::string by, comment;  // who asked for it, and why
  TimeNs from{}, until{};
  bool active = false;  // it holds; else it is planned
  bool operator==(const ListedSilence&) const = default;
};

Result<std::vector<ListedSilence>> silences_untrusted(const wire::Silences& answer);

}  // namespace margay::scene
