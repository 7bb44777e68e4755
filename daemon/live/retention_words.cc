#include "margay/live/retention_words.h"

#include <utility>
#include <vector>

#include "margay/settings/units.h"

namespace margay::daemon {
namespace {

// Two figures at most: "42 s", "12 min", "3 h", "5 d".
std::string about(DurationNs d) {
  const std::int64_t s = d.value / 1'000'000'000;
  if (s < 120) return std::to_string(s) + " s";
  if (s < 120 * 60) return std::to_string(s / 60) + " min";
  if (s < 48 * 3600) return std::to_string(s / 3600) + " h";
  return std::to_string(s / 86'400) + " d";
}

std::string bound(const store::RetentionReport& r, const Options& o) {
  if (r.for_free_space) return "store.keep_free is " + to_text(config::SizeBytes(o.disk_keep_free_bytes));
  return "limits.disk is " + to_text(config::SizeBytes(o.disk_budget_bytes));
}
std::string age(const char* key, const std::optional<DurationNs>& age) {
  return std::string(key) + " is " + (age ? config::to_text(*age) : "forever");
}

}  // namespace

store::RetentionOptions retention_options(const Options& o) {
  store::RetentionOptions k;
  k.rules = {o.disk_budget_bytes, o.disk_keep_free_bytes};
  k.levels = o.levels;
  k.ages = o.keep;
  k.floor_slices = store::restart_floor(o.levels, o.window_slices, o.amendable_slices);
  return k;
}

std::string retention_cause(const store::RetentionReport& r, const Options& o) {
  if (r.raw_for_age || r.reports_for_age || r.slices_for_age)
    return "its oldest data has reached its age limit (store.keep_raw, keep_reports, keep_levels)";
  if (r.for_free_space) return "its file system has little free space (" + bound(r, o) + ")";
  return "it is near its size limit (" + bound(r, o) + ")";
}

std::string retention_sentence(const store::RetentionReport& r, const Options& o) {
  if (r.full)
    return "is full, and raw events are not archived: nothing more may be deleted (" + bound(r, o) + ")";
  if (r.times == 0 && r.error.empty()) return {};
  // What is kept, and which key asks for it; the key once where it is the same.
  std::vector<std::pair<std::string, std::string>> kept;
  if ((r.raw_bytes_dropped != 0 || r.raw_for_age) && o.raw_events)
    kept.emplace_back(r.raw_kept ? "the raw events of the last " + about(*r.raw_kept) : "no raw events",
                      r.raw_for_age ? age("store.keep_raw", o.keep.raw) : bound(r, o));
  if (r.slices_dropped != 0 && r.fine_kept)
    kept.emplace_back("the finest slices of the last " + about(*r.fine_kept),
                      r.slices_for_age && !o.keep.levels.empty()
                          ? age("store.keep_levels", o.keep.levels.front())
                          : bound(r, o));
  std::string s;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    s += (i == 0 ? "keeps " : " and ") + kept[i].first;
    if (i + 1 == kept.size() || kept[i + 1].second != kept[i].second) s += " (" + kept[i].second + ")";
  }
  if (s.empty())
    s = "deletes old reports (" +
        (r.reports_for_age ? age("store.keep_reports", o.keep.reports) : bound(r, o)) + ")";
  if (!r.error.empty()) s += "; deleting failed: " + r.error;
  return s;
}

}  // namespace margay::daemon
