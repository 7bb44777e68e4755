#include "grid.h"

#include <utility>

namespace margay::detect {

void Grid::reach(std::size_t rows, std::size_t columns) {
  rows = std::max(rows, rows_), columns = std::max(columns, columns_);
  const std::size_t wide = stride(columns);
  if (columns > columns_) {
    std::vector<float> wider(rows * wide, 0.0f);
    for (std::size_t r = 0; r < rows_; ++r) std::copy_n((*this)[r], columns_, wider.data() + r * wide);
    v_ = std::move(wider);
  } else {
    v_.resize(rows * wide, 0.0f);
  }
  rows_ = rows, columns_ = columns, stride_ = wide;
}

void Grid::reach_before_last(std::size_t rows, std::size_t columns) {
  const std::size_t before = columns_;
  reach(rows, columns);
  if (before == 0 || columns <= before) return;
  for (std::size_t r = 0; r < rows_; ++r)
    (*this)[r][columns - 1] = std::exchange((*this)[r][before - 1], 0.0f);
}

void Grid::widen(std::size_t parts, std::size_t columns) {
  Grid wider;
  wider.reach(rows_, parts * columns);
  const std::size_t before = columns_ / parts;
  for (std::size_t r = 0; r < rows_; ++r)
    for (std::size_t k = 0; k < parts; ++k)
      std::copy_n((*this)[r] + k * before, before, wider[r] + k * columns);
  *this = std::move(wider);
}

}  // namespace margay::detect
