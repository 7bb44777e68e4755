#include "margay/live/open_run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "margay/alert/alert.h"
#include "margay/analysis/detector_settings.h"
#include "margay/analysis/phase_memory.h"
#include "margay/log/log.h"
#include "margay/settings/memory_budget.h"
#include "margay/settings/units.h"

namespace margay::daemon {
namespace {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "host";
}

store::RunMeta new_run(const Options& o, const Clock& clock, const std::string& boot) {
  store::RunMeta run;
  run.run = o.run;
  run.command = o.command;
  run.host = host_name();
  run.boot_id = boot;
  run.margay_version = MARGAY_VERSION;
  const TimeNs mono = clock.monotonic();
  const TimeNs now = clock.realtime();
  run.begin = slice_begin(slice_of(now, o.levels[0]), o.levels[0]);
  run.wall_offset = now - mono;
  run.levels = o.levels;
  run.lateness = o.lateness;
  run.silence_hold_slices = o.silence_hold_slices;
  if (o.raw_events) run.settings[store::kResolutionSetting] = config::to_text(o.raw_resolution);
  if (o.op != slicer::Operator{}) run.settings[store::kOperatorSetting] = o.op.text();
  run.settings["store.cells"] = o.compact ? "compact" : "exact";
  return run;
}

// Daemons that committed something to this run before.
std::uint32_t starts_before(const store::Resume& resume) {
  for (const store::Blob& b : resume.state)
    if (b.name == kStartsBlob) return static_cast<std::uint32_t>(std::strtoul(b.bytes.c_str(), nullptr, 10));
  return resume.sequence > 0 ? 1 : 0;
}

// The newest time that the archive tells of.
TimeNs newest(const store::Resume& resume) {
  TimeNs t = resume.run.begin;
  for (const auto& c : resume.closed)
    if (c.level.value < resume.run.levels.size())
      t = std::max(t, slice_end(c.through, resume.run.levels[c.level.value]));
  for (const auto& l : resume.leaf_states) t = std::max({t, l.position, l.last_event});
  return t;
}

// What is kept in memory of a run's past; the rest stays in the archive.
store::LoadBounds load_bounds() {
  store::LoadBounds bounds;
  bounds.alert_bytes = kLoadedAlertBytes;
  bounds.phase_bytes = kLoadedPhaseBytes;
  bounds.signature_bytes = kLoadedSignatureBytes;
  bounds.alert_time = [](const store::AlertRecord& a) {
    const auto alert = alert::parse_untrusted(a.json);
    return alert ? alert->detected.value : std::numeric_limits<std::int64_t>::min();
  };
  bounds.signature_time = [](const store::Blob& b) {
    const auto known = from_blob_untrusted(b);
    return known ? known->born.value : std::numeric_limits<std::int64_t>::min();
  };
  bounds.names_of_gone = false;
  return bounds;
}

// What a run keeps from its begin. Levels first: others follow of them.
Status keep_settings(const OpenRun& run, Options& o) {
  o.levels = run.resume.run.levels;
  if (!o.levels.empty() && o.levels[0].value % o.raw_resolution.value != 0)
    return fail(ErrorCode::kInvalidArgument,
                o.archive + ": store.resolution of " + config::to_text(o.raw_resolution) +
                    " does not divide its slices of " + config::to_text(o.levels[0]));
  if (run.exists) {
    const auto kept = run_operator(run.resume.run);
    if (!kept) return fail(kept.error(), o.archive);
    if (*kept != o.op)
      log::warning(o.archive + ": the run was begun with the operator " + kept->text() + " and keeps it");
    o.op = *kept;
    o.limits.measured = o.op != slicer::Operator{};
  }
  o.limits.held_slices = held_slices(o);
  return {};
}

// The run's resolution is that of the least exact events in it.
void note_resolution(const Options& o, store::RunMeta& run) {
  std::string& resolution = run.settings[store::kResolutionSetting];
  const auto before = config::parse_duration(resolution);
  if (o.raw_events && (!before || *before < o.raw_resolution)) resolution = config::to_text(o.raw_resolution);
  if (resolution.empty()) run.settings.erase(store::kResolutionSetting);
}

}  // namespace

Result<OpenRun> open_run(Options& o, const Clock& clock, const std::string& boot,
                         store::ArchiveOptions archive_options) {
  archive_options.memory_bytes = o.store_memory_bytes;
  archive_options.disk_budget = o.disk_budget_bytes;
  OpenRun run;
  auto archive = store::Archive::open(o.archive, store::Mode::kWrite, archive_options);
  run.exists = archive || archive.error().code != ErrorCode::kNotFound;
  if (!run.exists) archive = store::Archive::create(o.archive, new_run(o, clock, boot), archive_options);
  if (!archive) return tl::unexpected(archive.error());
  run.archive = std::move(*archive);
  auto resume = run.archive->load(load_bounds());
  if (!resume) return tl::unexpected(resume.error());
  run.resume = std::move(*resume);
  store::RunMeta& meta = run.resume.run;
  if (meta.run != o.run)
    return fail(ErrorCode::kInvalidArgument,
                o.archive + ": holds the run '" + meta.run + "'; give --archive a directory of its own");
  // A daemon that died after its last cut has a successor, which says again how the run ended.
  if (meta.end && o.restarts == 0)
    return fail(ErrorCode::kInvalidArgument,
                o.archive + ": this run is over; a new run needs a directory of its own");
  o.restarts = std::max(o.restarts, starts_before(run.resume));
  if (auto ok = keep_settings(run, o); !ok) return tl::unexpected(ok.error());
  note_resolution(o, meta);
  if (meta.boot_id != boot) {
    // The machine's clock began anew, and its wall clock may be behind what it was: trace time goes on.
    meta.wall_offset = std::max(clock.realtime(), newest(run.resume)) - clock.monotonic();
    o.former_boot_id = std::exchange(meta.boot_id, boot);
  }
  const auto back = look_back(*run.archive, run.resume);
  if (!back) return tl::unexpected(back.error());
  run.back = *back;
  return run;
}

}  // namespace margay::daemon
