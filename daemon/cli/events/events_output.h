// What `margay events` prints: a table for people, CSV and JSON (an object a line) for programs.
//
// Times are since `zero`. Pure. Thread safety: none.
#pragma once

#include <string>

#include "margay/query/event_list.h"
#include "margay/text/table.h"
#include "tables/table.h"

namespace margay::daemon {

class EventsTable {
 public:
  explicit EventsTable(TimeNs zero);
  void add(const EventRow& row);
  std::string text() const { return table_.text(); }

 private:
  TimeNs zero_;
  text::Table table_;
};

// As a table; `to` is filled anew.
const Table& events_columns();
void event_fields(const EventRow& row, Row& to);
// A line each.
std::string event_json(const EventRow& row, TimeNs zero);

}  // namespace margay::daemon
