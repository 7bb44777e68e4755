#include "archive_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "archive_change.h"
#include "archive_output.h"
#include "command.h"
#include "margay/base/text.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

constexpr int kDamaged = 1;
constexpr int kUnreadable = 2;

ListedArchive listed(const std::string& path) {
  auto facts = archive_facts(path);
  if (!facts) return {path, std::nullopt, facts.error().message};
  return {path, std::move(*facts), {}};
}

int list(const ArchiveRequest& r) {
  std::vector<std::string> problems;
  std::vector<ListedArchive> found;
  for (const std::string& path : archives_among(r.paths, problems)) found.push_back(listed(path));
  for (const std::string& p : problems) complain(p);
  const bool wrong = !problems.empty();
  // Oldest first; those that cannot be read last.
  std::stable_sort(found.begin(), found.end(), [](const ListedArchive& a, const ListedArchive& b) {
    if (!a.facts || !b.facts) return a.facts.has_value() && !b.facts;
    return a.facts->run.begin < b.facts->run.begin;
  });
  if (!wrong || !found.empty()) std::fputs((r.json ? list_json(found) : list_text(found)).c_str(), stdout);
  return wrong ? kUnreadable : 0;
}

int info(const ArchiveRequest& r) {
  const auto facts = archive_facts_counted(r.path);
  if (!facts) return complain(facts.error().message);
  std::fputs((r.json ? info_json(*facts) : info_text(*facts)).c_str(), stdout);
  return 0;
}

int verify(const ArchiveRequest& r) {
  const auto archive = store::Archive::open(r.path, store::Mode::kReadOnly);
  if (!archive) return complain(archive.error().message);
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const auto found = check_archive(**archive, [&](const ArchiveCheck& so_far) {
    if (terminal)
      std::fprintf(stderr, "\r%s slices, %s raw events", grouped(so_far.slices).c_str(),
                   grouped(so_far.raw_events).c_str());
  });
  if (terminal) std::fputs("\r\033[K", stderr);
  if (!found) return complain(found.error().message);
  std::fputs((r.json ? check_json(r.path, *found) : check_text(r.path, *found)).c_str(), stdout);
  return found->damages == 0 ? 0 : kDamaged;
}

}  // namespace

void add_archive_command(CLI::App& command, ArchiveRequest& r) {
  command.description(
      R"(List, check, shrink and remove the archives of runs. An archive that is being written is not read:
use margay status for a running job.

  margay archive ls                     the archives in this directory
  margay archive info night.margay      what one contains, and its size
  margay archive verify night.margay    read all of it and check every slice and sum
  margay archive prune night.margay --keep-raw 7d    delete raw events older than a week

Exit code: 0; 1 if it is damaged; 2 if it cannot be read.)");
  command.require_subcommand(1);
  r.list = command.add_subcommand(
      "ls", "List the archives in directories, oldest run first.\n\n  margay archive ls");
  r.list->add_option("dir", r.paths, "directories with archives, or archives (default: this directory)");
  r.info = command.add_subcommand(
      "info",
      "Show what an archive contains: run, levels, events, sizes.\n\n  margay archive info night.margay");
  r.verify = command.add_subcommand(
      "verify",
      R"(Read all of an archive and check it: checksums, every slice from the oldest to the newest, the sum
of every row to the nanosecond, the account of events. Changes nothing.

  margay archive verify night.margay)");
  for (auto* s : {r.info, r.verify}) s->add_option("archive", r.path, "directory of the archive")->required();
  for (auto* s : {r.list, r.info, r.verify}) s->add_flag("--json", r.json, "print JSON, for programs");
  add_change_commands(command, r);
}

int archive_command(const ArchiveRequest& r) {
  if (r.list->parsed()) return list(r);
  if (r.info->parsed()) return info(r);
  if (r.prune->parsed()) return prune_command(r);
  if (r.compact->parsed()) return compact_command(r);
  if (r.remove->parsed()) return remove_command(r);
  return verify(r);
}

Declare declare_archive() {
  return declare(add_archive_command, archive_command);
}

}  // namespace margay::daemon
