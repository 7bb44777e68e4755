#include "alerts_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "alerts_output.h"
#include "archive/archive_facts.h"
#include "command.h"
#include "evidence.h"
#include "margay/text/text.h"
#include "shell_words.h"

namespace margay::daemon {
namespace {

constexpr int kNotSo = 1;
constexpr int kUnreadable = 2;
constexpr std::size_t kLongestCommand = 8300;  // columns: a link is never cut

int complain(const std::string& sentence) {
  std::fprintf(stderr, "margay: %s\n", text::printable(sentence, true, 2000).c_str());
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
  if (!r.json) {
    std::error_code none;  // then the path as it was given
    const std::filesystem::path path = std::filesystem::absolute(r.path, none);
    const auto say = [](const std::string& what, const std::string& command) {
      std::fputs(text::printable(what + command, true, kLongestCommand).append("\n").c_str(), stdout);
    };
    say("The calls: ", "margay events " + shell_word(r.path) + " --alert " + *id);
    say("The picture: ",
        "margay-viewer " +
            shell_word(picture_link(*evidence, none ? r.path : path.lexically_normal().string())));
  }
  return evidence->again.exact && !evidence->again.same ? kNotSo : 0;
}

}  // namespace

void add_alerts_command(CLI::App& command, AlertsRequest& r) {
  command.description(
      R"(List alerts and explain one; acknowledge and silence those that fire. Archives of running jobs can
be read, too.

  margay alerts ls                              all alerts of the archives in this directory
  margay alerts show night.margay 13900-3       why an alert was raised; computed again, compared
  margay alerts ack 13900-3                     you look after it: no more notifications of it
  margay alerts silence --node /node7 --for 2h  no notifications about node7 for two hours

Exit code: 0; 1 if there is no such alert, it cannot be computed again, or the request is refused; 2
if an archive cannot be read.)");
  command.require_subcommand(1);
  r.list = command.add_subcommand("ls", R"(List alerts, one a line: onset, duration, strength, cause.

  margay alerts ls                              of all archives in this directory
  margay alerts ls night.margay --kind stall)");
  r.list->add_option("archive", r.paths, "archives, or directories with archives (default: this directory)");
  r.list
      ->add_option("--kind", r.kind, "only this kind: perturbation, stall, phase_duration, source_lost, loss")
      ->type_name("KIND")
      ->check(CLI::IsMember(alert::kind_names()));
  r.list->add_flag("--firing", r.firing, "only alerts that have not ended");
  r.show = command.add_subcommand(
      "show",
      R"(Show one alert and the measurements it rests on: cells, phase, score, settings, who waited for whom.
It is computed again from the recorded slices and compared, so you can check it.

  margay alerts show night.margay 13900-3)");
  r.show->add_option("archive", r.path, "directory of the archive")->required();
  r.show->add_option("alert", r.id, "id of the alert; the end of the id is enough")->required();
  for (auto* s : {r.list, r.show}) s->add_flag("--json", r.json, "print JSON, for programs");
  add_handle_commands(command, r.handle);
}

int alerts_command(const AlertsRequest& r) {
  if (handle_parsed(r.handle)) return handle_command(r.handle);
  return r.list->parsed() ? list(r) : show(r);
}

Declare declare_alerts() {
  return declare(add_alerts_command, alerts_command);
}

}  // namespace margay::daemon
