// A frame: which section gets how many lines. Sections are served in the order of what a person must see
// first, so that a small terminal loses decoration before facts.
#include "margay/terminal/render.h"

#include <algorithm>

#include "margay/text/text.h"
#include "measured.h"
#include "sections.h"

namespace margay::terminal {
namespace {

constexpr int kMostAlerts = 200;

struct Lines {
  int title = 0, vitals = 0, loss = 0, phase = 0, ribbon = 0, axis = 0, nodes_rule = 0, nodes = 0, legend = 0,
      alerts_rule = 0, alerts = 0, footer = 0;
};

Lines share_out(const Scene& s) {
  Lines l;
  const int height = s.canvas.height();
  int left = height;
  const auto give = [&left](int& to, int up_to) {
    const int n = std::clamp(up_to - to, 0, left);
    to += n;
    left -= n;
  };
  const int rows = std::max<int>(1, static_cast<int>(s.tree.rows.size()));
  const int alerts = alert_lines(s, false);
  give(l.title, 1);
  give(l.nodes, 1);
  give(l.loss, s.report.health().lost_events() > 0 ? 1 : 0);
  give(l.vitals, 1);
  give(l.footer, 1);
  give(l.phase, 1);
  give(l.alerts, 1);
  give(l.nodes, std::min(rows, 2));
  if (height >= 9) give(l.legend, 1);
  if (height >= 10) give(l.ribbon, 1);
  give(l.nodes, std::min(rows, 4));
  if (height >= 14) give(l.axis, 1);
  if (height >= 18) {
    give(l.nodes_rule, 1);
    give(l.alerts_rule, 1);
  }
  give(l.alerts, std::min(alerts, std::max(2, height / 6)));
  if (height >= 20) give(l.legend, std::min(legend_lines(s), height >= 40 ? 4 : 2));
  give(l.nodes, rows);
  give(l.alerts, alert_lines(s, true));
  return l;
}

// The room that rows have whatever alerts come and go, so that the depth does not jump with them.
int steady_room(int height) {
  return std::max(3, height >= 18 ? height - 12 : height - (height >= 14 ? 9 : 7));
}

std::string alerts_title(const Scene& s) {
  return s.alerts.empty() ? "alerts" : "alerts: " + count_text(s.alerts, "firing");
}

}  // namespace

Frame draw(const wire::Report& report, const View& view, TimeNs now) {
  Scene s{report,
          view,
          now,
          Palette(report, view.unicode),
          Canvas(view.width, view.height),
          read_alerts(report, kMostAlerts),
          {},
          view.bars ? std::nullopt : Strips::of(report)};
  s.tree = visible_tree(report, s.alerts, view.depth, steady_room(s.canvas.height()));
  Frame frame;
  frame.depth = s.tree.depth;
  frame.depth_most = s.tree.depth_most;
  const int height = s.canvas.height();
  const Lines l = share_out(s);
  int y = 0;
  if (l.title > 0) draw_title(s, y++);
  if (l.vitals > 0) draw_vitals(s, y++);
  if (l.loss > 0) draw_loss(s, y++);
  if (view.help) {
    draw_help(s, y + (height - y > 16 ? 1 : 0), height - y - l.footer - (height - y > 16 ? 1 : 0));
  } else {
    if (l.phase > 0) draw_phase(s, y++);
    if (l.ribbon > 0) {
      draw_ribbon(s, y, l.axis > 0 ? y + 1 : -1);
      y += l.ribbon + l.axis;
    }
    if (l.nodes_rule > 0) draw_rule(s, y++, s.strips ? s.strips->title() : s.safe(bars_title(s.report)));
    const Scrolled scrolled = draw_nodes(s, y, l.nodes);
    frame.scroll = scrolled.scroll;
    frame.scroll_most = scrolled.scroll_most;
    frame.page = scrolled.page;
    y += l.nodes;
    draw_legend(s, y, l.legend);
    y += l.legend;
    if (l.alerts_rule > 0) draw_rule(s, y++, alerts_title(s));
    draw_alerts(s, y, l.alerts);
  }
  if (l.footer > 0) draw_footer(s, height - 1);
  frame.lines = s.canvas.lines(view.colour);
  return frame;
}

std::vector<std::string> render(const wire::Report& report, const View& view, TimeNs now) {
  return draw(report, view, now).lines;
}

}  // namespace margay::terminal
