#include "alerts_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "alerts_output.h"
#include "archive/archive_facts.h"
#include "command.h"
#include "evidence.h"
#include "margay/text/text.h"

namespace margay::app {
namespace {

constexpr int kNotSo = 1;
constexpr int kUnreadable = 2;

int complain(const std::string& sentence) {
  std::fprintf(stderr, "margay: %s\n", terminal::printable(sentence, true, 2000).c_str());
  return kUnreadable;
}

int list(const AlertsRequest& r) {
  std::vector<std::string> problems;
  const std::vector<std::string> archives = archives_among(r.paths, problems);
  if (archives.empty() && problems.empty() && r.paths != std::vector<std::string>{"."})
    problems.push_back(r.paths.front() + ": is not an archive, and has none in it");
  for (const std::string& p : problems) complain(p);
  bool wrong = !problems.empty();
  std::vector<ListedAlert> all;
  for (const std::string& path : archives) {
    const auto archive = store::Archive::open(path, store::Mode::kBeside);
    const auto resume = archive ? (*archive)->load() : tl::unexpected(archive.error());
    auto alerts = resume ? read_alerts(**archive) : tl::unexpected(resume.error());
    if (!alerts) {
      complain(alerts.error().message);
      wrong = true;
      continue;
    }
    const auto handling = handling_in(*resume);
    if (!handling) {
      complain(path + ": " + handling.error().message);
      wrong = true;
    }
    const TimeNs now = SystemClock().realtime();
    for (alert::Alert& a : *alerts) {
      if (!r.kind.empty() && r.kind != alert::to_string(a.kind)) continue;
      if (r.firing && a.status != alert::Status::kFiring) continue;
      alert::HandledAlert handled;
      if (handling) handled = alert::handled_alert(*handling, a, now);
      // What somebody looks after has not been forgotten.
      if (handled.ack) a.persistent = false;
      all.push_back({path, resume->run.begin, std::move(a), std::move(handled)});
    }
  }
  if (!wrong || !all.empty())
    std::fputs((r.json ? alerts_json(all) : alerts_text(all, archives.size() > 1)).c_str(), stdout);
  return wrong ? kUnreadable : 0;
}

int show(const AlertsRequest& r) {
  const auto archive = store::Archive::open(r.path, store::Mode::kBeside);
  if (!archive) return complain(archive.error().message);
  const auto alerts = read_alerts(**archive);
  if (!alerts) return complain(alerts.error().message);
  std::vector<std::string> ids;
  for (const alert::Alert& a : *alerts) ids.push_back(a.id);
  const auto id = alert::find_id(ids, r.id);
  if (!id) {
    complain(r.path + ": " + id.error().message +
             (id.error().code == ErrorCode::kNotFound
                  ? "; it has " + std::to_string(ids.size()) + ": margay alerts ls " + r.path
                  : ""));
    return kNotSo;
  }
  const auto found =
      std::find_if(alerts->begin(), alerts->end(), [&](const alert::Alert& a) { return a.id == *id; });
  auto evidence = collect_evidence(**archive, *found);
  if (!evidence) return complain(evidence.error().message);
  const auto resume = (*archive)->load();
  const auto handling = resume ? handling_in(*resume) : tl::unexpected(resume.error());
  if (handling)
    evidence->handled = alert::handled_alert(*handling, *found, SystemClock().realtime());
  else
    complain(handling.error().message);
  std::fputs((r.json ? evidence_json(*evidence) : evidence_text(*evidence)).c_str(), stdout);
  return evidence->again.exact && !evidence->again.same ? kNotSo : 0;
}

}  // namespace

void add_alerts_command(CLI::App& command, AlertsRequest& r) {
  command.description(
      "The alerts that archives keep, also of runs that are being watched; and what people say about those\n"
      "that fire.\n\n"
      "  margay alerts ls                              of all archives in this directory, by their onset\n"
      "  margay alerts ls night.margay --kind stall\n"
      "  margay alerts show night.margay 13900-3       what one rests on: cells, phase, score, settings;\n"
      "                                                whom those that wait waited for; and whether it "
      "comes\n"
      "                                                out again of what was recorded\n"
      "  margay alerts ack 13900-3                     somebody looks after it: no more is sent of it\n"
      "  margay alerts silence --node /node7 --for 2h  nothing is sent of what node7 does\n\n"
      "Exit code: 0; 1 if there is no such alert, it does not come out again, or what you say is refused;\n"
      "2 if an archive cannot be read.");
  command.require_subcommand(1);
  r.list = command.add_subcommand("ls", "Alerts, one a line: since when, how long, how strong, and why.");
  r.list->add_option("archive", r.paths, "archives, or directories with some (default: this one)");
  r.list->add_option("--kind", r.kind, "only of this kind")->check(CLI::IsMember(alert::kind_names()));
  r.list->add_flag("--firing", r.firing, "only those that have not ended");
  r.show = command.add_subcommand(
      "show",
      "One alert with all it rests on. It is derived again from what was recorded, by the same steps, and\n"
      "compared: so whoever doubts it can check it.");
  r.show->add_option("archive", r.path, "its archive")->required();
  r.show->add_option("alert", r.id, "its id, or how the id ends")->required();
  for (auto* s : {r.list, r.show}) s->add_flag("--json", r.json, "for programs");
  add_handle_commands(command, r.handle);
}

int alerts_command(const AlertsRequest& r) {
  if (handle_parsed(r.handle)) return handle_command(r.handle);
  return r.list->parsed() ? list(r) : show(r);
}

Declare declare_alerts() {
  return declare(add_alerts_command, alerts_command);
}

}  // namespace margay::app
