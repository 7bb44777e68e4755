// The pictures themselves, on any QPainter: a widget's, an image's, an SVG file's. Layout is scene's; here it
// becomes ink. All lengths are logical pixels; `area` is where to paint.
//
// Thread safety: with a painter of its own each call is. Cost: linear in what is drawn.
#pragma once

#include <QPainter>
#include <QRectF>
#include <QString>

#include "alerts.h"
#include "margay/scene/collectives.h"
#include "margay/scene/gantt.h"
#include "margay/scene/layout.h"
#include "margay/scene/palette.h"
#include "margay/scene/phase_ribbon.h"
#include "margay/scene/rows.h"
#include "margay/scene/temporal_bars.h"
#include "margay/scene/times.h"
#include "margay/scene/view_data.h"
#include "name_cache.h"

namespace margay::viewer {

inline constexpr double kPad = 4;  // pixels between an edge and the text beside it

QColor colour_of(scene::Rgb c);
QString text_of(const std::string& utf8);

// What is painted, borrowed for the call.
struct Picture {
  const scene::ViewData& data;
  const scene::Rows& rows;
  const scene::Palette& palette;
  NameCache* names = nullptr;  // null: there is no next picture
};

// The rectangles, with the marks of visual aggregates. `layout` is in pixels from the area's corner. Where
// calls are painted over them, those of rows that show them would not be seen.
enum class RectRows { kAll, kFolded };
void paint_rects(QPainter& p, const QRectF& area, const Picture& picture, const scene::Scroll& scroll,
                 const scene::Layout& layout, RectRows which);
// Single visits in the rows of their resources, over the rectangles; what is not known of these is hatched.
// Nothing where there are none.
void paint_calls(QPainter& p, const QRectF& area, const Picture& picture, const scene::Scroll& scroll,
                 const scene::Gantt& calls);
// Messages between these rows, over the visits; dashed where it is not known when they were there. Where some
// are left out it says so.
void paint_messages(QPainter& p, const QRectF& area, const Picture& picture, const scene::Gantt& calls);
// Regions, marks and variables of these rows, over the visits.
void paint_annotations(QPainter& p, const QRectF& area, const Picture& picture,
                       const scene::AnnotationLayout& layout);
// Names of the rows that have room, and of the nodes above them, indented; a triangle where there is
// something to fold.
void paint_labels(QPainter& p, const QRectF& area, const Picture& picture, const scene::Scroll& scroll);
// Where in `area` the row's triangle is; empty for a leaf.
QRectF fold_mark(const QRectF& area, const scene::Row& row, const scene::Scroll& scroll);
// Of an axis and of bars: `kept`, of the picture before and for the next; null: there is none.
void paint_axis(QPainter& p, const QRectF& area, scene::TimeRange range, const scene::Times& times,
                const scene::Palette& palette, NameCache* kept = nullptr);
// Stacked shares of each bar, over `range`; where there is room and they are wanted with their numbers, from
// 1 on.
enum class BarNumbers { kNone, kShown };
void paint_bars(QPainter& p, const QRectF& area, const scene::ViewData& data,
                const std::vector<scene::Bar>& bars, scene::TimeRange range, const scene::Palette& palette,
                BarNumbers numbers = BarNumbers::kNone, NameCache* kept = nullptr);
// Collective calls, each framed over all of its rows.
void paint_bands(QPainter& p, const QRectF& area, const scene::Palette& palette,
                 const std::vector<scene::Band>& bands);
// No family of states has this red, light or dark.
QColor alert_colour(const scene::Palette& palette);
// Alerts as bars at the foot of the phases' ribbon, and as frames round the resources they blame: 256 of
// these at most. What still fires lasts until `now`. `view` is of the area.
void paint_alerts(QPainter& p, const QRectF& area, const QRectF& ribbon, const Picture& picture,
                  const scene::Viewport& view, const std::vector<terminal::AlertView>& alerts, TimeNs now);
// Named phases as a ribbon; a stretch of several has the colour of the one that has most of it.
void paint_phases(QPainter& p, const QRectF& area, const std::vector<scene::PhaseStretch>& phases,
                  scene::TimeRange range, const scene::Palette& palette);
// Boxes and names one behind the other, in lines, as many as have room, and `more` behind them. Returns the
// height that is used.
using LegendEntry = std::pair<scene::Look, QString>;
double paint_legend(QPainter& p, const QRectF& area, const std::vector<LegendEntry>& entries,
                    const scene::Palette& palette, const QString& more = {});
// The colours of the states that occur; where there is no room for all, of those that have the most time, and
// how many others there are. Returns the height that was used.
double paint_legend(QPainter& p, const QRectF& area, const scene::ViewData& data,
                    const scene::Palette& palette);

// A phase's colour: of its name alone.
QColor phase_colour(const std::string& name, const scene::Palette& palette);

}  // namespace margay::viewer
