// What `margay events --statistics` prints: a table for people, CSV and JSON (an object a line) for programs.
//
// Times are since `zero`. Pure. Thread safety: functions are safe.
#pragma once

#include <string>
#include <vector>

#include "margay/query/event_statistics.h"
#include "tables/table.h"

namespace margay::daemon {

// `seconds`: of the stretch, which shares are of; 0: none are told. Empty of nothing.
std::string statistics_table(const EventStatistics& statistics, bool messages, TimeNs zero, double seconds);
// As a table; `to` is filled anew.
const Table& statistics_columns();
void statistics_fields(const EventSummary& summary, Row& to);
// Whole: the head and a line each.
std::string statistics_csv(const std::vector<EventSummary>& summaries, TimeNs zero);
std::string statistics_json(const std::vector<EventSummary>& summaries, TimeNs zero);

}  // namespace margay::daemon
