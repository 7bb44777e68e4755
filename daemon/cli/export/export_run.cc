// Tables of what a run is: itself, its resources, states and levels, its alerts.
#include <algorithm>
#include <cmath>

#include "export_parts.h"
#include "margay/alert/alert.h"
#include "margay/wire/filter.h"

namespace margay::daemon::exporting {
namespace {

using Kind = Column::Kind;

std::string family_word(model::StateFamily family) {
  if (family == model::StateFamily::kAbsent) return "absent";
  if (family == model::StateFamily::kUnknown) return "unknown";
  for (const wire::FamilyWord& w : wire::family_words())
    if (static_cast<int>(w.family) == static_cast<int>(family)) return std::string(w.word);
  return "other";
}

// Each alert of the run that touches the range; of a line that no Margay of this kind has written nothing is
// known but the line.
template <class Take>
Status each_alert(const Job& job, const Take& take) {
  for (const store::AlertRecord& record : job.all.alerts) {
    const Result<alert::Alert> a = alert::parse_untrusted(record.json);
    if (a && (a->onset >= job.to || (a->end && *a->end <= job.from && a->onset < job.from))) continue;
    if (Status ok = take(record, a); !ok) return ok;
  }
  return {};
}

// Whose share moved furthest.
std::string changed_most(const std::vector<alert::StateChange>& states) {
  const auto by = [](const alert::StateChange& c) { return std::abs(c.observed - c.expected); };
  const auto most = std::max_element(states.begin(), states.end(),
                                     [&](const auto& a, const auto& b) { return by(a) < by(b); });
  return most == states.end() ? std::string() : most->state;
}

}  // namespace

const Table& run_columns() {
  static const Table table = {"run", {{"key", Kind::kText}, {"value", Kind::kText}}};
  return table;
}

Status write_run(const Job& job, const TakeRow& take) {
  const store::RunMeta& run = job.all.run;
  std::vector<std::pair<std::string, std::string>> rows = {{"run", run.run},
                                                           {"command", run.command},
                                                           {"host", run.host},
                                                           {"margay_version", run.margay_version},
                                                           {"begin_ns", std::to_string(run.begin.value)}};
  if (run.end) rows.emplace_back("end_ns", std::to_string(run.end->value));
  if (run.exit_code) rows.emplace_back("exit_code", std::to_string(*run.exit_code));
  if (!job.request.from.empty()) rows.emplace_back("from_ns", std::to_string(job.from.value));
  if (!job.request.to.empty()) rows.emplace_back("to_ns", std::to_string(job.to.value));
  if (!job.request.view.empty()) rows.emplace_back("view", job.request.view);
  const auto level = chosen_level(job, LevelIndex(0));
  if (!level) return tl::unexpected(level.error());
  rows.emplace_back("cell_slice_ns", std::to_string(run.levels[level->value].value));
  for (const auto& [key, value] : run.settings) rows.emplace_back("setting " + key, value);
  for (const std::string& note : job.found.notes) rows.emplace_back("note", note);
  for (const auto& [key, value] : rows)
    if (Status ok = take({key, value}); !ok) return ok;
  return {};
}

const Table& resources_columns() {
  static const Table table = {"resources",
                              {{"id", Kind::kInteger}, {"resource", Kind::kText}, {"in_view", Kind::kText}},
                              {"resource"}};
  return table;
}

Status write_resources(const Job& job, const TakeRow& take) {
  for (std::uint32_t l = 0; l < job.hierarchy.leaf_count(); ++l) {
    const LeafIndex leaf(l);
    if (Status ok = take({std::int64_t{l}, job.hierarchy.path_of(leaf), job.viewed.path_of(leaf)}); !ok)
      return ok;
  }
  return {};
}

const Table& attributes_columns() {
  static const Table table = {"resource_attributes",
                              {{"resource", Kind::kText}, {"attribute", Kind::kText}, {"value", Kind::kText}},
                              {"resource, attribute"}};
  return table;
}

Status write_attributes(const Job& job, const TakeRow& take) {
  for (const store::LeafRecord& l : job.all.leaves)
    for (const auto& [attribute, value] : l.attributes)
      if (Status ok = take({job.hierarchy.path_of(l.leaf), attribute, value}); !ok) return ok;
  return {};
}

const Table& states_columns() {
  static const Table table = {
      "states", {{"id", Kind::kInteger}, {"state", Kind::kText}, {"family", Kind::kText}}, {"state"}};
  return table;
}

Status write_states(const Job& job, const TakeRow& take) {
  std::int64_t id = 0;
  for (const model::StateInfo& s : job.all.states.states())
    if (Status ok = take({id++, s.name, family_word(s.family)}); !ok) return ok;
  return {};
}

const Table& levels_columns() {
  static const Table table = {"levels",
                              {{"level", Kind::kInteger},
                               {"slice_ns", Kind::kInteger},
                               {"first", Kind::kInteger},
                               {"last", Kind::kInteger}}};
  return table;
}

Status write_levels(const Job& job, const TakeRow& take) {
  for (std::size_t i = 0; i < job.all.run.levels.size(); ++i) {
    const auto kept = job.archive.column_range(LevelIndex(static_cast<std::uint8_t>(i)));
    if (!kept) return tl::unexpected(kept.error());
    const bool any = kept->has_value();
    if (Status ok = take({static_cast<std::int64_t>(i), job.all.run.levels[i].value,
                          field_if(any, any ? (*kept)->first.value : 0),
                          field_if(any, any ? (*kept)->second.value : 0)});
        !ok)
      return ok;
  }
  return {};
}

const Table& alerts_columns() {
  static const Table table = {"alerts",
                              {{"alert", Kind::kText},
                               {"kind", Kind::kText},
                               {"status", Kind::kText},
                               {"onset_s", Kind::kMoment},
                               {"detected_s", Kind::kMoment},
                               {"end_s", Kind::kMoment},
                               {"resource", Kind::kText},
                               {"state", Kind::kText},
                               {"phase", Kind::kText},
                               {"score_bits", Kind::kReal},
                               {"delay_seconds", Kind::kReal},
                               {"sentence", Kind::kText},
                               {"json", Kind::kText}},
                              {"onset_s"}};
  return table;
}

Status write_alerts(const Job& job, const TakeRow& take) {
  return each_alert(job, [&](const store::AlertRecord& record, const Result<alert::Alert>& a) {
    if (!a) {
      Row row(alerts_columns().columns.size());
      row.front() = record.id, row[2] = record.status, row.back() = record.json;
      return take(row);
    }
    const std::string state = changed_most(a->states);
    return take({a->id, std::string(to_string(a->kind)), std::string(to_string(a->status)), a->onset,
                 a->detected, field_if(a->end.has_value(), a->end.value_or(TimeNs())), a->node,
                 field_if(!state.empty(), state), field_if(!a->phase.empty(), a->phase), a->score_bits,
                 field_if(a->cost_s.has_value(), a->cost_s.value_or(0)), a->message, record.json});
  });
}

const Table& alert_resources_columns() {
  static const Table table = {"alert_resources",
                              {{"alert", Kind::kText}, {"role", Kind::kText}, {"resource", Kind::kText}},
                              {"alert", "resource"}};
  return table;
}

Status write_alert_resources(const Job& job, const TakeRow& take) {
  return each_alert(job, [&](const store::AlertRecord&, const Result<alert::Alert>& a) -> Status {
    if (!a) return {};
    for (const auto& [role, resources] :
         {std::pair("blamed", &a->resources), std::pair("affected", &a->affected),
          std::pair("likely cause", &a->likely_cause)})
      for (const std::string& resource : *resources)
        if (Status ok = take({a->id, std::string(role), resource}); !ok) return ok;
    return {};
  });
}

}  // namespace margay::daemon::exporting
