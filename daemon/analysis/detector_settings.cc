#include "margay/analysis/detector_settings.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace margay::daemon {
namespace {

template <class T>
std::string text_of(T value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

template <class T>
bool read(const std::string& text, T least, T most, T& value) {
  T got{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), got);
  if (error != std::errc() || end != text.data() + text.size() || !(got >= least && got <= most))
    return false;
  value = got;
  return true;
}

}  // namespace

detect::DetectorOptions detector_options(const Options& o) {
  detect::DetectorOptions d;
  d.run = o.run;
  d.window.slice = o.levels[0];
  d.window.slices = o.window_slices;
  d.window.p = o.p;
  d.window.lost_after = d.lost_after = o.lost_after;
  d.window.memory_budget_bytes = o.window_memory_bytes;
  d.min_effect = o.min_effect;
  d.false_alarms_per_day = o.false_alarms_per_day;
  d.stop_slices = o.min_duration_slices;
  d.stall_slices = o.min_duration_slices + 2;
  d.idle_states = {o.idle_states.begin(), o.idle_states.end()};
  return d;
}

std::vector<DurationNs> coarser_levels(const Options& o) {
  if (!o.watch_levels) return {};
  return {o.levels.begin() + 1, o.levels.end()};
}

detect::WindowOptions measured_window_options(const Options& o) {
  detect::WindowOptions w = detector_options(o).window;
  w.measured = true;
  return w;
}

Result<slicer::Operator> run_operator(const store::RunMeta& run) {
  const auto told = run.settings.find(store::kOperatorSetting);
  if (told == run.settings.end()) return slicer::Operator{};
  auto op = slicer::Operator::parse_kept(told->second);
  if (!op) return fail(ErrorCode::kCorrupt, "the run's operator '" + told->second + "' does not read");
  return op;
}

std::map<std::string, std::string> to_settings(const Options& o) {
  std::map<std::string, std::string> settings = {
      {"window_slices", text_of(o.window_slices)},
      {"window_memory_bytes", text_of(o.window_memory_bytes)},
      {"lost_after_ns", text_of(o.lost_after.value)},
      {"p", o.p ? text_of(*o.p) : "auto"},
      {"min_effect", text_of(o.min_effect)},
      {"false_alarms_per_day", text_of(o.false_alarms_per_day)},
      {"watch_levels", o.watch_levels ? "1" : "0"},
      {"min_duration_slices", text_of(o.min_duration_slices)},
      {"update_every_ns", text_of(o.updates.every.value)},
      {"persistent_after_ns", text_of(o.updates.persistent_after.value)},
      {"idle_states",
       nlohmann::json(o.idle_states).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)}};
  if (o.op != slicer::Operator{}) settings[store::kOperatorSetting] = o.op.text();
  return settings;
}

Status apply_settings(const std::map<std::string, std::string>& settings, Options& o) {
  o.op = {};  // where it is not told
  // An older Margay did not look for departures.
  if (settings.contains("min_effect") && !settings.contains("false_alarms_per_day"))
    o.false_alarms_per_day = 0;
  if (settings.contains("min_effect") && !settings.contains("update_every_ns"))
    o.updates = {DurationNs(0), DurationNs(0)};  // nor said any alert again
  if (settings.contains("min_effect") && !settings.contains("watch_levels"))
    o.watch_levels = false;  // nor looked at any level but the finest
  for (const auto& [name, value] : settings) {
    bool good = true;
    if (name == store::kOperatorSetting) {
      const auto op = slicer::Operator::parse_kept(value);
      good = op.has_value();
      if (op) o.op = *op;
    }
    if (name == "window_slices")
      good = read<std::uint32_t>(value, 2, 1u << 20, o.window_slices);
    else if (name == "window_memory_bytes")
      good = read<std::uint64_t>(value, 1, UINT64_MAX, o.window_memory_bytes);
    else if (name == "lost_after_ns")
      good = read<std::int64_t>(value, 1, INT64_MAX / 4, o.lost_after.value);
    else if (name == "update_every_ns")
      good = read<std::int64_t>(value, 0, INT64_MAX / 4, o.updates.every.value);
    else if (name == "persistent_after_ns")
      good = read<std::int64_t>(value, 0, INT64_MAX / 4, o.updates.persistent_after.value);
    else if (name == "min_effect")
      good = read<double>(value, 0, 1, o.min_effect);
    else if (name == "false_alarms_per_day")
      good = read<double>(value, 0, 1e4, o.false_alarms_per_day);
    else if (name == "watch_levels") {
      good = value == "0" || value == "1";
      o.watch_levels = value == "1";
    } else if (name == "min_duration_slices")
      good = read<std::uint32_t>(value, 1, 1u << 20, o.min_duration_slices);
    else if (name == "p" && value == "auto")
      o.p.reset();
    else if (name == "p")
      good = read<double>(value, 0, 1, o.p.emplace());
    else if (name == "idle_states") {
      const auto json = nlohmann::json::parse(value, nullptr, false);
      good = json.is_array();
      o.idle_states.clear();
      for (std::size_t i = 0; good && i < json.size(); ++i) {
        good = json[i].is_string();
        if (good) o.idle_states.push_back(json[i].get<std::string>());
      }
    }
    if (!good) return fail(ErrorCode::kCorrupt, "the setting " + name + " = '" + value + "' does not read");
  }
  return {};
}

}  // namespace margay::daemon
