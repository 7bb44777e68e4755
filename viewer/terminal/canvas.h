// A grid of styled characters: whatever is put on it, its lines are never wider or more than the grid.
//
// Texts put here must come from text::printable() or be literals. Thread safety: a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "margay/terminal/render.h"

namespace margay::terminal {

// 0xRRGGBB, the xterm index and the index of the 16 basic colours, chosen by the palette together.
struct Ink {
  bool set = false;
  std::uint32_t rgb = 0;
  std::uint8_t xterm = 0;
  std::uint8_t basic = 0;
  bool operator==(const Ink&) const = default;
};

struct Style {
  Ink front{};
  Ink back{};
  bool bold = false;
  bool dim = false;
  bool reverse = false;
  bool operator==(const Style&) const = default;
};

class Canvas {
 public:
  // Sizes below 1 make an empty grid; above 4096 they are cut.
  Canvas(int width, int height);
  int width() const { return width_; }
  int height() const { return height_; }

  // Puts `text` at (column, line), at most `most` columns of it; gives the column after it.
  int put(int column, int line, std::string_view text, const Style& style = {}, int most = 1 << 20);
  int put_right(int end_column, int line, std::string_view text, const Style& style = {});
  void put_character(int column, int line, char32_t c, const Style& style = {});
  void fill(int column, int line, int columns, char32_t c, const Style& style = {});

  std::vector<std::string> lines(Colour colour) const;

 private:
  struct Cell {
    char32_t c = U' ';  // 0: the right half of a wide character
    Style style;
  };
  Cell* at(int column, int line);
  int width_, height_;
  std::vector<Cell> cells_;
};

}  // namespace margay::terminal
