#include "grid.h"

#include <utility>

namespace margay::detect {

void Grid::reach(std::size_t rows, std::size_t columns) {
  rows = std::max(rows, rows_), columns = std::max(columns, columns_);
  if (columns > columns_) {
    std::vector<float> wider(rows * columns, 0.0f);
    for (std::size_t r = 0; r < rows_; ++r)
      std::copy_n(v_.data() + r * columns_, columns_, wider.data() + r * columns);
    v_ = std::move(wider);
  } else {
    v_.resize(rows * columns, 0.0f);
  }
  rows_ = rows, columns_ = columns;
}

void Grid::reach_before_last(std::size_t rows, std::size_t columns) {
  const std::size_t before = columns_;
  reach(rows, columns);
  if (before == 0 || columns <= before) return;
  for (std::size_t r = 0; r < rows_; ++r)
    (*this)[r][columns - 1] = std::exchange((*this)[r][before - 1], 0.0f);
}

void Grid::widen(std::size_t parts, std::size_t columns) {
  v_ = widened(v_, rows_, parts, columns_ / parts, columns);
  columns_ = parts * columns;
}

}  // namespace margay::detect
