// The stretches of a run's phases as lists: each by itself, and by phase; and what two of them differ in.
//
// Of a report, which tells of the newest stretches: what it does not tell is in no sum. Stretches of a level
// tile its time. Coarser levels come behind the finest, but those that tell nothing that a finer one does not
// are left out, as `margay status` has it.
//
// UNITS. Times are trace time, ranges half-open; shares lie in [0, 1].
//
// Thread safety: values and pure functions. Cost: linear in what there is, logarithmic in the phases.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "margay/scene/view_data.h"
#include "margay/wire/report.pb.h"

namespace margay::scene {

// Of a level, and levels beside the finest, that are listed; of more the newest and the finest.
inline constexpr int kMostListedStretches = 4096;
inline constexpr int kMostListedLevels = 16;

struct ListedStretch {
  std::uint32_t level = 0;  // 0: the finest
  std::string name, label;  // "A"; what the program calls it, or ""
  std::uint32_t occurrence = 0;
  std::uint32_t of = 0;  // how often the phase has come so far
  TimeRange time;
  bool goes_on = false;  // `time` is what there is of it so far
  // What it is longer than usual by, as a share of that; nothing where it is not known, where the phase has
  // come once, or where it goes on and is no longer yet.
  std::optional<double> against_usual;
  // Of a coarser level: phases of the finest and their shares of it, the longest first.
  std::vector<std::pair<std::string, double>> made_of;
  DurationNs length() const;
  bool operator==(const ListedStretch&) const = default;
};

// Of the stretches that are listed of it.
struct ListedPhase {
  std::uint32_t level = 0;
  std::string name, label;      // the newest label
  std::uint32_t stretches = 0;  // listed; those that go on as well
  DurationNs total{};
  double share = 0;                                 // of the time of all that are listed of its level
  std::optional<DurationNs> usual;                  // how long it usually lasts
  std::optional<DurationNs> shortest{}, longest{};  // of those that are over
  bool operator==(const ListedPhase&) const = default;
};

struct PhaseList {
  std::vector<ListedStretch> stretches;  // by level, and of one by time
  std::vector<ListedPhase> phases;       // by level, and of one by when it came first
  std::uint64_t older = 0;               // stretches that there were at least, and the report does not tell
};

// How long a phase of that name usually lasts; what is not longer than 0 is not known.
using UsualDuration = std::function<std::optional<std::int64_t>(const std::string& name)>;
// `usual` is asked once a name. Names are made valid UTF-8 without control characters, and cut.
PhaseList phase_list(const wire::Report& report, const UsualDuration& usual);
// The levels of a report whose phases tell more than those of finer ones, as indices into its list; the
// finest of them first, kMostListedLevels at most.
std::vector<int> levels_that_tell_more(const wire::Report& report);

// RFC 4180, a line each: times in seconds since `zero`. `only`: of that phase; "": all.
std::string stretches_csv(const PhaseList& list, TimeNs zero, const std::string& only = {});
std::string phases_csv(const PhaseList& list);

// What states have of the time of all resources.
struct StretchContents {
  TimeRange time;
  std::vector<std::pair<State, double>> shares;  // largest first; of equals by name
  std::vector<std::string> notes;                // what is not exact, sentences
};
// Of all that the answer is of. Empty without data.
StretchContents contents_of(const ViewData& data);

// What a state has of one stretch and of another.
struct StateDifference {
  State state;
  double first = 0, second = 0;
  double more() const { return second - first; }
};
// What the two differ in most comes first; of equals what there is more of, then by name. Without a second
// one what there is most of.
std::vector<StateDifference> difference_of(const StretchContents& first, const StretchContents* second);
// Heads are the names of the two; of one there are no more columns than those of one.
std::string difference_csv(const std::vector<StateDifference>& rows, const std::string& first,
                           const std::string& second);

}  // namespace margay::scene
