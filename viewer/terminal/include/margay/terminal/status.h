// One report for people (`margay status`) and for programs (`margay status --json`). Pure.
//
// Names are untrusted: the text has no control character but the line feed; the JSON is valid whatever the
// report holds (broken UTF-8 is replaced, numbers that JSON lacks are 0).
// Thread safety: pure functions. Cost: linear in the report.
#pragma once

#include <string>

#include "margay/wire/report.pb.h"

namespace margay::terminal {

// A page of plain text, the verdict on top, each line ended by '\n'. At most 200 sources and 200 phases are
// listed, the rest counted; times of day are `utc_offset_s` seconds east of Greenwich.
std::string status_text(const wire::Report& report, std::int64_t utc_offset_s = 0);

// One object; keys are stable, times and durations in nanoseconds as *_ns:
//   run, command, final, sequence, slice_ns, watermark_ns, run_begin_ns, emitted_wall_ns, lag_ns,
//   lost_events, sources_live, sources_ended, restarts, phases [{name, label, occurrence, begin_ns, end_ns,
//   current}], phase_durations [{name, times, usual_ns, low_ns, high_ns, last_ns}],
//   forecast {phase, end_ns, earliest_ns, latest_ns, confidence, times, next, next_share, overdue} or null,
//   alerts [the alerts' own objects, with acknowledged {by, at_ns, comment} and silenced_by where somebody
//   has said so], nodes [{path, depth, leaves, condition,
//   shares}], sources [{resource, produced, modelled, late_dropped, probe_dropped, wire_lost, rejected,
//   in_flight,
//             condition, balanced}],
//   counters [{name, value, kind "counter|loss|gauge|condition", unit, severity "info|warning|error", help,
//   remedy, detail}], health {state "healthy|degraded|unknown", verdict, reasons, version},
//   partition {p, gain_bits, loss_bits}
std::string status_json(const wire::Report& report);

}  // namespace margay::terminal
