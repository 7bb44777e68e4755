#include "margay/text/table.h"

#include <algorithm>

#include "margay/text/text.h"

namespace margay::text {

Table::Table(std::vector<std::string> head) {
  for (std::string& h : head) {
    right_.push_back(h.starts_with('>'));
    if (right_.back()) h.erase(0, 1);
  }
  rows_.push_back(std::move(head));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(right_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - width_of(row[i]), ' ');
      line += "  " + (right_[i] ? pad + row[i] : row[i] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace margay::text
