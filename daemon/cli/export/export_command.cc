#include "export_command.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>

#include "command.h"
#include "export_parts.h"
#include "margay/query/run_views.h"
#include "margay/settings/units.h"
#include "margay/text/text.h"
#include "paje_writer.h"
#include "progress_line.h"

namespace margay::daemon {
namespace {

constexpr int kTrouble = 2;

int complain(const std::string& sentence) {
  std::fprintf(stderr, "margay: %s\n", text::printable("export: " + sentence, true, 2000).c_str());
  return kTrouble;
}

Result<TimeNs> time_of(const char* option, const std::string& text, TimeNs origin) {
  auto t = config::parse_moment(text, origin);
  if (!t) return fail(t.error(), std::string(option) + " " + text);
  return *t;
}

Status write_one(const exporting::Job& job, const exporting::ArchiveTable& table, const std::string& path) {
  auto out = OutFile::create(path);
  if (!out) return tl::unexpected(out.error());
  Status s = exporting::write_table(job, table, **out);
  if (!(*out)->good() || s) return (*out)->commit();
  return s;
}

Status write_csv(const exporting::Job& job) {
  const ExportRequest& r = job.request;
  const auto tables = exporting::wanted_tables(r, true);
  if (!tables) return tl::unexpected(tables.error());
  if (tables->size() == 1) return write_one(job, tables->front(), r.output);
  if (r.output == "-")
    return fail(ErrorCode::kInvalidArgument,
                "--output -: several tables want a directory; one of them, --table cells, goes to standard "
                "output");
  std::error_code error;
  std::filesystem::create_directories(r.output, error);
  if (error) return fail(ErrorCode::kIo, r.output + ": " + error.message());
  for (const exporting::ArchiveTable& t : *tables)
    if (Status s = write_one(job, t, r.output + "/" + exporting::table_file(t.table.name)); !s) return s;
  return {};
}

Status write_as(const std::string& format, const exporting::Job& job, const std::string& output) {
  if (format == "paje") return exporting::write_paje(job, output);
  if (format == "csv") return write_csv(job);
  return exporting::write_sqlite(job, output);
}

// What makes no call, whatever the archive holds.
std::string wrong_call(const ExportRequest& r) {
  if (r.format == "paje" && (!r.table.empty() || !r.level.empty() || !r.view.empty()))
    return "--table, --level and --view are for --format csv and sqlite";
  if (r.format == "csv" && r.messages) return "--messages is for --format paje; --table messages lists them";
  if (r.format == "sqlite" && r.messages) return "--messages is for --format paje; SQLite has them anyway";
  if (r.format == "sqlite" && r.output == "-")
    return "--format sqlite writes a file, not standard output: give --output FILE";
  return {};
}

}  // namespace

void add_export_command(CLI::App& command, ExportRequest& r) {
  command.description(R"(Write what an archive contains for other programs.

  margay export night.margay --format paje --output night.paje    for ViTE, pj_dump, Ocelotl
  margay export night.margay --format csv --output tables         for R and Python: cells.csv,
                                                 partition.csv, phases.csv, alerts.jsonl
  margay export night.margay --format csv --table cells --level 1s --from 60 --to 5min | head
  margay export night.margay --format sqlite --output night.sqlite    all of it in one file

paje  every event in order of time: containers, nested states, variables, events and links. Times
      are seconds since the begin of the run (of an imported trace: unchanged), exact to the
      nanosecond. Between MPI calls a rank of a live run is in the state Compute. With --messages
      each message is a link, from the begin of the sending call to the end of the call in which it
      was there.
csv   cells: time in each state, slice by slice, of one level; partition: the optimal partition of
      these cells just above the noise, as of margay partition; phases; alerts. With --table also
      events, messages, statistics, resources ... Columns _s are seconds since the run's begin.
sqlite  all of these tables, with indices; their columns: daemon/cli/export/TABLES.md.

Files are written whole or not at all. Exit code: 0; 2 if it cannot be done.)");
  command.add_option("archive", r.archive, "directory of the archive")->required();
  command.add_option("--format", r.format, "paje, csv or sqlite")
      ->type_name("FORMAT")
      ->required()
      ->check(CLI::IsMember({"paje", "csv", "sqlite"}));
  command
      .add_option("-o,--output", r.output,
                  "file, or directory for all tables; - (default) is standard output")
      ->type_name("PATH");
  std::string names;
  for (const exporting::ArchiveTable& t : exporting::archive_tables())
    names += t.table.name + std::string(", ");
  command.add_option("--table", r.table, "only these tables, with commas: " + names + "all")
      ->type_name("TABLE");
  command.add_flag("--messages", r.messages,
                   "paje: with the messages between ranks, as margay events --messages");
  command
      .add_option(
          "--level", r.level,
          "cells of slices of this duration (default: the finest; for the partition the finest with at most "
          "512 slices in the range)")
      ->type_name("DURATION");
  command.add_option("--view", r.view, "hierarchy of the partition: host/core, 'rank mod 8' (margay views)")
      ->type_name("VIEW");
  command
      .add_option("--from", r.from, "begin of the time range (default: of the run); @N is trace time N ns")
      ->type_name("TIME");
  command.add_option("--to", r.to, "end of the time range, not included (default: of the run)")
      ->type_name("TIME");
}

int export_command(const ExportRequest& given) {
  ExportRequest r = given;
  if (r.output.empty()) r.output = "-";
  if (const std::string wrong = wrong_call(r); !wrong.empty()) return complain(wrong);
  const auto view = view_of(r.view);
  if (!view) return complain(view.error().message);
  // A file over the limit of its size is an error like a full disk, and no end of this program.
  ::signal(SIGXFSZ, SIG_IGN);
  const auto archive = store::Archive::open(r.archive, store::Mode::kBeside);
  if (!archive) return complain(archive.error().message);
  const auto all = (*archive)->load();
  if (!all) return complain(all.error().message);
  if ((*archive)->is_live())
    static_cast<void>(complain(r.archive + ": is being written; this is what it holds now"));
  std::vector<model::Attributes> leaves;
  for (const auto& l : all->leaves) leaves.push_back(l.attributes);
  if (const Status ok = check_view(leaves, *view); !ok) return complain("--view: " + ok.error().message);
  exporting::Findings found;
  exporting::Job job{r,
                     **archive,
                     *all,
                     TimeNs(std::numeric_limits<std::int64_t>::min() / 4),
                     TimeNs(std::numeric_limits<std::int64_t>::max() / 4),
                     model::Hierarchy(leaves),
                     progress_line("exporting"),
                     model::Hierarchy(leaves, *view),
                     found};
  // As the times that are written.
  const TimeNs origin = r.format == "paje" && PajeWriter::imported(*all) ? TimeNs() : all->run.begin;
  job.from = std::max(job.from, all->run.begin);
  if (!r.from.empty()) {
    const auto t = time_of("--from", r.from, origin);
    if (!t) return complain(t.error().message);
    job.from = *t;
  }
  if (!r.to.empty()) {
    const auto t = time_of("--to", r.to, origin);
    if (!t) return complain(t.error().message);
    job.to = *t;
  }
  if (job.to <= job.from) return complain("--to is not after --from");
  const Status s = write_as(r.format, job, r.output);
  if (job.progress) std::fputs("\r\033[K", stderr);
  if (s)
    for (const std::string& note : found.notes)
      std::fprintf(stderr, "margay: %s\n", text::printable(note, true, 2000).c_str());
  return s ? 0 : complain(s.error().message);
}

Declare declare_export() {
  return declare(add_export_command, export_command);
}

}  // namespace margay::daemon
