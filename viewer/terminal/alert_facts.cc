#include "margay/terminal/alert_facts.h"

#include <cstdio>

#include "margay/base/text.h"
#include "margay/text/text.h"
#include "margay/wire/alert_json.h"

namespace margay::terminal {
namespace {

using text::duration_text;
using Paths = google::protobuf::RepeatedPtrField<std::string>;

constexpr std::size_t kNameColumns = 60, kPathColumns = 120, kSentenceColumns = 400;
constexpr int kMostListed = 8;         // names in one fact
constexpr int kMostLines = 64;         // states and takers, each
constexpr double kLeastWaited = 0.01;  // of the time that resources waited

std::string shown(const std::string& text, std::size_t columns = kNameColumns) {
  return text::shortened(text::printable(text, true, 4 * columns), columns);
}

std::string formatted(const char* pattern, double v) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, v);
  return text;
}

std::string listed(const Paths& paths) {
  if (paths.empty()) return "-";
  std::string out;
  for (int i = 0; i < paths.size() && i < kMostListed; ++i)
    out += (i > 0 ? ", " : "") + shown(paths[i], kPathColumns);
  if (paths.size() > kMostListed)
    out += " and " + grouped(static_cast<std::uint64_t>(paths.size() - kMostListed)) + " more";
  return out;
}

// "rank3 0.98, python3 (pid 4242) 0.92".
std::string candidates_text(const wire::Alert& a) {
  std::string out;
  for (int i = 0; i < a.candidates_size() && i < kMostListed; ++i) {
    const wire::Alert::Candidate& c = a.candidates(i);
    out += (i > 0 ? ", " : "") + shown(c.name().empty() ? c.kind() : c.name(), kPathColumns) +
           (c.pid() > 0 ? " (pid " + std::to_string(c.pid()) + ")" : "") +
           formatted(" %.2g", c.probability());
  }
  if (a.candidates_size() > kMostListed)
    out += " and " + grouped(static_cast<std::uint64_t>(a.candidates_size() - kMostListed)) + " more";
  return out;
}

// Why such an alert is raised at all; "" of an unknown kind.
std::string rule_text(const wire::Alert& a) {
  switch (a.kind()) {
    case wire::Alert::PERTURBATION:
      return a.has_area() && !a.has_false_alarms_per_day()
                 ? "the kernel reports that a process was stopped, or had no CPU"
                 : "resources depart from what is usual in the phase by more than chance makes "
                   "(detect.false_alarms_per_day)";
    case wire::Alert::STALL:
      return "a state lasts far longer than it usually does (detect.false_alarms_per_day), or no resource "
             "makes "
             "progress";
    case wire::Alert::PHASE_DURATION:
      return "a phase lasts longer than its limit, or has ended early";
    case wire::Alert::SOURCE_LOST:
      return "a resource sends no events any more";
    case wire::Alert::LOSS:
      return "events were lost: detection on these slices is marked";
    default:
      return "";
  }
}

class Facts {
 public:
  Facts(const wire::Alert& alert, const AlertContext& context) : a_(alert), context_(context) {}

  std::vector<AlertFact> all() {
    what_it_is();
    where_and_who();
    why();
    add_phase();
    changes();
    takers();
    waits();
    return std::move(out_);
  }

 private:
  void add(const char* name, std::string value) { out_.push_back({name, std::move(value)}); }
  std::string moment(std::int64_t ns) const { return context_.moment(TimeNs(ns)); }

  void what_it_is() {
    add("alert", shown(a_.id(), kSentenceColumns));
    add("kind", std::string(wire::name_of(a_.kind())) + ", " + (a_.resolved() ? "resolved" : "firing"));
    const wire::Handled& h = a_.handled();
    if (h.acknowledged())
      add("acknowledged", "by " + shown(h.by(), kSentenceColumns) +
                              (h.comment().empty() ? "" : ": " + shown(h.comment(), kSentenceColumns)));
    if (!h.silence().empty()) add("silenced by", shown(h.silence()));
    if (a_.updates() > 0)
      add("updates", grouped(a_.updates()) + ", the last " +
                         moment(a_.has_updated_ns() ? a_.updated_ns() : a_.detected_ns()) +
                         context_.moment_of + (a_.persistent() ? "; persistent" : ""));
    add("onset", moment(a_.onset_ns()) + context_.moment_of);
    if (!a_.resolved())
      add("detected", duration_text(text::minus(a_.detected_ns(), a_.onset_ns())) + " later");
    if (a_.has_end_ns())
      add("ended", moment(a_.end_ns()) + ", after " + duration_text(text::minus(a_.end_ns(), a_.onset_ns())));
  }

