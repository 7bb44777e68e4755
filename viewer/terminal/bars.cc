// The rows of the hierarchy and the legend of their states.
#include <algorithm>
#include <cmath>
#include <map>

#include "margay/text/text.h"
#include "measured.h"
#include "sections.h"

namespace margay::terminal {
namespace {

// Bars keep one order of states, so that neighbours can be compared: families as below, then ids.
int family_place(const std::string& family) {
  static constexpr const char* kOrder[] = {"compute",   "point-to-point", "collective", "wait",    "I/O",
                                           "start/end", "region",         "other",      "unknown", "absent"};
  int place = 0;
  for (const char* f : kOrder) {
    if (family == f) return place;
    ++place;
  }
  return place;
}

struct Segment {
  StateLook look;
  double from, to;  // columns
};

std::vector<Segment> segments(const Scene& s, const wire::NodeBar& node, int columns) {
  struct Piece {
    int place;
    Share share;
    StateLook look;
  };
  std::vector<Piece> pieces;
  for (const Share& share : clean_shares(node.shares())) {
    StateLook look = s.palette.look(share.state);
    const int place = family_place(look.family);
    pieces.push_back({place, share, std::move(look)});
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.place != b.place ? a.place < b.place : a.share.state < b.share.state;
  });
  std::vector<Segment> out;
  double at = 0;
  for (Piece& p : pieces) {
    const double to = std::min(at + p.share.share * columns, static_cast<double>(columns));
    out.push_back({std::move(p.look), at, to});
    at = to;
  }
  // Rounding must not leave a hole at the end of a full bar.
  if (!out.empty() && at > columns * 0.995) out.back().to = columns;
  return out;
}

void draw_cell(Scene& s, int column, int line, const StateLook& look) {
  Style style;
  if (s.view.colour == Colour::kNone) {
    s.canvas.put_character(column, line, look.letter);
  } else if (look.glyph != 0) {
    style.front = look.ink;
    s.canvas.put_character(column, line, look.glyph, style);
  } else {
    style.back = look.ink;
    s.canvas.put_character(column, line, U' ', style);
  }
}

void draw_bar(Scene& s, int column, int line, int columns, const wire::NodeBar& node) {
  const std::vector<Segment> parts = segments(s, node, columns);
  for (int i = 0; i < columns; ++i) {
    const Segment* most = nullptr;
    const Segment* left = nullptr;
    double most_part = 0;
    for (const Segment& p : parts) {
      const double part = std::min<double>(p.to, i + 1) - std::max<double>(p.from, i);
      if (part <= 0) continue;
      if (left == nullptr) left = &p;
      if (part > most_part) most_part = part, most = &p;
    }
    if (most == nullptr || (most_part < 0.5 && parts.back().to < i + 0.5)) {
      s.canvas.put_character(column + i, line, s.view.unicode ? U'\u00B7' : U' ', Palette::faint());
      continue;
    }
    // A boundary inside the cell is drawn to an eighth of a column: the left state over the right one's
    // ground.
    const Segment* right = left + 1 < parts.data() + parts.size() ? left + 1 : nullptr;
    const bool two = right != nullptr && left->to < i + 1 && right->to >= i + 1;
    if (two && s.view.unicode && s.view.colour != Colour::kNone && left->look.glyph == 0 &&
        right->look.glyph == 0) {
      const int eighths = static_cast<int>(std::lround((left->to - i) * 8));
      if (eighths > 0 && eighths < 8) {
        Style style;
        style.front = left->look.ink;
        style.back = right->look.ink;
        s.canvas.put_character(column + i, line, U'\u2590' - static_cast<char32_t>(eighths), style);
        continue;
      }
      most = eighths == 0 ? right : left;
    }
    draw_cell(s, column + i, line, most->look);
  }
}

Style letter_style(const Scene& s, const StateLook& look) {
  Style style;
  if (s.view.colour == Colour::kNone) return style;
  style.back = look.ink;
  style.front = Palette::on_ink();
  return style;
}

// What of the partition the row has: where a part begins, and there is room, stands a mark; else the mode.
void draw_strip(Scene& s, int column, int line, int columns, int node) {
  const auto cells = s.strips->row(static_cast<std::uint32_t>(node), columns);
  for (int i = 0; i < columns; ++i) {
    const Strips::Cell& cell = cells[static_cast<std::size_t>(i)];
    if (cell.state < 0) {
      s.canvas.put_character(column + i, line, s.view.unicode ? U'\u00B7' : U' ', Palette::faint());
      continue;
    }
    const StateLook look = s.palette.look(static_cast<std::uint32_t>(cell.state));
    const Style style = letter_style(s, look);
    const char32_t mark = s.view.unicode ? U'\u2502' : U'|';
    s.canvas.put_character(column + i, line, cell.cut ? mark : look.letter, style);
  }
}

std::string short_state(const Scene& s, const std::string& name) {
  if (s.canvas.width() < 110 && name.rfind("MPI_", 0) == 0 && name.size() > 4) return name.substr(4);
  return name;
}

std::string percent_text(double share) {
  const int p = static_cast<int>(std::lround(share * 100));
  std::string text = std::to_string(p) + "%";
  if (p == 0) text = "<1%";
  return std::string(4 - std::min<std::size_t>(text.size(), 4), ' ') + text;
}

std::string measured_column(double value) {
  const std::string text = amount_text(value);
  return std::string(4 - std::min<std::size_t>(text.size(), 4), ' ') + text;
}

std::string row_label(const Scene& s, const Row& row) {
  const auto& node = s.report.nodes(row.node);
  std::string label(std::min<std::size_t>(node.depth(), 12), ' ');
  label += node_label(node);
  const int leaves = node.leaves() > 0 ? static_cast<int>(std::min<std::uint32_t>(node.leaves(), 1u << 30))
                                       : row.hidden_leaves;
  if (row.hidden_leaves > 0) label += " (" + std::to_string(leaves) + ")";
  return label;
}

// "STOPPED", or of a closed node "2 stopped, 1 lost"; empty when all is well.
std::string condition_text(const Scene& s, const Row& row, bool* bad) {
  const std::string& own = s.report.nodes(row.node).condition();
  std::string text;
  if (!own.empty()) {
    text = s.safe(own, 16);
    *bad = own != "ended";
    if (*bad)
      std::transform(text.begin(), text.end(), text.begin(),
                     [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return text;
  }
  const auto add = [&](int n, const char* what, bool is_bad) {
    if (n == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + what;
    *bad = *bad || is_bad;
  };
  add(row.lost, "LOST", true);
  add(row.stopped, "STOPPED", true);
  add(row.silent, "SILENT", true);
  add(row.ended, "ended", false);
  return text;
}

void draw_row(Scene& s, int line, const Row& row, int label_columns, int bar_columns, int entry) {
  const auto& node = s.report.nodes(row.node);
  const bool is_blamed = blamed(s.alerts, node.path(), row.hidden_leaves > 0);
  if (is_blamed) s.canvas.put(0, line, "!", Palette::bad());
  bool bad = false;
  const std::string condition = condition_text(s, row, &bad);
  s.canvas.put(2, line,
               text::shortened(s.safe(row_label(s, row), 100), static_cast<std::size_t>(label_columns),
                               s.view.unicode),
               is_blamed || bad ? Palette::bad_text() : Style{});
  if (s.strips)
    draw_strip(s, 3 + label_columns, line, bar_columns, row.node);
  else
    draw_bar(s, 3 + label_columns, line, bar_columns, node);
  int x = 3 + label_columns + bar_columns + 1;
  if (!condition.empty()) x = s.canvas.put(x, line, condition, bad ? Palette::bad() : Palette::faint()) + 1;
  for (const Share& share : clean_shares(node.shares())) {
    const int room = s.canvas.width() - x;
    if (room < 11) break;
    s.canvas.put(x, line, s.report.has_measured() ? measured_column(share.value) : percent_text(share.share),
                 Palette::strong());
    s.canvas.put(x + 5, line,
                 text::shortened(short_state(s, s.palette.look(share.state).name),
                                 static_cast<std::size_t>(std::min(room, entry) - 6), s.view.unicode));
    x += entry;
  }
}

struct LegendEntry {
  StateLook look;
  std::uint32_t state;
};
std::vector<LegendEntry> legend_entries(const Scene& s) {
  constexpr std::size_t kMostRows = 512;
  std::map<std::uint32_t, double> most;  // at most kMostRows * 64
  std::size_t rows = 0;
  for (const Row& row : s.tree.rows) {
    if (++rows > kMostRows) break;
    for (const Share& share : clean_shares(s.report.nodes(row.node).shares()))
      most[share.state] = std::max(most[share.state], share.share);
  }
  if (s.strips)
    for (const std::uint32_t state : s.strips->modes()) most[state] = 1;
  std::vector<LegendEntry> out;
  for (const auto& [state, share] : most)
    if (share >= 0.005) out.push_back({s.palette.look(state), state});
  std::stable_sort(out.begin(), out.end(), [](const LegendEntry& a, const LegendEntry& b) {
    return family_place(a.look.family) < family_place(b.look.family);
  });
  return out;
}

// Walks over the legend; with `draw` false only counts lines.
int lay_legend(const Scene& s, Canvas* canvas, int line, int lines) {
  int x = 0, used = 1;
  for (const LegendEntry& e : legend_entries(s)) {
    const std::string name = text::shortened(short_state(s, e.look.name), 24, s.view.unicode);
    const int columns = static_cast<int>(text::width_of(name)) + (s.view.colour == Colour::kNone ? 3 : 4);
    if (x > 0 && x + columns > s.canvas.width()) {
      if (used == lines) {
        if (canvas != nullptr) canvas->put(std::min(x, s.canvas.width() - 3), line, "...", Palette::faint());
        return used;
      }
      x = 0, ++used, ++line;
    }
    if (canvas != nullptr) {
      Style swatch;
      char32_t c = e.look.letter;
      if (s.view.colour != Colour::kNone) {
        c = e.look.glyph != 0 ? e.look.glyph : U' ';
        (e.look.glyph != 0 ? swatch.front : swatch.back) = e.look.ink;
        canvas->fill(x, line, 2, c, swatch);
        if (s.strips) canvas->put_character(x, line, e.look.letter, letter_style(s, e.look));
        canvas->put(x + 3, line, name);
      } else {
        canvas->put_character(x, line, c);
        canvas->put(x + 1, line, "=" + name);
      }
    }
    x += columns + 1;
  }
  return used;
}

}  // namespace

Scrolled draw_nodes(Scene& s, int line, int lines) {
  Scrolled out;
  const std::vector<Row>& rows = s.tree.rows;
  const int w = s.canvas.width();
  if (lines <= 0) return out;
  if (rows.empty()) {
    s.canvas.put(0, line, s.view.link == Link::kWaiting ? "no report yet" : "no resource has sent events yet",
                 Palette::faint());
    return out;
  }
  std::size_t longest = 4;
  for (std::size_t i = 0; i < rows.size() && i < 512; ++i)
    longest = std::max(longest, std::min<std::size_t>(text::width_of(row_label(s, rows[i])), 60));
  const int label = std::min(static_cast<int>(longest), std::max(6, w / 4));
  // Columns of "100% name": as the two largest states of the rows need, so that they stand below each other.
  int entry = 12;
  for (std::size_t i = 0; i < rows.size() && i < 512; ++i) {
    const auto shares = clean_shares(s.report.nodes(rows[i].node).shares());
    for (std::size_t k = 0; k < shares.size() && k < 2; ++k)
      entry = std::max(
          entry, static_cast<int>(text::width_of(short_state(s, s.palette.look(shares[k].state).name))) + 7);
  }
  entry = std::min(entry, 26);
  // Beside the partition only what a resource does most.
  const int text = w < 44 ? 0 : s.strips ? std::min(w / 4, entry + 8) : std::min(w * 2 / 5, 66);
  const int bar = std::max(0, w - 3 - label - (text > 0 ? text + 1 : 0));

  const int count = static_cast<int>(rows.size());
  const bool scrolls = count > lines && lines > 2;
  const int pinned = scrolls && lines > 3 && s.report.nodes(rows[0].node).depth() == 0 ? 1 : 0;
  out.page = std::max(1, lines - pinned - (scrolls ? 1 : 0));
  out.scroll_most = std::max(0, count - pinned - out.page);
  out.scroll = std::clamp(s.view.scroll, 0, out.scroll_most);
  if (pinned == 1) draw_row(s, line, rows[0], label, bar, entry);
  for (int i = 0; i < out.page && pinned + out.scroll + i < count; ++i) {
    const int row = pinned + out.scroll + i;
    draw_row(s, line + pinned + i, rows[static_cast<std::size_t>(row)], label, bar, entry);
  }
  if (scrolls) {
    const int below = count - pinned - out.scroll - out.page;
    std::string more = "  + " + std::to_string(below) + " more";
    if (out.scroll > 0) more += ", " + std::to_string(out.scroll) + " above";
    s.canvas.put(0, line + lines - 1, more + s.sign("  (\u2191\u2193)", "  (up/down)"), Palette::faint());
  }
  return out;
}

int legend_lines(const Scene& s) {
  return lay_legend(s, nullptr, 0, 1 << 20);
}
void draw_legend(Scene& s, int line, int lines) {
  if (lines > 0) lay_legend(s, &s.canvas, line, lines);
}

}  // namespace margay::terminal
