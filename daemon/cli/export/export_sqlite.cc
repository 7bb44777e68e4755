#include <algorithm>
#include <string_view>

#include "export_parts.h"
#include "sqlite_file.h"

namespace margay::daemon::exporting {
namespace {

// What an archive may lack, where nobody asked for it by name.
bool may_be_left_out(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kLimit;
}

bool is_about_the_run(const ArchiveTable& t) {
  return &t.table == &run_columns();
}

Status fill_with(const Job& job, const ArchiveTable& t, SqliteFile& file) {
  if (Status ok = file.fill(t.table); !ok) return ok;
  return t.write(job, [&](const Row& row) { return file.add(row); });
}

}  // namespace

Status write_sqlite(const Job& job, const std::string& output) {
  const auto wanted = wanted_tables(job.request, false);
  if (!wanted) return tl::unexpected(wanted.error());
  const auto wants = [&](const char* name) {
    return std::any_of(wanted->begin(), wanted->end(),
                       [&](const ArchiveTable& t) { return t.table.name == std::string_view(name); });
  };
  job.found.wants_sums = wants("events") && wants("statistics");
  auto file = SqliteFile::create(output, job.all.run.begin);
  if (!file) return tl::unexpected(file.error());
  for (const ArchiveTable& t : archive_tables())  // a query finds each, with rows or without
    if (Status ok = (*file)->make(t.table); !ok) return ok;
  for (const ArchiveTable& t : *wanted) {
    if (is_about_the_run(t)) continue;  // has what was found on the way: last
    Status ok = fill_with(job, t, **file);
    if (!ok && !(job.request.table.empty() && may_be_left_out(ok.error()))) return ok;
    if (ok) continue;
    job.found.notes.push_back(std::string(t.table.name) + ": left out: " + ok.error().message);
    if (Status cleared = (*file)->clear(t.table); !cleared) return cleared;
  }
  for (const ArchiveTable& t : *wanted)
    if (is_about_the_run(t))
      if (Status ok = fill_with(job, t, **file); !ok) return ok;
  return (*file)->commit();
}

}  // namespace margay::daemon::exporting