  void where_and_who() {
    add("where", shown(a_.node(), kPathColumns));
    const bool unknown = a_.has_area() && a_.likely_cause().empty() && !a_.resources().empty();
    add("likely cause", unknown ? "unknown" : listed(a_.likely_cause()));
    if (a_.candidates_size() > 0) add("candidates", candidates_text(a_));
    add("affected", listed(a_.affected()));
    if (!a_.has_area()) return;
    const wire::Alert::Area& area = a_.area();
    add("area", listed(area.nodes()) + ": " + grouped(area.slices()) +
                    (area.slices() == 1 ? " slice" : " slices") + " of " + text::slice_text(a_.level_ns()) +
                    " from " + moment(text::times(area.first_slice(), a_.level_ns())) + " on");
  }

  void why() {
    if (const std::string rule = rule_text(a_); !rule.empty()) add("rule", rule);
    // Of lost events and sources no cells are compared.
    if (a_.score_bits() != 0 || a_.p_value() != 1)
      add("score", formatted("%.4g bits", a_.score_bits()) + formatted(", p-value %.2g", a_.p_value()) +
                       ", in slices of " + text::slice_text(a_.level_ns()) +
                       formatted(", partition at p %.3g", a_.p()));
    if (a_.has_area())
      add("false alarms",
          a_.has_false_alarms_per_day()
              ? formatted("%.2g a day expected from chance with as much evidence", a_.false_alarms_per_day())
              : "none from chance: it rests on facts");
    if (a_.has_cost_s()) add("cost", formatted("%.3g s that the job is late", a_.cost_s()));
  }

  void add_phase() {
    if (context_.phase) {
      const wire::PhaseSpan& p = *context_.phase;
      add("phase", shown(p.name()) + (p.label().empty() ? "" : " (" + shown(p.label()) + ")") + ", " +
                       text::ordinal(p.occurrence()) + " time, since " + moment(p.begin_ns()));
    }
    if (a_.has_duration()) {
      const wire::Alert::Duration& d = a_.duration();
      add("duration", duration_text(d.lasted_ns()) + ", usually " + duration_text(d.usual_ns()) +
                          " (median of the newest, " + grouped(d.times()) + " times in all), limit " +
                          duration_text(d.limit_ns()));
    }
    add("lost events", a_.lost_events() == 0 ? "none in these slices" : grouped(a_.lost_events()));
  }

  void changes() {
    for (int i = 0; i < a_.states_size() && i < kMostLines; ++i) {
      const wire::Alert::StateChange& s = a_.states(i);
      add(s.observed() > s.expected() ? "rose" : "fell", shown(s.state()) + ": expected " +
                                                             share_text(s.expected()) + ", observed " +
                                                             share_text(s.observed()));
    }
  }

  void takers() {
    for (int i = 0; i < a_.takers_size() && i < kMostLines; ++i) {
      const wire::Alert::Taker& t = a_.takers(i);
      add("has the CPU", (t.name().empty() ? "" : shown(t.name()) + ", ") + shown(t.kind()) +
                             (t.pid() > 0 ? ", pid " + std::to_string(t.pid()) : std::string()) + ": " +
                             share_text(t.share()) + " of " +
                             (t.cpu() >= 0 ? "CPU " + std::to_string(t.cpu()) : std::string("a CPU")) +
                             " that " + shown(t.resource(), kPathColumns) + " may run on");
    }
  }

  void waits() {
    std::string out;
    int left = kMostListed;
    for (const auto& [resource, share] : context_.waited_for)
      if (share >= kLeastWaited && left-- > 0)
        out += (out.empty() ? "" : ", ") + shown(resource, kPathColumns) + " " + share_text(share);
    if (context_.waited_for_unknown >= kLeastWaited)
      out += (out.empty() ? "" : ", ") + std::string("unknown partner ") +
             share_text(context_.waited_for_unknown);
    if (!out.empty()) add("waited for", out);
  }

  const wire::Alert& a_;
  const AlertContext& context_;
  std::vector<AlertFact> out_;
};

}  // namespace

std::string share_text(double share) {
  return formatted(share >= 0.0995 || share == 0 ? "%.0f %%" : "%.1f %%", 100 * share);
}

std::vector<AlertFact> alert_facts(const wire::Alert& alert, const AlertContext& context) {
  return Facts(alert, context).all();
}

// As `margay alerts show` finds it: of a coarser level the long one.
std::optional<wire::PhaseSpan> phase_at(const wire::Report& report, TimeNs time, DurationNs level) {
  std::optional<wire::PhaseSpan> found;
  const auto look = [&](const auto& phases) {
    for (const wire::PhaseSpan& p : phases)
      if (p.begin_ns() <= time.value && (time.value < p.end_ns() || p.current())) found = p;
  };
  look(report.phases());
  for (const wire::LevelPhases& l : report.levels())
    if (l.slice_ns() == level.value) look(l.phases());
  return found;
}

}  // namespace margay::terminal
