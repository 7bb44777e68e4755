// A report's health as Prometheus reads it (text format 0.0.4). Pure.
//
//   margay_NAME{run="night"} VALUE             each known counter: times in seconds, _total where it only
//   grows margay_source_events_total{run, resource, term="produced|modelled|..."} and
//   margay_source_events_in_flight{run, resource}
//                                              per resource, of the first kMostSources; the sums have them
//                                              all
//   margay_healthy{run} 1|0, margay_sources_left_out{run}, margay_build_info{run, version, wire} 1
#pragma once

#include <string>

#include "margay/wire/report.pb.h"

namespace margay::observe {

inline constexpr int kMostSources = 256;

std::string exposition(const wire::Report& report);
// "margay_commit_last_seconds" for (commit_last_us, "us", ...).
std::string metric_name(const wire::Counter& counter);

// /health: {"healthy", "verdict", "reasons", "run", "age_ms"}.
std::string health_json(const wire::Report* report, std::int64_t age_ms, bool* healthy);

}  // namespace margay::observe
