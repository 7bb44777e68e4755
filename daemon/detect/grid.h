// A table of floats that grows in both directions without losing anything. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace margay::detect {

// Rows of columns; grows without losing anything.
class Grid {
 public:
  void reach(std::size_t rows, std::size_t columns);
  // Each row has `parts` parts of as many columns, which become `columns` wide.
  void widen(std::size_t parts, std::size_t columns);
  void fill(float value) { std::fill(v_.begin(), v_.end(), value); }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  float* operator[](std::size_t row) { return v_.data() + row * columns_; }
  const float* operator[](std::size_t row) const { return v_.data() + row * columns_; }
  // From this row on all is 0.
  void clear_from(std::size_t row) {
    std::fill(v_.begin() + static_cast<std::ptrdiff_t>(row * columns_), v_.end(), 0.0f);
  }

 private:
  std::size_t rows_ = 0, columns_ = 0;
  std::vector<float> v_;
};

}  // namespace margay::detect
