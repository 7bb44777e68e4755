// The rectangle that somebody marked (margay/scene/marked.h), as it is dragged, painted and told of.
//
// Thread safety: as the session. Cost: as scene::marked_area() and place_of().
#pragma once

#include <QPainter>
#include <QPointF>

#include "session.h"
#include "sheet.h"

namespace margay::viewer {

// Between two corners within the widget: the rows and slices that they are in, and all between.
Result<scene::MarkedArea> marked_between(const Session& session, const Sheet& sheet, QPointF a, QPointF b);
// Round its rows, where the picture has some of it: one frame for each stretch of rows that lie side by side.
void paint_marked(QPainter& p, const Session& session, const Sheet& sheet);
// "in the marked rectangle: /node1/rank6 and 3 others"; of a rectangle of everything only that.
QString marked_text(const scene::MarkedArea& area);

}  // namespace margay::viewer
