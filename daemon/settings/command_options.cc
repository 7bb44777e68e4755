#include "margay/settings/command_options.h"

#include <algorithm>
#include <tuple>

#include "margay/settings/config.h"

namespace margay::daemon {

Flags common_flags(CommonFlags& f) {
  Flags flags = {
      text_flag("--config", "FILE",
                "configuration file (TOML; margay config prints one with every key); flags override it",
                f.config),
      list_flag("--set", "KEY=VALUE",
                "set one key of the configuration: --set store.commit=200ms; may be given again", f.set),
      text_flag("--slice", "DURATION",
                "duration of a timeslice (default: 100ms): nothing shorter is distinguished", f.slice),
      text_flag("--archive", "DIR",
                "directory for the archive of the run; made if missing (default: margay-RUN here)",
                f.archive),
      text_flag("--alerts", "FILE", "write alerts to this file as they happen, one JSON object a line",
                f.alerts),
      text_flag(
          "--p", "P",
          "gain/loss ratio of the partition, 0 (all details) to 1 (one part), or auto (default): just above "
          "the noise",
          f.p),
      text_flag(
          "--operator", "OPERATOR",
          "what the cells of the picture are made of: duration (default; time in each state), occurrences, "
          "bytes, messages, mean:VARIABLE. Phases and alerts always use durations",
          f.op),
      switch_flag("--no-raw", "keep the model only, not every event", f.no_raw),
      switch_flag(
          "--every-call",
          "record every call, whatever it costs the job; without it, calls of processes that call very "
          "often are summed (node.record_budget)",
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

namespace {

// Coarser levels that the new slice does not divide give way; those that stay are kept for as long as before,
// a new one as the coarsest of before that is not coarser.
Status set_slice(const std::string& slice, Options& o) {
  const std::vector<DurationNs> levels = o.levels;
  const auto ages = o.keep.levels;
  if (Status s = config::set("slice.duration", slice, o); !s) return s;
  o.levels.resize(1);
  for (auto level = levels.begin() + 1; level != levels.end(); ++level)
    if (*level > o.levels.back() && level->value % o.levels.back().value == 0) o.levels.push_back(*level);
  o.keep.levels.clear();
  for (const DurationNs level : o.levels) {
    const auto above = std::upper_bound(levels.begin() + 1, levels.end(), level);
    const auto at = static_cast<std::size_t>(above - levels.begin()) - 1;
    o.keep.levels.push_back(at < ages.size() ? ages[at] : std::nullopt);
  }
  return {};
}

// "slice.window=512"
Status set_key(const std::string& text, Options& o) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return fail(ErrorCode::kInvalidArgument, "expected KEY=VALUE");
  return config::set(text.substr(0, equals), text.substr(equals + 1), o);
}

}  // namespace

Status apply_flags(const CommonFlags& f, Options& o) {
  if (!f.config.empty())
    if (Status s = config::load(f.config, o); !s) return s;
  for (const std::string& text : f.set)
    if (Status s = set_key(text, o); !s) return fail(s.error(), "--set " + text);
  if (f.slice)
    if (Status s = set_slice(*f.slice, o); !s) return fail(s.error(), "--slice " + *f.slice);
  const std::tuple<const char*, const char*, std::optional<std::string>> of_keys[] = {
      {"--p", "detect.p", f.p},
      {"--operator", "model.operator", f.op},
      {"--alerts", "alerts.file", f.alerts.empty() ? std::nullopt : std::optional(f.alerts)}};
  for (const auto& [flag, key, value] : of_keys)
    if (value)
      if (Status s = config::set(key, *value, o); !s) return fail(s.error(), flag + (" " + *value));
  if (f.no_raw) o.raw_events = false;
  if (f.every_call) o.record_budget = 0;
  o.limits.measured = o.op != slicer::Operator{};
  o.archive = f.archive;
  o.capture = f.capture;
  if (Status s = config::check(o); !s) return s;
  // What is not there now is said now, also by `margay run`.
  if (const auto sinks = sinks::make_sinks(o.sinks, SystemClock()); !sinks)
    return f.config.empty() ? fail(sinks.error().code, sinks.error().message) : fail(sinks.error(), f.config);
  return {};
}

}  // namespace margay::daemon
