// What `margay events --messages` prints: a table for people, CSV and JSON (an object a line) for programs.
//
// Times are since `zero`. Pure. Thread safety: none.
#pragma once

#include <string>

#include "margay/query/message_list.h"
#include "margay/text/table.h"
#include "tables/table.h"

namespace margay::daemon {

class MessagesTable {
 public:
  explicit MessagesTable(TimeNs zero);
  void add(const MessageRow& row);
  std::string text() const { return table_.text(); }

 private:
  TimeNs zero_;
  text::Table table_;
};

// As a table; `to` is filled anew.
const Table& messages_columns();
void message_fields(const MessageRow& row, Row& to);
// A line each.
std::string message_json(const MessageRow& row, TimeNs zero);

}  // namespace margay::daemon
