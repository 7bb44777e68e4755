#include "export_command.h"

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

Status write_one(const exporting::Job& job, const std::string& table, const std::string& path) {
  auto out = OutFile::create(path);
  if (!out) return tl::unexpected(out.error());
  const Status s = exporting::write_table(job, table, **out);
  if (!(*out)->good() || s) return (*out)->commit();
  return s;
}

Status write_csv(const exporting::Job& job) {
  const ExportRequest& r = job.request;
  if (!r.table.empty()) return write_one(job, r.table, r.output);
  if (r.output == "-")
    return fail(
        ErrorCode::kInvalidArgument,
        "--output -: all tables want a directory; one of them, --table cells, goes to standard output");
  std::error_code error;
  std::filesystem::create_directories(r.output, error);
  if (error) return fail(ErrorCode::kIo, r.output + ": " + error.message());
  for (const std::string& table : exporting::table_names())
    if (Status s = write_one(job, table, r.output + "/" + exporting::table_file(table)); !s) return s;
  return {};
}

}  // namespace

void add_export_command(CLI::App& command, ExportRequest& r) {
  command.description(R"(Write what an archive contains for other programs.

  margay export night.margay --format paje --output night.paje    for ViTE, pj_dump, Ocelotl
  margay export night.margay --format csv --output tables         for R and Python: cells.csv,
                                                 partition.csv, phases.csv, alerts.jsonl
  margay export night.margay --format csv --table cells --level 1s --from 60 --to 5min | head

paje  every event in order of time: containers, nested states, variables, events and links. Times
      are seconds since the begin of the run (of an imported trace: unchanged), exact to the
      nanosecond. Between MPI calls a rank of a live run is in the state Compute. With --messages
      each message is a link, from the begin of the sending call to the end of the call in which it
      was there.
csv   cells: time in each state, slice by slice, of one level; partition: the optimal partition of
      these cells just above the noise, as of margay partition; phases; alerts. Columns _s are
      seconds since the begin of the run.

Files are written whole or not at all. Exit code: 0; 2 if it cannot be done.)");
  command.add_option("archive", r.archive, "directory of the archive")->required();
  command.add_option("--format", r.format, "paje or csv")
      ->type_name("FORMAT")
      ->required()
      ->check(CLI::IsMember({"paje", "csv"}));
  command
      .add_option("-o,--output", r.output,
                  "file, or directory for all tables; - (default) is standard output")
      ->type_name("PATH");
  std::string names;
  for (const auto& n : exporting::table_names()) names += (names.empty() ? "" : ", ") + n;
  command.add_option("--table", r.table, "csv: only this table: " + names)
      ->type_name("TABLE")
      ->check(CLI::IsMember(exporting::table_names()));
  command.add_flag("--messages", r.messages,
                   "paje: with the messages between ranks, as margay events --messages");
  command
      .add_option(
          "--level", r.level,
          "csv: slices of this duration (default: the finest; for the partition the finest with at most "
          "512 slices in the range)")
      ->type_name("DURATION");
  command
      .add_option("--from", r.from, "begin of the time range (default: of the run); @N is trace time N ns")
      ->type_name("TIME");
  command.add_option("--to", r.to, "end of the time range, not included (default: of the run)")
      ->type_name("TIME");
}

int export_command(const ExportRequest& given) {
  ExportRequest r = given;
  if (r.output.empty()) r.output = "-";
  if (r.format == "paje" && (!r.table.empty() || !r.level.empty()))
    return complain("--table and --level are for --format csv");
  if (r.format == "csv" && r.messages)
    return complain("--messages is for --format paje; margay events --messages --csv lists them");
  const auto archive = store::Archive::open(r.archive, store::Mode::kBeside);
  if (!archive) return complain(archive.error().message);
  const auto all = (*archive)->load();
  if (!all) return complain(all.error().message);
  if ((*archive)->is_live())
    static_cast<void>(complain(r.archive + ": is being written; this is what it holds now"));
  std::vector<model::Attributes> leaves;
  for (const auto& l : all->leaves) leaves.push_back(l.attributes);
  exporting::Job job{r,
                     **archive,
                     *all,
                     TimeNs(std::numeric_limits<std::int64_t>::min() / 4),
                     TimeNs(std::numeric_limits<std::int64_t>::max() / 4),
                     model::Hierarchy(leaves),
                     progress_line("exporting")};
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
  const Status s = r.format == "paje" ? exporting::write_paje(job, r.output) : write_csv(job);
  if (job.progress) std::fputs("\r\033[K", stderr);
  return s ? 0 : complain(s.error().message);
}

Declare declare_export() {
  return declare(add_export_command, export_command);
}

}  // namespace margay::daemon
