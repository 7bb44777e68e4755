// Tables for other programs (R, pandas, SQL): one observation a row, one variable a column. What a table has
// is said once; whoever writes it (CSV here, SQLite in export/) gives it the same names.
//
// Pure. Thread safety: values and functions. Cost: linear in the row; a row is made to be used again.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"

namespace margay::daemon {

struct Column {
  // kMoment: a trace time. CSV has seconds since the run's begin, and its name ends in _s; SQLite has these,
  // and beside them the trace time itself, in nanoseconds, of which the name ends in _ns.
  // kReal is written with 17 digits, kShortReal with as few as tell it from all others.
  enum class Kind { kText, kInteger, kReal, kShortReal, kMoment, kYesNo };
  const char* name;
  Kind kind;
};

struct Table {
  const char* name;
  std::vector<Column> columns;
  // What SQLite sorts it by, too: the columns of each index, with commas between them.
  std::vector<const char*> indices = {};
};

// Nothing (std::monostate) is an empty field of CSV, and NULL. A text may be anything: what is no UTF-8, or
// a control character, is written as '?'.
using Field = std::variant<std::monostate, std::string, std::int64_t, std::uint64_t, double, TimeNs, bool>;
// As many fields as the table has columns, in their order.
using Row = std::vector<Field>;
// Valid during the call. An error ends the writing with it.
using TakeRow = std::function<Status(const Row&)>;

// `value` where it is there, else nothing.
template <class T>
Field field_if(bool there, T value) {
  return there ? Field(std::move(value)) : Field();
}

// The names, and a row: lines of RFC 4180, with their ends. `zero`: what times are counted from.
std::string csv_head(const Table& table);
std::string csv_line(const Table& table, std::span<const Field> row, TimeNs zero);
// The same, behind what `to` has.
void append_csv(const Table& table, std::span<const Field> row, TimeNs zero, std::string& to);

}  // namespace margay::daemon
