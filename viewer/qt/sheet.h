// The overview as one sheet, the same in the window and in files: the picture with its resources' names on
// the left; under it the phases, those of coarser levels, the temporal overview and the time axis, all over
// the same time.
//
// Lengths are logical pixels. Thread safety: with a painter of its own each call is. Cost: linear in what is
// drawn.
#pragma once

#include <QPainter>
#include <QRectF>
#include <vector>

#include "margay/base/time.h"
#include "margay/scene/gantt.h"
#include "margay/scene/layout.h"
#include "margay/scene/phase_ribbon.h"
#include "margay/scene/temporal_bars.h"
#include "margay/scene/view_data.h"
#include "name_cache.h"
#include "session.h"

namespace margay::viewer {

// Where its parts are. Never empty: in a room that is too small they reach beyond it.
struct Sheet {
  // `levels`: ribbons of coarser levels, scene::kMostLevelRibbons at most.
  explicit Sheet(const QRectF& room, double least_height = 1, std::size_t levels = 0);
  QRectF labels, picture, ribbon, bars, axis;
  std::vector<QRectF> level_ribbons;  // from the finest down, right below each other

  scene::Viewport viewport(scene::TimeRange time, const scene::Scroll& scroll) const {
    return {picture.width(), picture.height(), time, scroll};
  }
};

// What is painted, borrowed for the call. REQUIRES: the session's data is not empty.
struct SheetContents {
  const Session& session;
  scene::TimeRange time;                // of the sheet, more or less than the data's
  const scene::Layout& layout;          // of the session's data, for the sheet's viewport
  const std::vector<scene::Bar>& bars;  // temporal_bars_of(session)
  const scene::Gantt& calls;            // as the layout; over it where there are any
  NameCache* names = nullptr;           // null: there is no next picture
};

// The temporal partition where it is of the same time; until then the picture's own, over all resources.
const scene::ViewData& temporal_of(const Session& session);
std::vector<scene::Bar> temporal_bars_of(const Session& session);
// Told apart no finer than the picture at a p that somebody chose, else as the daemon has them. None without
// a report.
std::vector<scene::PhaseStretch> phases_of(const Session& session);

// Of coarser levels; none without a report.
std::size_t level_ribbons_of(const Session& session);

// What of `range`, which is all of `area`, is not `known`: not there, or not known yet.
void hatch_beyond(QPainter& p, const QRectF& area, scene::TimeRange known, scene::TimeRange range,
                  const scene::Palette& palette);
void paint_sheet(QPainter& p, const Sheet& sheet, const SheetContents& contents);

}  // namespace margay::viewer
