// What an alert says of itself, a named fact each, as people read it: `margay alerts show` prints them as
// lines, the window lists them on its page Evidence.
//
// Takes alerts of a report or an archive (untrusted): all texts are printable (Unicode), lists are cut with
// the number that is left out, numbers that are none are written as such.
//
// Thread safety: pure functions. Cost: linear in the alert's texts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/time.h"
#include "margay/wire/report.pb.h"

namespace margay::terminal {

struct AlertFact {
  std::string name;   // "false alarms"; 14 columns at most
  std::string value;  // a sentence or less
  bool operator==(const AlertFact&) const = default;
};

// What is known beside the alert itself.
struct AlertContext {
  // A moment of the run, "13.92 s" or by the wall clock.
  std::function<std::string(TimeNs)> moment;
  // Behind such a moment, where that needs it: " into the run".
  std::string moment_of = " into the run";
  std::optional<wire::PhaseSpan> phase;  // that its onset lies in; without a name: not known
  // Whom those that it affects waited for: paths and shares of the time, most first, and of an unknown
  // partner.
  std::vector<std::pair<std::string, double>> waited_for = {};
  double waited_for_unknown = 0;
};

// In the order in which they are read: what it is, when and where, who, why it was raised, what it costs,
// what else was so at that time.
std::vector<AlertFact> alert_facts(const wire::Alert& alert, const AlertContext& context);
// The phase of the report that this moment lies in, of the level with these slices; nothing: none is known.
std::optional<wire::PhaseSpan> phase_at(const wire::Report& report, TimeNs time, DurationNs level);
// "31 %", "8.0 %".
std::string share_text(double share);

}  // namespace margay::terminal
