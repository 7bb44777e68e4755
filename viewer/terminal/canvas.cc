#include "canvas.h"

#include <algorithm>

#include "margay/text/text.h"

namespace margay::terminal {
namespace {

constexpr int kLargest = 4096;

void append_ink(std::string& out, const Ink& ink, bool back, Colour colour) {
  if (!ink.set) return;
  switch (colour) {
    case Colour::kNone:
      return;
    case Colour::k16: {
      const int base = (ink.basic < 8 ? (back ? 40 : 30) : (back ? 100 : 90)) + ink.basic % 8;
      out += ";" + std::to_string(base);
      return;
    }
    case Colour::k256:
      out += (back ? ";48;5;" : ";38;5;") + std::to_string(ink.xterm);
      return;
    case Colour::kTruecolour:
      out += (back ? ";48;2;" : ";38;2;") + std::to_string(ink.rgb >> 16 & 0xFF) + ";" +
             std::to_string(ink.rgb >> 8 & 0xFF) + ";" + std::to_string(ink.rgb & 0xFF);
      return;
  }
}

void append_style(std::string& out, const Style& s, Colour colour) {
  out += "\x1b[0";
  if (s.bold) out += ";1";
  if (s.dim) out += ";2";
  if (s.reverse) out += ";7";
  append_ink(out, s.front, false, colour);
  append_ink(out, s.back, true, colour);
  out += "m";
}

}  // namespace

Canvas::Canvas(int width, int height)
    : width_(std::clamp(width, 0, kLargest)),
      height_(std::clamp(height, 0, kLargest)),
      cells_(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_)) {}

Canvas::Cell* Canvas::at(int column, int line) {
  if (column < 0 || column >= width_ || line < 0 || line >= height_) return nullptr;
  return &cells_[static_cast<std::size_t>(line) * static_cast<std::size_t>(width_) +
                 static_cast<std::size_t>(column)];
}

void Canvas::put_character(int column, int line, char32_t c, const Style& style) {
  Cell* cell = at(column, line);
  if (cell == nullptr) return;
  int columns = text::columns_of(c);
  if (columns == 0) c = U'?', columns = 1;  // nothing unprintable gets past this line
  Cell* right = columns == 2 ? at(column + 1, line) : nullptr;
  if (columns == 2 && right == nullptr) c = U' ';
  // Whatever wide character is cut in half by this one becomes blank.
  if (cell->c == 0) at(column - 1, line)->c = U' ';
  Cell* next = at(column + (right != nullptr ? 2 : 1), line);
  if (next != nullptr && next->c == 0) next->c = U' ';
  *cell = {c, style};
  if (right != nullptr) *right = {0, style};
}

int Canvas::put(int column, int line, std::string_view text, const Style& style, int most) {
  while (!text.empty()) {
    const char32_t c = text::next_character(text);
    const int columns = std::max(text::columns_of(c), 1);
    most -= columns;
    if (most < 0 || column + columns > width_) break;
    put_character(column, line, c, style);
    column += columns;
  }
  return column;
}

int Canvas::put_right(int end_column, int line, std::string_view text, const Style& style) {
  return put(end_column - static_cast<int>(text::width_of(text)), line, text, style);
}

void Canvas::fill(int column, int line, int columns, char32_t c, const Style& style) {
  for (int i = 0; i < columns; ++i) put_character(column + i, line, c, style);
}

std::vector<std::string> Canvas::lines(Colour colour) const {
  std::vector<std::string> out(static_cast<std::size_t>(height_));
  for (std::size_t y = 0; y < out.size(); ++y) {
    const Cell* row = cells_.data() + y * static_cast<std::size_t>(width_);
    int end = width_;
    while (end > 0 && row[end - 1].c == U' ' && row[end - 1].style == Style{}) --end;
    Style now{};
    for (int x = 0; x < end; ++x) {
      if (row[x].c == 0) continue;
      if (colour != Colour::kNone && row[x].style != now) {
        now = row[x].style;
        append_style(out[y], now, colour);
      }
      text::append_utf8(out[y], row[x].c);
    }
    if (now != Style{}) out[y] += "\x1b[0m";
  }
  return out;
}

}  // namespace margay::terminal
