#include "margay/replay/live_comparison.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "margay/base/text.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

constexpr const char* kLiveOnly = "reported live only";
constexpr const char* kNowOnly = "reported by this replay only";

// The first member in which two alerts differ; both are JSON objects.
std::string differing_member(const std::string& was, const std::string& now) {
  const auto a = nlohmann::ordered_json::parse(was, nullptr, false);
  const auto b = nlohmann::ordered_json::parse(now, nullptr, false);
  for (const auto& [name, value] : b.items())
    if (!a.contains(name) || a[name] != value) return name;
  for (const auto& [name, value] : a.items())
    if (!b.contains(name)) return name;
  return "form";
}

const char* differing_member(const store::PhaseRecord& a, const store::PhaseRecord& b) {
  if (a.name != b.name) return "name";
  if (a.begin != b.begin) return "begin";
  if (a.end != b.end) return "end";
  if (a.label != b.label) return "label";
  if (a.occurrence != b.occurrence) return "occurrence";
  return a.current != b.current ? "current" : nullptr;
}

void note(Comparison& to, Difference&& d) {
  if (!to.first || d.at < to.first->at) to.first = std::move(d);
}

std::string plural(std::uint64_t n, const char* thing, const char* many) {
  return grouped(n) + " " + (n == 1 ? thing : many);
}
std::string alerts_text(std::uint64_t n) {
  return plural(n, "alert", "alerts");
}
std::string phases_text(std::uint64_t n) {
  return plural(n, "phase stretch", "phase stretches");
}

}  // namespace

std::vector<std::string> comparison_lines(const Comparison& c, TimeNs begin) {
  std::string reasons;
  for (const std::string& r : c.reasons) reasons += (reasons.empty() ? "" : "; ") + r;
  switch (c.outcome) {
    case Comparison::Outcome::kNotCompared:
      return {"not compared with what was reported live: " + reasons};
    case Comparison::Outcome::kIdentical:
      return {"identical to what was reported live: " + alerts_text(c.alerts_live) + ", " +
              phases_text(c.phases_live) + " of all levels"};
    case Comparison::Outcome::kDifferent:
      break;
  }
  std::vector<std::string> lines = {"NOT identical to what was reported live: " + alerts_text(c.alerts_live) +
                                    " live, " + grouped(c.alerts_now) + " now, " +
                                    grouped(c.alerts_different) + " different; " +
                                    phases_text(c.phases_live) + " live, " + grouped(c.phases_now) +
                                    " now, " + grouped(c.phases_different) + " different, of all levels"};
  if (c.first)
    lines.push_back("the first that differs: " + text::duration_text((c.first->at - begin).value) + ", " +
                    c.first->what + ": " + c.first->how);
  lines.push_back("possible causes: " + reasons);
  return lines;
}

LiveComparison::LiveComparison(const store::Resume& resume) : resume_(resume) {
  if (resume.run.end) return;
  TimeNs end = resume.run.begin;
  for (const store::PhaseRecord& p : resume.phases) end = std::max(end, p.end);
  last_ = slice_of(end - DurationNs(1), resume.run.levels[0]);
}

void LiveComparison::begin(const Options& options, const detect::Levels& levels,
                           std::optional<TimeNs> before) {
  std::vector<store::PhaseRecord> so_far;
  for (const auto& [key, phase] : phases_) so_far.push_back(phase);
  records_.clear();
  for (std::size_t i = 0; i < levels.count(); ++i) {
    const auto at = std::find(options.levels.begin(), options.levels.end(), levels.slice(i));
    records_.emplace_back(LevelIndex(static_cast<std::uint8_t>(at - options.levels.begin())));
    records_.back().take_over(so_far, before);
  }
}

void LiveComparison::take(const ClosedSlice& message, const std::vector<alert::Alert>& alerts,
                          const detect::Levels& levels) {
  const bool closes = message.column && !message.amended;
  if (closes) newest_ = message.column->index;
  // What was shown after the archive's newest findings may have been reported, and may not.
  const bool must = newest_ < last_ || (newest_ == last_ && closes);
  for (const alert::Alert& a : alerts) {
    if (!seen_.insert(a.id + '/' + alert::step(a))) continue;
    Revisions& r = found_[a.id];
    if (must) r.alerts.clear(), r.must = true;
    r.alerts.push_back(a);
  }
  if (!message.column && !message.final) return;
  take_phases(levels);
  if (closes && message.column->index == last_) until_last_ = phases_;
}

