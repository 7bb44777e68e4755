#include "sections.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "margay/text/text.h"

namespace margay::terminal {
namespace {

struct Losses {
  std::uint64_t probe = 0, wire = 0, late = 0, rejected = 0;
};
Losses losses(const wire::Report& report) {
  Losses l;
  for (const auto& s : report.health().sources()) {
    l.probe += s.probe_dropped();
    l.wire += s.wire_lost();
    l.late += s.late_dropped();
    l.rejected += s.rejected();
  }
  return l;
}

// Marks where each phase span lies on a line of `columns`; -1 where none does.
std::vector<int> ribbon_owners(const wire::Report& report, int columns, double end, double span) {
  std::vector<int> owner(static_cast<std::size_t>(columns), -1);
  std::vector<double> held(static_cast<std::size_t>(columns), 0);
  const double per_column = span / columns;
  constexpr int kMostSpans = 8192;
  for (int i = std::max(0, report.phases_size() - kMostSpans); i < report.phases_size(); ++i) {
    const auto& p = report.phases(i);
    const double from = (static_cast<double>(p.begin_ns()) - (end - span)) / per_column;
    const double to = (static_cast<double>(p.end_ns()) - (end - span)) / per_column;
    if (!(to > from) || to <= 0 || from >= columns) continue;
    const int last = std::min(columns - 1, static_cast<int>(std::ceil(std::min<double>(to, columns))) - 1);
    for (int c = static_cast<int>(std::max(from, 0.0)); c <= last; ++c) {
      const auto k = static_cast<std::size_t>(c);
      const double part = std::min<double>(to, c + 1) - std::max<double>(from, c);
      if (part > held[k]) held[k] = part, owner[k] = i;
    }
  }
  return owner;
}

// The time that the ribbon spans: the run so far, rounded up to something readable, at most ten minutes.
double ribbon_span_ns(const wire::Report& report, double end, double begin) {
  if (!report.phases().empty()) begin = std::max(begin, static_cast<double>(report.phases(0).begin_ns()));
  for (const double s : {10.0, 30.0, 60.0, 120.0, 300.0})
    if (end - begin <= s * 1e9) return s * 1e9;
  return 600e9;
}

const char* span_text(double ns) {
  if (ns <= 10e9) return "-10 s";
  if (ns <= 30e9) return "-30 s";
  if (ns <= 60e9) return "-1 min";
  if (ns <= 120e9) return "-2 min";
  return ns <= 300e9 ? "-5 min" : "-10 min";
}

}  // namespace

std::string Scene::safe(std::string_view text, std::size_t most_columns) const {
  // 4 bytes a character at most: no need to read on.
  return text::printable(text.substr(0, 4 * most_columns), view.unicode, most_columns);
}

void draw_title(Scene& s, int line) {
  Canvas& c = s.canvas;
  std::string state;
  Style style = Palette::good();
  const std::string dot = s.sign("\u25CF ", "* ");
  switch (s.view.link) {
    case Link::kWaiting:
      state = "waiting for the daemon";
      style = Palette::faint();
      break;
    case Link::kGone:
      state = "NO ANSWER from the daemon for " +
              text::duration_text(text::minus(s.now.value, s.view.gone_since.value));
      style = Palette::bad();
      break;
    case Link::kRunGone:
      state = "the run is over";
      style = Palette::faint();
      break;
    case Link::kLive:
      state = dot + "live, " + text::duration_text(lag_ns(s.report, s.now)) + " behind";
      if (lag_ns(s.report, s.now) > 5'000'000'000) style = Palette::bad_text();
      break;
  }
  if (s.report.has_replay() && s.view.link == Link::kLive) {
    const auto& replay = s.report.replay();
    char speed[32] = "as fast as it goes";
    if (replay.speed() > 0 && std::isfinite(replay.speed()))
      std::snprintf(speed, sizeof speed, "%gx", replay.speed());
    state = dot + "replay, " +
            (replay.seeking()  ? "on its way"
             : replay.at_end() ? "at its end"
             : replay.paused() ? "paused"
                               : speed) +
            ", at " + text::duration_text(text::minus(s.report.watermark_ns(), s.report.run_begin_ns()));
    style = Palette::strong();
  }
  if (s.report.final()) {
    state = s.sign("\u25A0 finished", "# finished");
    style = Palette::strong();
  }
  if (s.view.held) state = "HELD (p goes on)  " + state;
  if (text::width_of(state) + 8 > static_cast<std::size_t>(c.width()))
    state = text::shortened(state, static_cast<std::size_t>(std::max(c.width() - 8, 0)), s.view.unicode);
  const int right = c.width() - static_cast<int>(text::width_of(state));
  int x = c.put(0, line, "margay", Palette::strong(), right);
  std::string run = s.safe(s.report.run(), 200);
  x = c.put(x + 1, line,
            text::shortened(run, static_cast<std::size_t>(std::max(right - x - 2, 0)), s.view.unicode),
            Palette::strong());
  const int room = right - x - 4;
  if (room > 3 && !s.report.command().empty())
    c.put(x + 2, line,
          text::shortened(s.safe(s.report.command(), 1000), static_cast<std::size_t>(room), s.view.unicode));
  c.put(right, line, state, style);
}

void draw_vitals(Scene& s, int line) {
  const auto& h = s.report.health();
  int x = 0;
  const bool measured = s.report.has_measured();
  const std::string shown = measured ? "shown: " + s.safe(s.report.measured().operator_(), 40) : "";
  // Whole facts only: what does not fit is left out, the most telling first.
  const auto part = [&](const std::string& text, const Style& style) {
    const int columns = static_cast<int>(text::width_of(text)) + (x > 0 ? 3 : 0);
    if (x > 0 && x + columns > s.canvas.width()) return;
    if (x > 0) x = s.canvas.put(x, line, s.sign(" \u00B7 ", " | "), Palette::faint());
    x = s.canvas.put(x, line, text, style);
  };
  if (s.report.has_replay()) {
    // What was lost, and how the sources were, an archive tells of the whole run only (margay archive info).
    const auto& replay = s.report.replay();
    part("from an archive", Palette::strong());
    part(text::duration_text(text::minus(replay.end_ns(), replay.begin_ns())) + " in all", {});
    if (s.report.slice_ns() > 0) part("slice " + text::slice_text(s.report.slice_ns()), {});
    if (measured) part(shown, Palette::strong());
    return;
  }
  if (h.lost_events() > 0)
    part("lost " + grouped(h.lost_events()), Palette::bad());
  else
    part("lost 0", h.processes_unwatched() > 0 ? Palette::bad_text() : Palette::good());
  if (h.processes_unwatched() > 0)
    part(grouped(h.processes_unwatched()) + " PROCESSES NOT WATCHED", Palette::bad());
  if (!h.archive_trouble().empty()) part("ARCHIVE NOT WRITTEN", Palette::bad());
  part(std::to_string(h.sources_live()) + " sources live, " + std::to_string(h.sources_ended()) + " ended",
       {});
  if (h.restarts() > 0) part("daemon restarted " + std::to_string(h.restarts()) + " x", Palette::bad_text());
  if (s.report.run_begin_ns() != 0)
    part((s.report.final() ? "ran " : "running ") +
             text::duration_text(text::minus(s.report.watermark_ns(), s.report.run_begin_ns())),
         {});
  if (s.report.slice_ns() > 0) part("slice " + text::slice_text(s.report.slice_ns()), {});
  if (measured) part(shown, Palette::strong());
  if (h.restarts() == 0) part("restarts 0", {});
}

void draw_loss(Scene& s, int line) {
  const Losses l = losses(s.report);
  std::string text = " " + grouped(s.report.health().lost_events()) + " EVENTS LOST";
  std::string detail;
  const auto add = [&](const char* what, std::uint64_t n) {
    if (n > 0) detail += (detail.empty() ? ": " : ", ") + grouped(n) + " " + what;
  };
  add("dropped by probes", l.probe);
  add("on the wire", l.wire);
  add("too late", l.late);
  add("rejected", l.rejected);
  if (s.view.colour == Colour::kNone) text = "!!!" + text;
  s.canvas.fill(0, line, s.canvas.width(), U' ', Palette::bad());
  s.canvas.put(
      0, line,
      text::shortened(text + detail, static_cast<std::size_t>(std::max(s.canvas.width(), 0)), s.view.unicode),
      Palette::bad());
}

void draw_phase(Scene& s, int line) {
  const wire::PhaseSpan* p = current_phase(s.report);
  if (p == nullptr) {
    s.canvas.put(0, line, "phase: none recognised yet", Palette::faint());
    return;
  }
  int x = s.canvas.put(0, line, "phase ");
  x = s.canvas.put(x, line, " " + s.safe(phase_name(*p)) + " ", Palette::phase_style(p->name()));
  if (!p->label().empty()) x = s.canvas.put(x + 1, line, "(" + s.safe(p->label(), 30) + ")");
  std::string text = " " + text::ordinal(p->occurrence()) + " time, " +
                     text::duration_text(text::minus(p->end_ns(), p->begin_ns()));
  if (const auto usual = usual_duration_ns(s.report, p->name()))
    text += s.report.final() ? " (usual " + text::duration_text(*usual) + ")"
                             : " so far, usual " + text::duration_text(*usual);
  x = s.canvas.put(x, line, text);
  // As much as there is room for.
  for (const std::string& ahead : {s.safe(forecast_text(s.report)), s.safe(forecast_short(s.report))}) {
    if (ahead.empty() || x + 2 + static_cast<int>(text::width_of(ahead)) > s.canvas.width()) continue;
    const bool late = s.report.forecast().overdue();
    x = s.canvas.put(x, line, "; " + ahead, late ? Palette::bad_text() : Style{});
    break;
  }
  // Which of the long phases it is in, where that is not the same.
  for (int l = 0; l < std::min(s.report.levels_size(), kMostLevels); ++l) {
    const auto& level = s.report.levels(l);
    if (!tells_more(level)) continue;
    const auto& now = level.phases(level.phases_size() - 1);
    const std::string told = "; in " + s.safe(phase_name(now)) + " for " +
                             text::duration_text(text::minus(now.end_ns(), now.begin_ns()));
    if (x + static_cast<int>(text::width_of(told)) > s.canvas.width()) return;
    x = s.canvas.put(x, line, told, Palette::faint());
  }
}

void draw_ribbon(Scene& s, int line, int axis_line) {
  const int columns = s.canvas.width();
  if (columns < 1) return;
  double end = static_cast<double>(s.report.watermark_ns());
  if (const auto* p = current_phase(s.report)) end = std::max(end, static_cast<double>(p->end_ns()));
  const double span = ribbon_span_ns(s.report, end, static_cast<double>(s.report.run_begin_ns()));
  const std::vector<int> owner = ribbon_owners(s.report, columns, end, span);
  const bool colour = s.view.colour != Colour::kNone;
  for (int c = 0; c < columns;) {
    const int who = owner[static_cast<std::size_t>(c)];
    int until = c + 1;
    while (until < columns && owner[static_cast<std::size_t>(until)] == who) ++until;
    if (who < 0) {
      s.canvas.fill(c, line, until - c, s.view.unicode ? U'\u00B7' : U'.', Palette::faint());
    } else {
      const auto& p = s.report.phases(who);
      const Style style = Palette::phase_style(p.name());
      s.canvas.fill(c, line, until - c, colour ? U' ' : (s.view.unicode ? U'\u2500' : U'-'), style);
      s.canvas.put(c, line, s.safe(phase_name(p)), style, until - c);
    }
    c = until;
  }
  if (axis_line < 0) return;
  s.canvas.put(0, axis_line, span_text(span), Palette::faint());
  const std::string hint = s.sign("\u25B2 an alert began", "^ an alert began");
  bool any = false;
  const auto column_of = [&](const AlertView& a) {
    const double at = (static_cast<double>(a.onset_ns) - (end - span)) / span * columns;
    return at >= 0 && at < columns ? static_cast<int>(at) : -1;
  };
  bool at_end = false;  // a mark there is worth more than the word
  for (const AlertView& a : s.alerts) {
    any = any || column_of(a) >= 0;
    at_end = at_end || column_of(a) >= columns - 4;
  }
  if (!at_end) s.canvas.put_right(columns, axis_line, s.report.final() ? "end" : "now", Palette::faint());
  if (any && columns >= 60) s.canvas.put(columns / 2 - 8, axis_line, hint, Palette::faint());
  for (auto a = s.alerts.rbegin(); a != s.alerts.rend(); ++a)
    if (column_of(*a) >= 0)
      s.canvas.put_character(column_of(*a), axis_line, s.view.unicode ? U'\u25B2' : U'^',
                             a->firing ? Palette::bad_text() : Palette::strong());
}

void draw_rule(Scene& s, int line, const std::string& title) {
  s.canvas.fill(0, line, s.canvas.width(), s.view.unicode ? U'\u2500' : U'-', Palette::faint());
  if (!title.empty()) s.canvas.put(2, line, " " + title + " ", Palette::faint());
}

std::vector<std::string> wrapped_lines(const std::string& text, int columns, std::size_t most) {
  std::vector<std::string> out;
  std::string_view rest(text);
  const auto room = static_cast<std::size_t>(std::max(columns, 1));
  while (!rest.empty() && out.size() < most) {
    std::string head = text::printable(rest, true, room);
    if (head.empty()) break;  // a wide character in one column
    if (head.size() < rest.size()) {
      std::size_t blank = head.rfind(' ');
      // "68 %" stays together.
      if (blank != std::string::npos && blank > 0 && rest[blank + 1] == '%')
        blank = head.rfind(' ', blank - 1);
      const bool inside =
          rest[head.size()] != ' ' || (rest.size() > head.size() + 1 && rest[head.size() + 1] == '%');
      if (inside && blank != std::string::npos && blank > head.size() / 2) head.resize(blank);
    }
    rest.remove_prefix(head.size());
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    if (out.size() + 1 == most && !rest.empty()) {
      head.append(" ").append(rest.substr(0, 8));
      head = text::shortened(head, room, true);
    }
    out.push_back(std::move(head));
  }
  return out;
}

namespace {

struct AlertColumns {
  bool kind;
  int sentence;  // column where it begins
};
AlertColumns alert_columns(const Scene& s) {
  const bool kind = s.canvas.width() >= 100;
  return {kind, 9 + (s.canvas.width() >= 56 ? 9 : 2) + (kind ? 14 : 0)};
}
std::string alert_text(const Scene& s, const AlertView& a) {
  std::string text = told_text(a);
  if (!a.firing && a.end_ns && *a.end_ns > a.onset_ns)
    text = "after " + text::duration_text(text::minus(*a.end_ns, a.onset_ns)) + ": " + text;
  if (const std::string handled = handled_text(a); !handled.empty()) text += " (" + handled + ")";
  return s.safe(text, 2000);
}

// What stands before it, in eight columns or in one. Somebody looks after it, or wants to hear nothing of it:
// it calls for nobody then.
struct AlertMark {
  const char *wide, *narrow;
  Style style;
};
AlertMark mark_of(const AlertView& a) {
  if (!a.firing) return {"resolved", "-", Palette::good()};
  if (a.acknowledged) return {" acked", "a", Palette::strong()};
  if (!a.silenced_by.empty()) return {"silenced", "s", Palette::strong()};
  return {" FIRING ", "!", Palette::bad()};
}

}  // namespace

int alert_lines(const Scene& s, bool wrapped) {
  if (!wrapped) return std::max<int>(1, static_cast<int>(s.alerts.size()));
  const AlertColumns cols = alert_columns(s);
  int lines = 0;
  for (const AlertView& a : s.alerts)
    lines += static_cast<int>(std::max<std::size_t>(
        1, wrapped_lines(alert_text(s, a), s.canvas.width() - cols.sentence, 4).size()));
  return std::max(lines, 1);
}

void draw_alerts(Scene& s, int line, int lines) {
  if (lines <= 0) return;
  if (s.alerts.empty()) {
    s.canvas.put(0, line, "no alerts so far", Palette::faint());
    return;
  }
  // Newest first; but where not all fit, what fires now comes before what is over.
  std::vector<const AlertView*> order;
  for (const AlertView& a : s.alerts) order.push_back(&a);
  if (static_cast<int>(order.size()) > lines)
    std::stable_partition(order.begin(), order.end(), [](const AlertView* a) { return a->firing; });
  const AlertColumns cols = alert_columns(s);
  const bool wide_status = s.canvas.width() >= 56;
  int spare = lines - static_cast<int>(std::min<std::size_t>(order.size(), static_cast<std::size_t>(lines)));
  const int last_line = line + lines - 1;
  for (std::size_t i = 0; i < order.size() && line <= last_line; ++i) {
    const AlertView& a = *order[i];
    if (line == last_line && i + 1 < order.size() && lines > 1) {
      s.canvas.put(0, line, "+ " + std::to_string(order.size() - i) + " more alerts", Palette::faint());
      return;
    }
    s.canvas.put(0, line, text::clock_text(a.time_ns(), s.view.utc_offset_s), Palette::faint());
    const AlertMark mark = mark_of(a);
    s.canvas.put(9, line, wide_status ? mark.wide : mark.narrow, mark.style);
    if (cols.kind)
      s.canvas.put(18, line, text::shortened(s.safe(a.kind, 30), 13, s.view.unicode), Palette::strong());
    const auto text = wrapped_lines(alert_text(s, a), s.canvas.width() - cols.sentence,
                                    1 + static_cast<std::size_t>(std::min(spare, 3)));
    for (std::size_t k = 0; k < text.size(); ++k)
      s.canvas.put(cols.sentence, line + static_cast<int>(k), s.safe(text[k]),
                   a.firing ? Style{} : Palette::faint());
    const int used = std::max<int>(1, static_cast<int>(text.size()));
    spare -= used - 1;
    line += used;
  }
}

void draw_footer(Scene& s, int line) {
  const std::string lag = "lag " + text::duration_text(lag_ns(s.report, s.now));
  if (!s.view.notice.empty()) {
    s.canvas.put(0, line, s.safe(s.view.notice, 400), Palette::bad_text());
    return;
  }
  const int w = s.canvas.width();
  const char* keys = s.sign("q quit  \u2191\u2193 scroll  \u2190\u2192 depth  v view  p hold  h help",
                            "q quit  up/down scroll  left/right depth  v view  p hold  h help");
  const bool replay = s.report.has_replay();
  if (replay) keys = "q quit  r play/pause  n next slice  [ ] 10 s back, on  h help";
  if (w < 56 || (replay && w < 66)) keys = "q quit  h help";
  const int x = s.canvas.put(0, line, keys, Palette::faint());
  std::string right = s.report.final() || replay ? "" : "  " + lag;
  if (s.report.has_spatiotemporal() && w >= 72) right = "p " + p_of(s.report) + right;
  if (x + 2 + static_cast<int>(text::width_of(right)) <= w)
    s.canvas.put_right(w, line, right, Palette::faint());
}

void draw_help(Scene& s, int line, int lines) {
  static constexpr const char* kHelp[] = {
      "A row is a node or a resource. It shows its parts of the optimal partition at the",
      "p below: the letter of the state with most of the time, a line where a part",
      "begins. Press v to see how the newest slices divide over states instead.",
      "Hue is the family of a state (compute, point-to-point, collective, wait, I/O,",
      "start/end), shade the state; the legend names them.",
      "  !            a firing alert blames this row, or a row below it",
      "  stopped      its process is stopped (SIGSTOP, debugger)",
      "  acked        its alert is acknowledged; silenced: its alert is not sent",
      "  silent/lost  no events for 1 s / for long; ended: the process has finished",
      "The ribbon shows the phases over time. The same letter is the same phase again;",
      "10s:A is a long phase in slices of 10 s, which consists of short ones.",
      "\"lost 0\" means that every event was recorded: the picture is complete.",
      "",
      "  q, Ctrl-C       quit                 p, space   hold the picture, go on",
      "  up/down, k/j    scroll               h, ?       this help, and back",
      "  PgUp/PgDn       scroll a page        a          choose the depth by itself",
      "  left/right, -/+ less, more depth     v          partition / newest slices",
      "  Ctrl-L          redraw",
  };
  static constexpr const char* kMeasured[] = {
      "A row is a node or a resource, with its parts of the optimal partition of what",
      "is measured: the letter of the state with most of it. Press v to see the newest",
      "slices instead, relative to the largest resource; figures are sums per second."};
  int at = 0;
  for (const char* text : kHelp) {
    if (lines-- <= 0) return;
    s.canvas.put(0, line++, s.report.has_measured() && at < 3 ? kMeasured[at] : text);
    ++at;
  }
  if (s.report.has_replay() && lines > 0)
    s.canvas.put(0, line, "  r               replay: play, pause  n          one slice; [ ] 10 s back, on");
}

}  // namespace margay::terminal
