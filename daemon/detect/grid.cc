#include "grid.h"

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

void Grid::widen(std::size_t parts, std::size_t columns) {
  const std::size_t narrow = columns_ / parts;
  std::vector<float> wider(rows_ * parts * columns, 0.0f);
  for (std::size_t r = 0; r < rows_; ++r)
    for (std::size_t k = 0; k < parts; ++k)
      std::copy_n(v_.data() + r * columns_ + k * narrow, narrow, wider.data() + (r * parts + k) * columns);
  v_ = std::move(wider);
  columns_ = parts * columns;
}

}  // namespace margay::detect