void LiveComparison::take_phases(const detect::Levels& levels) {
  Findings findings;
  for (std::size_t i = 0; i < records_.size(); ++i)
    records_[i].put_into(findings, levels.detector(i).phases().spans());
  for (const auto& [level, end] : findings.phases_end)
    phases_.erase(phases_.lower_bound({level.value, end}),
                  phases_.lower_bound({static_cast<std::uint8_t>(level.value + 1), 0}));
  for (store::PhaseRecord& p : findings.phases) {
    const PhaseKey key{p.level.value, p.index};
    phases_.insert_or_assign(key, std::move(p));
  }
}

Comparison LiveComparison::result(std::vector<std::string> reasons) const {
  Comparison c;
  if (resume_.alerts.empty() && resume_.phases.empty()) {
    c.reasons = {"the archive has no alerts and no phases of a live run (it was imported)"};
    return c;
  }
  compare_alerts(c);
  compare_phases(c);
  if (c.alerts_different + c.phases_different == 0) {
    c.outcome = Comparison::Outcome::kIdentical;
    return c;
  }
  c.outcome = Comparison::Outcome::kDifferent;
  c.reasons = std::move(reasons);
  if (resume_.run.margay_version != MARGAY_VERSION)
    c.reasons.push_back("another version of detection (Margay " + resume_.run.margay_version +
                        " wrote the archive, this is " + MARGAY_VERSION + ")");
  if (c.reasons.empty())
    c.reasons.push_back("another build of detection (one of Margay " + resume_.run.margay_version +
                        " wrote the archive)");
  return c;
}

void LiveComparison::compare_alerts(Comparison& to) const {
  std::map<std::string, const store::AlertRecord*> live;
  for (const store::AlertRecord& record : resume_.alerts) live[record.id] = &record;
  to.alerts_live = live.size();
  for (const auto& [id, record] : live) {
    const auto was = alert::parse_untrusted(record->json);
    const auto found = found_.find(id);
    std::string how = kLiveOnly;
    if (found != found_.end()) {
      ++to.alerts_now;
      bool same = false;
      for (alert::Alert now : found->second.alerts) {
        if (was) now.emitted_wall = was->emitted_wall;
        const std::string json = alert::to_json(now);
        same = same || json == record->json;
        how = "differs in " + differing_member(record->json, json);
      }
      if (same) continue;
    }
    ++to.alerts_different;
    const TimeNs at = was ? was->onset : found != found_.end() ? found->second.alerts[0].onset : TimeNs();
    note(to, {at, was ? was->node : id, std::move(how)});
  }
  for (const auto& [id, revisions] : found_) {
    if (live.contains(id) || !revisions.must) continue;
    ++to.alerts_now;
    ++to.alerts_different;
    note(to, {revisions.alerts[0].onset, revisions.alerts[0].node, kNowOnly});
  }
}

void LiveComparison::compare_phases(Comparison& to) const {
  Phases live;
  for (const auto* level : {&resume_.phases, &resume_.coarser_phases})
    for (const store::PhaseRecord& p : *level) live[{p.level.value, p.index}] = p;
  const Phases& now = resume_.run.end ? phases_ : until_last_;
  to.phases_live = live.size();
  to.phases_now = now.size();
  const auto differs = [&](const store::PhaseRecord& p, std::string how) {
    ++to.phases_different;
    note(to, {p.begin, "phase " + p.name, std::move(how)});
  };
  for (const auto& [key, p] : live) {
    const auto at = now.find(key);
    if (at == now.end())
      differs(p, kLiveOnly);
    else if (const char* member = differing_member(p, at->second))
      differs(p, std::string("differs in ") + member);
  }
  for (const auto& [key, p] : now)
    if (!live.contains(key)) differs(p, kNowOnly);
}

}  // namespace margay::daemon
