#include "margay/settings/command_options.h"

#include "margay/settings/config.h"

namespace margay::app {

Flags common_flags(CommonFlags& f) {
  Flags flags = {
      text_flag(
          "--config", "FILE",
          "configuration file (TOML); every key is explained in the shipped margay.toml; flags override it",
          f.config),
      text_flag("--slice", "DURATION",
                "duration of a timeslice, e.g. 100ms (the default): what is shorter is not told apart",
                f.slice),
      text_flag("--archive", "DIR",
                "directory for the run's archive; made if missing (default: margay-RUN here)", f.archive),
      text_flag("--alerts", "FILE", "file for alerts: one JSON object a line, written as they happen",
                f.alerts),
      text_flag("--p", "P",
                "gain/loss ratio of the partition shown, 0 (every detail) to 1 (one aggregate), or auto (the "
                "default): just above the noise",
                f.p),
      text_flag(
          "--operator", "OPERATOR",
          "what the model shown is made of: duration (time in states, the default), occurrences, bytes, "
          "messages, mean:VARIABLE. Phases and alerts rest on durations all the same",
          f.op),
      switch_flag("--no-raw", "keep the model only, not every single event", f.no_raw),
      switch_flag("--every-call",
                  "record every call one by one, whatever it costs the job: processes that call very often "
                  "are summed otherwise (node.record_budget)",
                  f.every_call),
      text_flag("--capture", "FILE", "file for every message as it came in (to find faults in Margay)",
                f.capture),
  };
  flags.back().hidden = true;
  return flags;
}

std::vector<std::string> CommonFlags::to_arguments() const {
  CommonFlags copy = *this;
  return given_arguments(common_flags(copy));
}

Status apply_flags(const CommonFlags& f, Options& o) {
  config::Config c;
  if (!f.config.empty()) {
    auto loaded = config::load(f.config);
    if (!loaded) return tl::unexpected(loaded.error());
    c = std::move(*loaded);
  }
  if (f.slice) {
    const auto d = config::parse_duration(*f.slice);
    if (!d) return fail(d.error(), "--slice " + *f.slice);
    if (*d < milliseconds(10) || *d > seconds(600))
      return fail(ErrorCode::kInvalidArgument, "--slice " + *f.slice + ": expected 10ms to 10min");
    // Coarser levels that the new slice does not divide give way to multiples of it.
    const config::Config before = c;
    c.slice.duration = *d;
    std::vector<DurationNs> levels;
    DurationNs below = *d;
    for (const DurationNs level : c.slice.levels)
      if (level > below && level.value % below.value == 0) {
        levels.push_back(level);
        below = level;
      }
    c.slice.levels = levels;
    c.store.keep_levels = before.level_ages(c.level_durations());
  }
  if (f.p) {
    if (*f.p == "auto") {
      c.detect.p.reset();
    } else {
      char* end = nullptr;
      const double p = std::strtod(f.p->c_str(), &end);
      if (end == f.p->c_str() || *end != '\0' || !(p >= 0 && p <= 1))
        return fail(ErrorCode::kInvalidArgument, "--p " + *f.p + ": expected auto or a number from 0 to 1");
      c.detect.p = p;
    }
  }
  const auto op = slicer::Operator::parse(f.op.value_or(c.model.op));
  if (!op) return fail(op.error(), f.op ? "--operator " + *f.op : "model.operator");
  o.op = *op;
  o.levels = c.level_durations();
  o.window_slices = c.slice.window;
  o.lateness = c.slice.lateness;
  o.silence_hold_slices = c.slice.silence_hold;
  o.commit_period = c.store.commit;
  o.sync = c.store.sync;
  o.compact = c.store.cells == "compact";
  o.raw_events = c.store.raw_events && !f.no_raw;
  o.raw_resolution = c.store.resolution;
  if (o.levels[0].value % o.raw_resolution.value != 0)
    return fail(ErrorCode::kInvalidArgument, "store.resolution of " + config::to_text(o.raw_resolution) +
                                                 " does not divide slices of " +
                                                 config::to_text(o.levels[0]));
  o.store_memory_bytes = c.store.memory.value;
  o.disk_budget_bytes = c.limits.disk.value;
  o.disk_keep_free_bytes = c.store.keep_free.value;
  o.keep = {c.store.keep_raw, c.store.keep_reports, c.level_ages(o.levels)};
  o.window_memory_bytes = c.limits.memory.value;
  o.view_memory_bytes = c.limits.views.value;
  o.limits.sources = c.limits.sources;
  o.limits.leaves = c.limits.leaves;
  o.limits.states = c.limits.states;
  o.limits.cell_bytes = c.limits.cells.value;
  o.limits.measured = o.op != slicer::Operator{};
  o.p = c.detect.p;
  o.min_effect = c.detect.min_effect;
  o.false_alarms_per_day = c.detect.false_alarms_per_day;
  o.watch_levels = c.detect.every_level;
  o.min_duration_slices = c.detect.min_duration_slices;
  o.updates = {c.alerts.update_every, c.alerts.persistent_after};
  o.idle_states = c.detect.idle_states;
  o.node_period = c.node.period;
  o.node_sample = c.node.sample;
  o.record_budget = f.every_call ? 0 : c.node.record_budget;
  o.node_memory_bytes = c.node.memory.value;
  o.lttng = {c.lttng.sub_buffer.value, c.lttng.sub_buffers, c.lttng.memory.value, c.lttng.disk.value,
             c.lttng.live_timer,       c.lttng.sessions,    c.lttng.rules};
  o.listen = {c.listen.ingest, c.listen.reports,     c.listen.control,
              c.listen.keys,   c.listen.connections, c.listen.per_address};
  o.archive = f.archive;
  o.alerts_file = f.alerts.empty() ? c.alerts.file : f.alerts;
  o.sinks = {c.alerts.command,
             c.alerts.webhook,
             c.alerts.webhook_headers,
             c.alerts.alertmanager,
             c.alerts.alertmanager_headers,
             c.alerts.ca_file,
             c.alerts.journal,
             c.alerts.time_limit,
             c.alerts.retry_for};
  // What is not there now is said now, also by `margay run`.
  if (const auto sinks = sinks::make_sinks(o.sinks, SystemClock()); !sinks)
    return f.config.empty() ? fail(sinks.error().code, sinks.error().message) : fail(sinks.error(), f.config);
  o.http_listen = c.http.listen;
  o.http_hosts = c.http.hosts;
  o.log_level = log::parse_level(c.log.level).value_or(log::Level::kInfo);
  o.log_file_bytes = c.log.file_size.value;
  o.capture = f.capture;
  return {};
}

}  // namespace margay::app
