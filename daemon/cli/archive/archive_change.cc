#include "archive_change.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "archive_output.h"
#include "margay/base/text.h"
#include "margay/settings/units.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

using nlohmann::json;
using text::size_text;

constexpr int kUnreadable = 2;
constexpr int kNotDone = 1;

bool on_terminal() {
  return isatty(STDERR_FILENO) == 1;
}

std::string safe(const std::string& text) {
  return text::printable(text, true, 300);
}

std::string what(const Pruned::Gone& g) {
  if (g.shelf == store::Shelf::kRaw) return "raw events";
  if (g.shelf == store::Shelf::kReports) return "reports";
  return "slices of " + text::slice_text(g.slice.value);
}

// What `margay run` and margayd leave beside the database.
const std::vector<std::string>& own_files() {
  static const std::vector<std::string> names = {"log", "alerts.sent", "alerts.sent.new"};
  return names;
}

// Says what takes long while it does, where somebody looks on.
class Notice {
 public:
  explicit Notice(const std::string& text) : shown_(on_terminal()) {
    if (shown_) std::fprintf(stderr, "%s ...", safe(text).c_str());
  }
  ~Notice() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;

 private:
  bool shown_;
};

}  // namespace

int complain(const std::string& sentence) {
  std::fprintf(stderr, "margay: %s\n", text::printable(sentence, true, 2000).c_str());
  return kUnreadable;
}

void add_change_commands(CLI::App& archive, ArchiveRequest& r) {
  r.prune = archive.add_subcommand(
      "prune",
      R"(Delete old data of an archive that is not being written: all that is older than an age (counted back
from the newest slice), or the oldest until the archive fits a size (first raw events, then reports,
then slices, the finest first). Phases, alerts and the newest slices always stay.

  margay archive prune night.margay --keep-raw 1h --dry-run       what would be deleted?
  margay archive prune night.margay --keep-raw 0                  delete all raw events
  margay archive prune night.margay --keep-level 100ms=1d --keep-level 1s=30d
  margay archive prune night.margay --to-size 500MiB

While a job runs, the keys store.keep_raw, keep_reports and keep_levels do the same (margay config).
Exit code: 0; 1 if the size was not reached; 2 if it cannot be done.)");
  r.prune->add_option("archive", r.path, "directory of the archive")->required();
  r.prune->add_option("--keep-raw", r.keep_raw, "keep raw events this long: 7d, 12h, 0 for none")
      ->type_name("AGE");
  r.prune->add_option("--keep-reports", r.keep_reports, "the same for reports (past live views)")
      ->type_name("AGE");
  r.prune
      ->add_option("--keep-level", r.keep_levels, "the same for the slices of one level; may be given again")
      ->type_name("SLICE=AGE");
  r.prune->add_option("--to-size", r.to_size, "then delete the oldest until it has this size: 2GiB")
      ->type_name("SIZE");
  r.prune->add_flag("--dry-run", r.dry_run, "only print what would be deleted");
  r.compact = archive.add_subcommand(
      "compact",
      R"(Rewrite the files of an archive without deleted data. What it contains does not change. It may need
as much free space as the archive has now.

  margay archive compact night.margay)");
  r.compact->add_option("archive", r.path, "directory of the archive")->required();
  r.remove = archive.add_subcommand(
      "rm",
      R"(Remove archives for good. Asks before, on a terminal. Does not touch what is no archive, is being
written, or also holds other files.

  margay archive rm night.margay

Exit code: 0; 1 if you answered no; 2 if one of them was not removed.)");
  r.remove->add_option("archive", r.doomed, "directories of archives")->required();
  r.remove->add_flag("-f,--force", r.force, "do not ask");
  for (auto* s : {r.prune, r.compact, r.remove}) s->add_flag("--json", r.json, "print JSON, for programs");
}

Result<PruneRules> prune_rules(const ArchiveRequest& r) {
  PruneRules rules;
  rules.dry_run = r.dry_run;
  const auto age = [](const std::string& option, const std::string& text) -> Result<DurationNs> {
    const auto d = config::parse_duration(text);
    if (!d) return fail(d.error(), option);
    return *d;
  };
  if (!r.keep_raw.empty()) {
    const auto d = age("--keep-raw", r.keep_raw);
    if (!d) return tl::unexpected(d.error());
    rules.keep_raw = *d;
  }
  if (!r.keep_reports.empty()) {
    const auto d = age("--keep-reports", r.keep_reports);
    if (!d) return tl::unexpected(d.error());
    rules.keep_reports = *d;
  }
  for (const std::string& text : r.keep_levels) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      return fail(ErrorCode::kInvalidArgument,
                  "--keep-level " + text + ": expected SLICE=AGE, such as 100ms=7d");
    const auto slice = age("--keep-level " + text, text.substr(0, equals));
    if (!slice) return tl::unexpected(slice.error());
    const auto d = age("--keep-level " + text, text.substr(equals + 1));
    if (!d) return tl::unexpected(d.error());
    rules.keep_levels.emplace_back(*slice, *d);
  }
  if (!r.to_size.empty()) {
    const auto size = config::parse_size(r.to_size);
    if (!size) return fail(size.error(), "--to-size");
    rules.to_size = size->value;
  }
  if (!rules.keep_raw && !rules.keep_reports && rules.keep_levels.empty() && !rules.to_size)
    return fail(ErrorCode::kInvalidArgument,
                "nothing to prune by; say --keep-raw, --keep-reports, --keep-level or --to-size (--help has "
                "examples)");
  return rules;
}

