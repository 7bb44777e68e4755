// What an alert (untrusted, of a report) is asked about beside what it says itself: which stretch, which
// slices, which resources; and the slices around its onset as rows, of who is blamed and of all resources
// side by side.
//
// UNITS. Times are trace time, ranges half-open; shares lie in [0, 1].
//
// Thread safety: values and pure functions. Cost: linear in the alert's lists, and in the slices' parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "margay/scene/view_data.h"
#include "margay/wire/alert.pb.h"

namespace margay::scene {

inline constexpr std::int64_t kSlicesBefore = 3;      // the onset, as `margay alerts show` has them
inline constexpr std::int64_t kMostSlicesShown = 12;  // of all
// Names in a question: of more a node that covers them all is asked about.
inline constexpr int kMostNamesAsked = 32;
inline constexpr std::size_t kMostNameBytesAsked = 1200;  // of the lists of a question, each

struct EvidenceSubject {
  TimeRange stretch;               // from the onset to the end, or as far as it is known
  TimeRange slices;                // whole ones of the alert's level; empty: there are none
  std::uint32_t slice_count = 0;   // in `slices`, kMostSlicesShown at most
  std::vector<std::string> calls;  // paths, whose calls are listed: who is blamed. None: all
  std::string cause;               // path: who is blamed, or the node that covers them
  // Who waited, and who does not count among them (EventsQuestion::WAITS). None waited: it is not asked.
  std::vector<std::string> waiting, except;
  bool operator==(const EvidenceSubject&) const = default;
};
// `known` is the run, as far as it is known. Nothing: the alert's times are none of it.
std::optional<EvidenceSubject> evidence_subject(const wire::Alert& alert, TimeRange known);

struct EvidenceSlice {
  TimeRange time;
  bool onset = false;  // it lies in this one
  // Largest first; what is not known is no state of these.
  std::vector<std::pair<State, double>> cause, all;
};
// Null: not known (yet). By time.
std::vector<EvidenceSlice> evidence_slices(const ViewData* cause, const ViewData* all, TimeNs onset);
// "Compute 92 %, MPI_Send 8 %", the largest three; "" of none.
std::string largest_shares(const std::vector<std::pair<State, double>>& shares);

}  // namespace margay::scene
