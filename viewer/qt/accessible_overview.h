// The overview to assistive technology: the picture as a table (picture_table.h), through Qt's accessibility
// and, on Linux, AT-SPI.
//
// The table is the overview itself. Its description says how large it is, of what time, and what is selected.
// A cell's name is all that a screen reader has to say of it ("rank6, 15.0 to 16.0 s, stopped 100 %"): so
// there are no header cells, which it would say once more; rows and columns have descriptions for those who
// ask. What the keys select is announced as the cell that has the focus. Pressing a cell is a double click on
// it, taking the focus selects it, selecting a row selects its node. A new answer to somebody who looks
// changes the name of the cell with the focus; a picture that goes on with the run changes without a word,
// for that would be ten times a second.
//
// WHAT IT COSTS. Nothing until somebody asks: Qt makes an object of it with the window, as of every widget,
// which then waits. The table is computed when it is asked for, again when it was asked for after a change,
// and cells one at a time. The newest kMostCells are kept; an older one is gone, and another one is made of
// it when it is asked for again. As many are children, by row and column; what is beyond is reached by row
// and column alone (100,000 resources x 250 columns would be a list that no bus takes). A cell is a place in
// the table: it says what is there now, also after the picture has changed, and is invalid where there is no
// such place any more. So a client that asks for a place that there is not gets an invalid cell, never a
// null: Qt would follow it.
//
// Thread safety: none; belongs to the thread of the window. Ownership: Qt's cache has the table, and lets it
// go with its overview; the table has its cells in that cache.
#pragma once

#include <cstddef>

namespace margay::viewer {

inline constexpr std::size_t kMostCells = 16'384;     // that are kept, and that are children
inline constexpr std::size_t kMostCellsChosen = 256;  // that are listed of a selection

// From now on overviews are tables to who asks. Does nothing the second time.
void make_overviews_accessible();

}  // namespace margay::viewer
