// The overview in words: the same picture as a table that can be walked through without seeing it.
//
// ROWS are those of the picture, from top to bottom: resources and folded nodes, also those that are scrolled
// out of sight; then the phases, and all resources together.
//
// COLUMNS are the stretches of time between two cuts that anything in the table has: parts, phases, the bars
// of all together. A CELL is a part in its row, and spans the columns that it lasts. So the next cell to the
// right is the next part of the same resource, and the one below is what another one did at that time:
// columns that are parts counted by each row would not line up. What a cell stands for:
//  - in a resource's row a part of the partition, also where it is of a node above: then the words say of how
//    many resources it is;
//  - in a folded row what lies between two cuts that all parts below share (as scene::temporal_bars());
//  - a phase, or the time between two; a bar.
//
// Cells partition a row, columns and rows are counted from 0, ranges are half-open. Times are told in seconds
// from the picture's zero, whatever their size, and as exactly as slices tell them: so the ear can compare.
// Single calls are not in it: the page Events lists these, as a table of its own.
//
// Thread safety: none; belongs to the thread of the window. Ownership: borrows the session, and is of what it
// shows now: to be made anew when its data, rows or report change. Cost: making one is linear in the parts
// and phases. cell() is linear in the parts of its row, and logarithmic in a row that was asked for just
// before; words are linear in the parts of the cell's row, the states, the alerts, and the children on the
// way to it. Memory: the cuts, and the cells of one row.
#pragma once

#include <QString>
#include <string_view>
#include <vector>

#include "margay/scene/phase_ribbon.h"
#include "session.h"

namespace margay::viewer {

// "100 %", "4.2 %", "< 0.1 %" of [0, 1].
QString share_text(double share);

class PictureTable {
 public:
  static constexpr std::size_t kMostStatesRead = 5;  // of a cell; what is left is one number
  static constexpr std::size_t kMostAlertsRead = 3;  // of a cell; of others how many they are

  explicit PictureTable(const Session& session);

  struct Cell {
    int row = 0, first = 0, last = 0;  // columns [first, last)
    bool operator==(const Cell&) const = default;
  };

  int rows() const { return resources_ + phase_rows_ + together_rows_; }
  int columns() const { return cuts_.empty() ? 0 : static_cast<int>(cuts_.size()) - 1; }
  // The rows that are resources or folded nodes: [0, resources()).
  int resources() const { return resources_; }
  bool has(int row, int column) const {
    return row >= 0 && row < rows() && column >= 0 && column < columns();
  }
  // Each REQUIRES has(), or a cell of cell().
  Cell cell(int row, int column) const;
  scene::TimeRange time(const Cell& cell) const;
  // What a click on it selects: its node, of the phases and all together the root, and its slices.
  Session::Selection selection(const Cell& cell) const;
  // "rank6, 15.0 to 16.0 s, stopped 100 %": who, when, and how much of what, the largest share first. Where
  // something is measured, so much of its unit. Then the alerts that blame it, or somebody in it, in this
  // time: "; alert: rank6 on node1 has been stopped for 0.9 s". In the row of the phases all alerts.
  QString words(const Cell& cell) const;
  // What else there is to know: the path, how long it lasts, gain and loss.
  QString more(const Cell& cell) const;
  // The path, and whether it is folded.
  QString row_words(int row) const;
  QString column_words(int column) const;
  // How large it is, of what time, and what is selected; why it is empty where it is.
  QString summary() const;

  // The column in which a time lies, the first or the last for one outside; -1 without columns.
  int column_at(TimeNs time) const;
  // The cell that has a selection's first row and slice; its `last` is 0 where there is none.
  Cell cell_of(const Session::Selection& selection) const;

 private:
  enum class Kind { kResource, kPhase, kTogether };
  Kind kind(int row) const;
  const scene::Row& row(int row) const;
  const std::vector<int>& ends_of(int row) const;
  QString span(scene::TimeRange time) const;
  QString who(std::uint32_t node, std::size_t first, std::size_t last) const;
  QString states(const scene::ViewData& data, const scene::Proportions& of) const;
  QString words_of(std::uint32_t node, std::size_t first, std::size_t last) const;
  QString phase_words(scene::TimeRange time) const;
  QString alert_words(scene::TimeRange time, std::string_view path) const;

  const Session& session_;
  const scene::ViewData &data_, &together_;
  std::vector<scene::PhaseStretch> phases_;
  std::vector<TimeNs> cuts_;  // ascending; one more than columns
  int resources_ = 0, phase_rows_ = 0, together_rows_ = 0;
  int decimals_ = 1;  // of a time in seconds
  // Where the cells of a row end, of the one that was asked for last.
  mutable int ends_row_ = -1;
  mutable std::vector<int> ends_;
};

}  // namespace margay::viewer
