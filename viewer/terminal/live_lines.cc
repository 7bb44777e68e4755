#include "margay/terminal/live_lines.h"

#include <algorithm>

#include "alerts.h"
#include "margay/terminal/unwatched.h"
#include "margay/text/text.h"
#include "picture.h"

namespace margay::terminal {

bool LiveLines::first_time(const std::string& key) {
  if (!seen_.insert(key).second) return false;
  order_.push_back(key);
  if (order_.size() > kMostRemembered) {
    seen_.erase(order_.front());
    order_.pop_front();
  }
  return true;
}

void LiveLines::phases(const wire::Report& report, std::vector<Line>& out) {
  const auto newest = [&](int level) -> std::int64_t& {
    return newest_phase_begin_ns_.emplace(level, INT64_MIN).first->second;
  };
  for (const auto& span : report.phases()) phase(report, span, newest(0), out);
  for (int l = 0; l < std::min(report.levels_size(), kMostLevels); ++l)
    for (const auto& span : report.levels(l).phases())
      // A boundary that a finer level has as well is told there.
      if (!span.told()) phase(report, span, newest(l + 1), out);
}

void LiveLines::phase(const wire::Report& report, const wire::PhaseSpan& span, std::int64_t& newest_begin_ns,
                      std::vector<Line>& out) {
  // Spans are told in order: one that began before the newest told is old, or a correction of the past.
  if (span.begin_ns() < newest_begin_ns) return;
  const std::string name = phase_name(span);
  if (!first_time("phase " + name + " " + std::to_string(span.occurrence()) + " " +
                  std::to_string(span.occurrence() == 0 ? span.begin_ns() : 0)))
    return;
  newest_begin_ns = span.begin_ns();
  std::string text = "phase " + name;
  if (!span.label().empty()) text += " (" + text::printable(span.label(), true, 40) + ")";
  text += " begins (";
  if (span.occurrence() <= 1) {
    text += "new";
  } else {
    text += text::ordinal(span.occurrence()) + " time";
    if (const auto usual = usual_duration_ns(report, span.name()))
      text += "; usual " + text::duration_text(*usual);
  }
  if (const std::string of = made_of_text(span); !of.empty()) text += "; made of " + of;
  out.push_back({span.begin_ns(), text + ")"});
}

void LiveLines::alerts(const wire::Report& report, std::vector<Line>& out) {
  std::vector<AlertView> list = read_alerts(report, static_cast<int>(kMostRemembered / 4));
  for (auto a = list.rbegin(); a != list.rend(); ++a) {
    const bool known = seen_.count("firing " + a->id) != 0 || seen_.count("resolved " + a->id) != 0;
    if (!known && a->onset_ns <= forgotten_onset_ns_) continue;
    if (!first_time((a->firing ? "firing " : "resolved ") + a->id)) continue;
    if (a->firing && seen_.count("resolved " + a->id) != 0) continue;  // an older picture of it
    std::string text = a->firing ? "FIRING" : "resolved";
    if (!a->firing && a->end_ns && *a->end_ns > a->onset_ns)
      text += " after " + text::duration_text(text::minus(*a->end_ns, a->onset_ns));
    text += ": ";
    out.push_back({a->time_ns(), text + told_text(*a)});
  }
  // With the memory full, what is older than all that can be remembered is never told again.
  if (order_.size() >= kMostRemembered)
    for (const AlertView& a : list) forgotten_onset_ns_ = std::max(forgotten_onset_ns_, a.onset_ns);
}

void LiveLines::loss(const wire::Report& report, TimeNs now, std::vector<Line>& out) {
  const auto& h = report.health();
  if (h.processes_unwatched() > unwatched_told_) {
    out.push_back({report.watermark_ns(), "NOT WATCHED: " + text::printable(unwatched_text(h), true, 500)});
    unwatched_told_ = h.processes_unwatched();
  }
  if (h.lost_events() <= lost_told_) return;
  if (loss_was_told_ && !report.final() && text::minus(now.value, loss_told_at_.value) < kLossPeriod.value)
    return;
  std::uint64_t probe = 0, wire = 0, late = 0, rejected = 0;
  for (const auto& s : h.sources()) {
    probe += s.probe_dropped();
    wire += s.wire_lost();
    late += s.late_dropped();
    rejected += s.rejected();
  }
  std::string text =
      "LOST " + grouped(h.lost_events() - lost_told_) + " events, " + grouped(h.lost_events()) + " in all";
  std::string detail;
  const auto add = [&detail](std::uint64_t n, const char* what) {
    if (n > 0) detail += (detail.empty() ? ": " : ", ") + grouped(n) + " " + what;
  };
  add(probe, "dropped by probes");
  add(wire, "on the wire");
  add(late, "too late");
  add(rejected, "rejected");
  out.push_back({report.watermark_ns(), text + detail});
  lost_told_ = h.lost_events();
  loss_was_told_ = true;
  loss_told_at_ = now;
}

// That calls are not recorded one by one, and that they are again. Programs that are near the limit change
// often: at most once a minute.
void LiveLines::sums(const wire::Report& report, std::vector<Line>& out) {
  std::uint64_t now = 0;
  for (const auto& c : report.health().counters())
    if (c.name() == "sources_summing") now = c.value();
  if ((now > 0) == sums_told_) return;
  if (sums_told_ns_ != INT64_MIN && text::minus(report.watermark_ns(), sums_told_ns_) < kSumsPeriod.value)
    return;
  sums_told_ = now > 0;
  sums_told_ns_ = report.watermark_ns();
  out.push_back({report.watermark_ns(),
                 sums_told_ ? grouped(now) + (now == 1 ? " process calls" : " processes call") +
                                  " so often that recording it would slow the job down: calls are summed in "
                                  "the process (states stay exact; --every-call records each)"
                            : "every call is recorded again"});
}

// What a silence does not say, once: that resources take turns on too few CPUs. Of a moment, as when a job
// begins, nothing is said.
void LiveLines::turns(const wire::Report& report, std::vector<Line>& out) {
  std::uint64_t now = 0;
  for (const auto& c : report.health().counters())
    if (c.name() == "leaves_short_of_cpus") now = c.value();
  if (now < 2) return turns_since_ns_.reset();
  if (!turns_since_ns_) turns_since_ns_ = report.watermark_ns();
  if (turns_told_ || text::minus(report.watermark_ns(), *turns_since_ns_) < kTurnsFor.value) return;
  turns_told_ = true;
  out.push_back({report.watermark_ns(),
                 grouped(now) +
                     " resources take turns on too few CPUs: several that become slower together raise no "
                     "alert, one by itself does"});
}

std::vector<std::string> LiveLines::feed(const wire::Report& report, TimeNs now) {
  std::vector<Line> lines;
  phases(report, lines);
  alerts(report, lines);
  loss(report, now, lines);
  sums(report, lines);
  turns(report, lines);
  if (report.health().restarts() > restarts_told_) {
    restarts_told_ = report.health().restarts();
    lines.push_back({report.watermark_ns(), "the daemon was restarted (" + std::to_string(restarts_told_) +
                                                (restarts_told_ == 1 ? " time" : " times") + " so far)"});
  }
  const auto& h = report.health();
  if (archive_trouble_told_ != !h.archive_trouble().empty()) {
    archive_trouble_told_ = !h.archive_trouble().empty();
    lines.push_back({report.watermark_ns(), archive_trouble_told_
                                                ? "the archive cannot be written: " + h.archive_trouble() +
                                                      "; new data is kept in memory while there is room"
                                                : "the archive is written again"});
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.at_ns < b.at_ns; });
  std::vector<std::string> out;
  for (const Line& line : lines) {
    if (out.size() == kMostLinesAFeed) {
      out.push_back("margay: and " + std::to_string(lines.size() - kMostLinesAFeed) +
                    " more at once (margay status shows them)");
      break;
    }
    out.push_back("margay: " + text::duration_text(text::minus(line.at_ns, report.run_begin_ns())) + "  " +
                  text::printable(line.text, unicode_, 600));
  }
  return out;
}

}  // namespace margay::terminal
