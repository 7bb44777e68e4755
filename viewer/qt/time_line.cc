#include "time_line.h"

#include <algorithm>

#include "margay/scene/time_axis.h"
#include "paint.h"
#include "picture_table.h"

namespace margay::viewer {
namespace {

constexpr int kMostBarStates = 24;

}  // namespace

std::optional<BelowPicture> below_picture(const Session& session, const Sheet& sheet,
                                          const std::vector<scene::Bar>& bars, QPointF at) {
  const scene::ViewData& data = temporal_of(session);
  if (data.empty() || at.x() < sheet.picture.left() || at.x() > sheet.picture.right()) return std::nullopt;
  const TimeNs time =
      scene::time_at(sheet.viewport(session.time(), session.scroll()), at.x() - sheet.picture.left());
  BelowPicture out;
  if (sheet.axis.contains(at)) {
    out.time = {time, time};
    return out;
  }
  if (sheet.bars.contains(at)) {
    const auto bar = std::find_if(bars.begin(), bars.end(), [&](const scene::Bar& b) {
      return b.last < data.boundaries.size() && data.boundaries[b.first] <= time &&
             time < data.boundaries[b.last];
    });
    if (bar == bars.end()) return std::nullopt;
    out.kind = BelowPicture::Kind::kBar;
    out.bar = static_cast<std::size_t>(bar - bars.begin());
    out.time = {data.boundaries[bar->first], data.boundaries[bar->last]};
    return out;
  }
  if (!sheet.ribbon.contains(at)) return std::nullopt;
  for (scene::PhaseStretch& phase : phases_of(session)) {
    if (time < phase.from || time >= phase.to) continue;
    out.kind = BelowPicture::Kind::kPhase;
    out.time = {phase.from, phase.to};
    out.phase = std::move(phase);
    return out;
  }
  return std::nullopt;
}

QString shares_table(const Session& session, const scene::ViewData& data, const scene::Proportions& of,
                     int most) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t x = 0; x < of.shares.size(); ++x)
    if (of.shares[x] > 0) order.push_back(x);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return of.shares[a] > of.shares[b]; });
  const auto row = [](const QString& mark, const QString& name, const QString& share) {
    return QString("<tr><td>%1</td><td>%2</td><td align=right>&nbsp;%3</td></tr>").arg(mark, name, share);
  };
  QString out = "<table cellspacing=0 cellpadding=1>";
  double rest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t x = order[i];
    if (static_cast<int>(i) >= most) {
      rest += of.shares[x];
      continue;
    }
    const scene::Look look = session.palette().look(data.states[x].name, data.states[x].family);
    out += row(QString("<font color='%1'>&#9632;</font>").arg(colour_of(look.colour).name()),
               text_of(data.states[x].name).toHtmlEscaped(), share_text(of.shares[x]));
  }
  if (order.size() > static_cast<std::size_t>(most))
    out +=
        row({}, QObject::tr("%1 more").arg(order.size() - static_cast<std::size_t>(most)), share_text(rest));
  if (of.unknown > 0.001)
    out += row({}, "<i>" + QObject::tr("not there, or not known") + "</i>", share_text(of.unknown));
  return out + "</table>";
}

QString below_text(const Session& session, const std::vector<scene::Bar>& bars, const BelowPicture& what) {
  const QString time =
      text_of(what.time.from < what.time.to ? scene::range_text(what.time, session.times())
                                            : scene::time_text(what.time.from, session.times()))
          .toHtmlEscaped();
  if (what.kind == BelowPicture::Kind::kAxis) return time;
  if (what.kind == BelowPicture::Kind::kPhase)
    return "<b>" + QObject::tr("phase %1").arg(text_of(scene::phase_text(what.phase)).toHtmlEscaped()) +
           "</b><br>" + time;
  const scene::ViewData& data = temporal_of(session);
  const scene::Bar& bar = bars[what.bar];
  QString out = "<b>" + QObject::tr("all together, part %1 of %2").arg(what.bar + 1).arg(bars.size()) +
                "</b><br>" + time;
  out += shares_table(session, data, scene::proportions(data, 0, data.leaves(), bar.first, bar.last),
                      kMostBarStates);
  const auto pooled = std::find_if(bar.segments.begin(), bar.segments.end(),
                                   [](const scene::Segment& s) { return s.states > 1; });
  if (pooled != bar.segments.end())
    out += QObject::tr("the %1 smallest are drawn as one, hatched").arg(pooled->states) + "<br>";
  return out + QObject::tr("p %1, gain %2 bits, loss %3 bits")
                   .arg(text_of(scene::p_text(data.p)))
                   .arg(bar.gain, 0, 'g', 4)
                   .arg(bar.loss, 0, 'g', 4);
}

}  // namespace margay::viewer
