// An alert: what happened, when, where, and who is likely to have caused it. Viewers are sent wire::Alert;
// the alerts file, the archive and sinks have one JSON object a line (margay/wire/alert_json.h). Thread
// safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/result.h"

namespace margay::wire {
class Alert;
class Handled;
class Silences;
}  // namespace margay::wire

namespace margay::alert {

enum class Kind { kPerturbation, kStall, kPhaseDuration, kSourceLost, kLoss };
enum class Status { kFiring, kResolved };
const char* to_string(Kind k);
const char* to_string(Status s);

inline constexpr std::size_t kMostCandidates = 32;
inline constexpr double kLikely = 0.5;             // a likely cause is so with a greater probability
inline constexpr double kLeastFalseAlarms = 1e-9;  // a day; no tail is known so far out

// How a state's share changed against the phase.
struct StateChange {
  std::string state;
  double expected = 0;
  double observed = 0;
  bool operator==(const StateChange&) const = default;
};

// Of a phase that lasts too long or ended early. Without what another alert explains.
struct PhaseDuration {
  DurationNs lasted{};      // so far, while it fires
  DurationNs usual{};       // median
  DurationNs limit{};       // that it passed
  std::uint64_t times = 0;  // durations that these rest on
  bool operator==(const PhaseDuration&) const = default;
};

// Who had the CPU that a blamed resource was not let on.
struct Taker {
  std::string resource;   // that was not let
  std::string kind;       // "other", "job", "rank", "margay", "unseen", "hypervisor" (margay/model/taker.h)
  std::string name;       // its command; of a rank its resource
  std::int64_t pid = 0;   // 0 of what is no process
  std::int32_t cpu = -1;  // the only one that the resource may run on; -1: one of several
  double share = 0;       // of one CPU
  bool operator==(const Taker&) const = default;
};

// Its part of the partition: these nodes in the slices [first, first + slices) of its level.
struct Area {
  std::vector<std::string> nodes;  // the fewest that hold all that is blamed, and nothing else
  SliceIndex first{};              // that the onset lies in
  std::uint64_t slices = 0;        // so far, while it fires; 1 or more
  bool operator==(const Area&) const = default;
};

// Who may be the cause.
struct Candidate {
  std::string name;        // path of a node or a leaf; of a process its command
  std::string kind;        // "resource", or what a Taker is
  std::int64_t pid = 0;    // 0 of what is no process
  double probability = 0;  // that it is one of those who cause it; DETECT.md says how it comes about
  bool operator==(const Candidate&) const = default;
};

// Times are nanoseconds of trace time, but for `emitted_wall`.
struct Alert {
  std::string id;  // the same for the firing and the resolved line; made of run, kind and onset
  std::string run;
  Kind kind = Kind::kPerturbation;
  Status status = Status::kFiring;
  DurationNs level{};  // slice duration of the level it was seen at
  TimeNs onset{};
  TimeNs detected{};          // the watermark when it was raised
  std::optional<TimeNs> end;  // when it was over
  TimeNs emitted_wall{};      // wall clock when the line was written
  // While it fires it may be said again, otherwise (updates.h): how often it was, and the watermark of the
  // last time.
  std::uint64_t updates = 0;
  std::optional<TimeNs> updated;
  bool persistent = false;             // it fires for long
  std::string node;                    // the smallest hierarchy node above everything blamed
  std::vector<std::string> resources;  // blamed leaves
  std::vector<std::string> affected;   // nodes that changed
  double score_bits = 0;               // how far all cells since the onset are from their phase
  // That chance brings as much evidence, or more, in a slice; 1e-300 where no chance is in it. See
  // false_alarms_per_day. Of lost events and sources nothing is compared: 0 bits, and 1.
  double p_value = 1;
  std::string phase;
  std::vector<StateChange> states;
  std::vector<std::string> likely_cause;       // leaves that are so with a probability above one half
  double p = 0;                                // of the partition it was seen in
  std::uint64_t lost_events = 0;               // in the slices it rests on
  std::string message;                         // one sentence that says why
  std::optional<PhaseDuration> duration = {};  // of kPhaseDuration
  std::vector<Taker> takers = {};              // the most first; of those who are not let on the CPU
  std::optional<Area> area = {};               // of all alerts, but for those of an older Margay
  // Expected from chance, with as much evidence as when it was raised or more: what the knob
  // detect.false_alarms_per_day leaves to its level, less as far as the evidence is beyond the limit, as the
  // tail goes on that the limit is of. kLeastFalseAlarms to the knob. Nothing where no chance is in it: a
  // process that is stopped, time that the kernel says it was not let run, no progress, events or sources
  // that are lost.
  std::optional<double> false_alarms_per_day = {};
  // Seconds by which the job is late because of it, so far: 0 to its age. Nothing where nobody knows: of
  // lost events and sources.
  std::optional<double> cost_s = {};
  std::vector<Candidate> candidates = {};  // most probable first; kMostCandidates at most
};

// Which word about it this is, the same over restarts: "firing", "firing#1" (the first update) ...,
// "resolved".
std::string step(const Alert& alert);
// In the order in which they were raised; of those raised at once, by id.
bool earlier(const Alert& a, const Alert& b);
// Its id if this word is an update of an alert that fires, else "".
std::string update_of(const Alert& alert);
// As viewers are sent it. Texts are made clean UTF-8.
wire::Alert to_wire(const Alert& alert);
// One line without the newline.
std::string to_json(const Alert& alert);
// Such a line, or another Margay's. Errors: kCorrupt, naming the member.
Result<Alert> parse_untrusted(std::string_view json);

}  // namespace margay::alert
