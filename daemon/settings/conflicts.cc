// What no single key can tell.
#include <span>

#include "key_builders.h"

namespace margay::config {
namespace {

void of_levels(const Options& o, std::vector<Conflict>& found) {
  DurationNs below = o.levels.front();
  std::string name = "slice.duration";
  for (const DurationNs level : std::span(o.levels).subspan(1)) {
    if (level <= below || level.value % below.value != 0) {
      found.push_back({"slice.levels", to_text(level) + " is not a multiple (2 times or more) of " +
                                           to_text(below) + " (" + name + ")"});
      break;
    }
    below = level;
    name = "the level before";
  }
  if (o.levels.front().value % o.raw_resolution.value != 0)
    found.push_back(
        {"store.resolution", to_text(o.raw_resolution) + " does not divide " + to_text(o.levels.front()) +
                                 " (slice.duration); of powers of two it is divided by 1ns to " +
                                 std::to_string(o.levels.front().value & -o.levels.front().value) + "ns"});
}

void of_ages(const Options& o, std::vector<Conflict>& found) {
  const std::vector<DurationNs>& levels = o.levels;
  const auto& ages = o.keep.levels;
  if (ages.size() > levels.size())
    found.push_back({"store.keep_levels", "has " + std::to_string(ages.size()) + " ages for " +
                                              std::to_string(levels.size()) +
                                              " levels (slice.duration and slice.levels)"});
  for (std::size_t i = 0; i + 1 < ages.size() && i + 1 < levels.size(); ++i)
    if (ages[i + 1] && (!ages[i] || *ages[i + 1] < *ages[i]))
      found.push_back({"store.keep_levels", "slices of " + to_text(levels[i]) + " would be kept longer (" +
                                                show_age(ages[i]) + ") than the coarser ones of " +
                                                to_text(levels[i + 1]) + " (" + show_age(ages[i + 1]) + ")"});
}

void of_limits(const Options& o, std::vector<Conflict>& found) {
  const SizeBytes disk(o.disk_budget_bytes);
  if (disk != SizeBytes(0) && disk < mebibytes(64))
    found.push_back({"limits.disk", to_text(disk) +
                                        " is too little for an archive; expected 64MiB or more, or 0 for no "
                                        "bound"});
  if (o.limits.leaves < o.limits.sources)
    found.push_back({"limits.leaves", std::to_string(o.limits.leaves) +
                                          " is less than limits.sources; each source has at least one leaf"});
}

void of_sinks(const Options& o, std::vector<Conflict>& found) {
  const std::pair<const char*, bool> headers[] = {
      {"alerts.webhook_headers", !o.sinks.webhook_headers.empty() && o.sinks.webhook.empty()},
      {"alerts.alertmanager_headers", !o.sinks.alertmanager_headers.empty() && o.sinks.alertmanager.empty()}};
  for (const auto& [key, alone] : headers)
    if (alone) found.push_back({key, "there is no URL to send them to"});
}

void of_places(const Options& o, std::vector<Conflict>& found) {
  const std::pair<const char*, const std::string*> places[] = {{"listen.ingest", &o.listen.ingest},
                                                               {"listen.reports", &o.listen.reports},
                                                               {"listen.control", &o.listen.control}};
  for (const auto& [key, place] : places) {
    if (place->empty()) continue;
    const std::size_t colon = place->rfind(':');
    if (!place->starts_with("tcp://") || colon <= 6 || colon + 1 == place->size())
      found.push_back({key, "'" + *place + "' is not of the form tcp://ADDRESS:PORT"});
    else if (o.listen.keys.empty())
      found.push_back({key, "listening on the network needs listen.keys; type: margay keys init DIR"});
  }
}

}  // namespace

std::vector<Conflict> find_conflicts(const Options& options) {
  std::vector<Conflict> found;
  for (const auto look : {of_levels, of_ages, of_limits, of_sinks, of_places}) look(options, found);
  return found;
}

}  // namespace margay::config
