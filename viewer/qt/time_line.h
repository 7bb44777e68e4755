// What is below the picture: the bars of the time line and the ribbon of phases, as they are hit and said.
//
// Thread safety: none; belongs to the window's thread. Cost: linear in bars, phases and the states of a bar.
#pragma once

#include <QPointF>
#include <QString>
#include <optional>
#include <vector>

#include "margay/scene/temporal_bars.h"
#include "session.h"
#include "sheet.h"

namespace margay::viewer {

// What is there: a bar, a phase, or a moment of the axis.
struct BelowPicture {
  enum class Kind { kBar, kPhase, kAxis } kind = Kind::kAxis;
  scene::TimeRange time;  // of the axis the moment, twice
  std::size_t bar = 0;    // index, of a bar
  scene::PhaseStretch phase;
};
// `bars`: of temporal_of(session).
std::optional<BelowPicture> below_picture(const Session& session, const Sheet& sheet,
                                          const std::vector<scene::Bar>& bars, QPointF at);
// "part 3 of 12", its time, every state that it has, also those that are pooled, as rich text; of a phase its
// name, of the axis the time.
QString below_text(const Session& session, const std::vector<scene::Bar>& bars, const BelowPicture& what);

// The shares of an area as rows of a rich text's table: the largest `most`, then how many more there are, and
// what they come to.
QString shares_table(const Session& session, const scene::ViewData& data, const scene::Proportions& of,
                     int most);

}  // namespace margay::viewer
