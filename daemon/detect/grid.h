// A table of floats that grows in both directions without losing anything. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace margay::detect {

// Rows of columns; grows without losing anything. A row takes `stride` floats, a multiple of four, so that
// vectors need not do the last ones singly: those behind its columns may be written, and mean nothing.
class Grid {
 public:
  void reach(std::size_t rows, std::size_t columns);
  // The same; the last column stays the last.
  void reach_before_last(std::size_t rows, std::size_t columns);
  // Each row has `parts` parts of as many columns, which become `columns` wide.
  void widen(std::size_t parts, std::size_t columns);
  void fill(float value) { std::fill(v_.begin(), v_.end(), value); }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t stride() const { return stride_; }
  static std::size_t stride(std::size_t columns) { return (columns + 3) / 4 * 4; }
  float* operator[](std::size_t row) { return v_.data() + row * stride_; }
  const float* operator[](std::size_t row) const { return v_.data() + row * stride_; }
  // From this row on all is 0.
  void clear_from(std::size_t row) {
    std::fill(v_.begin() + static_cast<std::ptrdiff_t>(row * stride_), v_.end(), 0.0f);
  }

 private:
  std::size_t rows_ = 0, columns_ = 0, stride_ = 0;
  std::vector<float> v_;
};

// Of rows of `parts` parts of as many columns as `columns` each: the same with parts that are `wider`; behind
// the last row there may be more, up to `rows` of them.
template <typename T>
std::vector<T> widened(const std::vector<T>& of, std::size_t rows, std::size_t parts, std::size_t columns,
                       std::size_t wider) {
  std::vector<T> out(rows * parts * wider);
  for (std::size_t i = 0; i < of.size(); ++i) out[i / columns * wider + i % columns] = of[i];
  return out;
}

}  // namespace margay::detect
