// A table for people: columns as wide as their widest cell, two columns of space before each, no space at the
// end of a line. Cells must be printable already (text.h).
//
// Thread safety: none. Cost: linear in the text.
#pragma once

#include <string>
#include <vector>

namespace margay::text {

class Table {
 public:
  // A head that begins with '>' goes to the right, and so does what is below it.
  explicit Table(std::vector<std::string> head);
  // As many cells as the head has, or fewer.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace margay::text
