// The parts of a frame, each drawn into the lines it was given; render.cc decides how many.
#pragma once

#include <vector>

#include "alerts.h"
#include "canvas.h"
#include "margay/terminal/render.h"
#include "palette.h"
#include "picture.h"
#include "strips.h"

namespace margay::terminal {

struct Scene {
  const wire::Report& report;
  const View& view;
  TimeNs now;
  Palette palette;
  Canvas canvas;
  std::vector<AlertView> alerts;
  Tree tree;
  std::optional<Strips> strips;  // of the partition, where that is what rows show

  // An untrusted or Unicode text as this terminal can show it.
  std::string safe(std::string_view text, std::size_t most_columns = kNoColumns) const;
  static constexpr std::size_t kNoColumns = 4096;
  const char* sign(const char* unicode, const char* ascii) const { return view.unicode ? unicode : ascii; }
};

void draw_title(Scene& scene, int line);                  // who, what, live or finished
void draw_vitals(Scene& scene, int line);                 // slice, loss, sources, restarts
void draw_loss(Scene& scene, int line);                   // only where events were lost
void draw_phase(Scene& scene, int line);                  // the current phase in words
void draw_ribbon(Scene& scene, int line, int axis_line);  // axis_line -1: none
void draw_rule(Scene& scene, int line, const std::string& title);
// Gives the number of rows it may be scrolled by.
struct Scrolled {
  int scroll = 0, scroll_most = 0, page = 1;
};
Scrolled draw_nodes(Scene& scene, int line, int lines);
// States of the rows of the tree; the number of lines a legend of them takes.
int legend_lines(const Scene& scene);
void draw_legend(Scene& scene, int line, int lines);
int alert_lines(const Scene& scene, bool wrapped);
void draw_alerts(Scene& scene, int line, int lines);
void draw_footer(Scene& scene, int line);
void draw_help(Scene& scene, int line, int lines);

// `text` in lines of at most `columns`, broken at blanks where there are any.
std::vector<std::string> wrapped_lines(const std::string& text, int columns, std::size_t most);

}  // namespace margay::terminal
