#include "tables/table.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "margay/base/text.h"
#include "margay/text/csv.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

void append_real(double x, Column::Kind kind, std::string& to) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  to += kind == Column::Kind::kShortReal ? nlohmann::json(x + 0.0).dump() : text;
}

// Most are: nothing in them has to be cleaned or quoted.
bool is_plain(const std::string& text) {
  return !text.empty() && text.front() != ' ' && text.back() != ' ' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '"'; });
}

struct AppendCsv {
  Column::Kind kind;
  TimeNs zero;
  std::string& to;

  void operator()(std::monostate) const {}
  void operator()(const std::string& text) const {
    to += is_plain(text) ? text : text::csv_field(clean_utf8(text));
  }
  template <class Integer>
  void number(Integer n) const {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, n).ptr;
    to.append(digits, end);
  }
  void operator()(std::int64_t n) const { number(n); }
  void operator()(std::uint64_t n) const { number(n); }
  void operator()(double x) const { append_real(x, kind, to); }
  void operator()(TimeNs t) const { to += text::seconds_text(text::minus(t.value, zero.value)); }
  void operator()(bool yes) const { to += yes ? "TRUE" : "FALSE"; }
};

}  // namespace

std::string csv_head(const Table& table) {
  std::string out;
  for (const Column& c : table.columns) out += (out.empty() ? "" : ",") + std::string(c.name);
  return out + "\n";
}

void append_csv(const Table& table, std::span<const Field> row, TimeNs zero, std::string& to) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) to += ',';
    std::visit(AppendCsv{table.columns[i].kind, zero, to}, row[i]);
  }
  to += '\n';
}

std::string csv_line(const Table& table, std::span<const Field> row, TimeNs zero) {
  std::string out;
  append_csv(table, row, zero, out);
  return out;
}

}  // namespace margay::daemon