std::string pruned_text(const std::string& path, const Pruned& p, const PruneRules& rules) {
  std::string out;
  for (const Pruned::Gone& g : p.gone) {
    out +=
        "  " + what(g) + " before " + text::date_text(g.before) + (rules.dry_run ? " would go" : " are gone");
    if (g.slices != 0) out += ", " + grouped(g.slices);
    if (g.bytes != 0) out += ", about " + size_text(g.bytes);
    out += "\n";
  }
  out = safe(path) + ": " + (p.gone.empty() ? "nothing is as old as that" : size_text(p.bytes_before)) +
        (p.gone.empty()
             ? ""
             : (rules.dry_run ? ", and would take about " : " before, now ") + size_text(p.bytes_after)) +
        "\n" + out;
  if (!p.enough)
    out += "  " + size_text(*rules.to_size) +
           (rules.dry_run ? " might not be reached" : " were not reached") +
           ": the newest slices, phases and alerts stay\n";
  return out;
}

std::string pruned_json(const std::string& path, const Pruned& p, const PruneRules& rules) {
  json gone = json::array();
  for (const Pruned::Gone& g : p.gone) {
    json one = {{"before_ns", g.before.value}, {"bytes", g.bytes}};
    one["what"] = g.shelf == store::Shelf::kRaw       ? "raw"
                  : g.shelf == store::Shelf::kReports ? "reports"
                                                      : "slices";
    if (g.shelf == store::Shelf::kSlices) one["slice_ns"] = g.slice.value, one["slices"] = g.slices;
    gone.push_back(std::move(one));
  }
  return json{{"path", clean_utf8(path)},     {"dry_run", rules.dry_run}, {"bytes_before", p.bytes_before},
              {"bytes_after", p.bytes_after}, {"size_reached", p.enough}, {"gone", gone}}
             .dump(2) +
         "\n";
}

int prune_command(const ArchiveRequest& r) {
  const auto rules = prune_rules(r);
  if (!rules) return complain(rules.error().message);
  const Result<Pruned> pruned = [&] {
    const Notice notice("pruning " + r.path);
    return prune_archive(r.path, *rules);
  }();
  if (!pruned) return complain(pruned.error().message);
  std::fputs((r.json ? pruned_json : pruned_text)(r.path, *pruned, *rules).c_str(), stdout);
  return pruned->enough ? 0 : kNotDone;
}

int compact_command(const ArchiveRequest& r) {
  // Before it is opened: that takes room for a log.
  const auto closed = store::Archive::disk_use_of(r.path);
  const std::uint64_t before = closed ? closed->archive : 0;
  {
    const auto archive = store::Archive::open(r.path, store::Mode::kWrite);
    if (!archive) return complain(archive.error().message);
    const Notice notice("compacting " + r.path + ", " + size_text(before));
    if (const Status s = (*archive)->compact(); !s) return complain(s.error().message);
  }
  const auto after = store::Archive::disk_use_of(r.path);
  if (!after) return complain(after.error().message);
  if (r.json) {
    const json out = {
        {"path", clean_utf8(r.path)}, {"bytes_before", before}, {"bytes_after", after->archive}};
    std::fputs((out.dump(2) + "\n").c_str(), stdout);
  } else {
    std::printf("%s: %s before, now %s\n", safe(r.path).c_str(), size_text(before).c_str(),
                size_text(after->archive).c_str());
  }
  return 0;
}

int remove_command(const ArchiveRequest& r) {
  json removed = json::array(), left = json::array();
  int code = 0;
  const auto leave = [&](const std::string& path, const std::string& why) {
    left.push_back({{"path", clean_utf8(path)}, {"problem", clean_utf8(why)}});
    code = kUnreadable;
    if (!r.json) complain(why);
  };
  const bool can_ask = isatty(STDIN_FILENO) == 1 && on_terminal();
  for (const std::string& path : r.doomed) {
    if (const Status s = store::Archive::check_removable(path, own_files()); !s) {
      leave(path, s.error().message);
      continue;
    }
    if (!r.force && !can_ask) {
      leave(path, path + ": not removed: there is no terminal to ask on; --force removes without asking");
      continue;
    }
    if (!r.force) {
      const auto facts = archive_facts(path);
      std::fprintf(stderr, "%s%s: remove it for good? [y/N] ", safe(path).c_str(),
                   facts ? (", run " + safe(facts->run.run) + ", " + size_text(facts->bytes)).c_str() : "");
      std::string answer;
      std::getline(std::cin, answer);
      if (answer != "y" && answer != "Y" && answer != "yes") {
        left.push_back({{"path", clean_utf8(path)}, {"problem", "you answered no"}});
        code = std::max(code, kNotDone);
        continue;
      }
    }
    if (const Status s = store::Archive::remove(path, own_files()); !s) {
      leave(path, s.error().message);
      continue;
    }
    removed.push_back(clean_utf8(path));
    if (!r.json) std::printf("%s: gone\n", safe(path).c_str());
  }
  if (r.json) std::fputs((json{{"removed", removed}, {"left", left}}.dump(2) + "\n").c_str(), stdout);
  return code;
}

}  // namespace margay::daemon
