#include "retention_words.h"

#include <algorithm>

#include "margay/config/units.h"

namespace margay::app {
namespace {

// Two figures at most: "42 s", "12 min", "3 h", "5 d".
std::string about(DurationNs d) {
  const std::int64_t s = d.value / 1'000'000'000;
  if (s < 120) return std::to_string(s) + " s";
  if (s < 120 * 60) return std::to_string(s / 60) + " min";
  if (s < 48 * 3600) return std::to_string(s / 3600) + " h";
  return std::to_string(s / 86'400) + " d";
}

std::string bound(const store::KeeperReport& r, const Options& o) {
  if (r.for_free_space) return "store.keep_free is " + to_text(config::SizeBytes(o.disk_keep_free_bytes));
  return "limits.disk is " + to_text(config::SizeBytes(o.disk_budget_bytes));
}

}  // namespace

store::KeeperOptions keeper_options(const Options& o) {
  store::KeeperOptions k;
  k.rules = {o.disk_budget_bytes, o.disk_keep_free_bytes};
  k.levels = o.levels;
  const std::int64_t amendable = o.amendable_slices;
  const std::int64_t merged = o.levels.back().value / o.levels[0].value;
  for (std::size_t i = 0; i < o.levels.size(); ++i)
    k.floor_slices.push_back(i == 0 ? std::max<std::int64_t>(o.window_slices, merged) + 2 * amendable
                                    : std::int64_t{o.window_slices});
  return k;
}

std::string retention_cause(const store::KeeperReport& r, const Options& o) {
  if (r.for_free_space) return "its file system has little room left (" + bound(r, o) + ")";
  return "it has come near its bound (" + bound(r, o) + ")";
}

std::string retention_sentence(const store::KeeperReport& r, const Options& o) {
  if (r.full) return "has no room for raw events: nothing more may go (" + bound(r, o) + ")";
  if (r.times == 0 && r.error.empty()) return {};
  std::string s;
  if (r.raw_bytes_dropped != 0 && o.raw_events)
    s = r.raw_kept ? "keeps the raw events of the last " + about(*r.raw_kept) : "keeps no raw events";
  if (r.slices_dropped != 0 && r.fine_kept)
    s +=
        (s.empty() ? "keeps" : " and") + std::string(" the finest slices of the last ") + about(*r.fine_kept);
  if (s.empty()) s = "gives up old reports";
  s += " (" + bound(r, o) + ")";
  if (!r.error.empty()) s += "; dropping failed: " + r.error;
  return s;
}

}  // namespace margay::app
