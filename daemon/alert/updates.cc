#include "margay/alert/updates.h"

#include <algorithm>

namespace margay::alert {
namespace {

constexpr double kOtherScore = 2;      // times
constexpr double kLeastScore = 0.01;   // bits a slice; below it a score says nothing
constexpr std::int64_t kScored = 256;  // slices that a score is summed over at most (detect/incident.cc)

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

bool other(double before, double now) {
  before = std::max(before, kLeastScore);
  now = std::max(now, kLeastScore);
  return now > kOtherScore * before || before > kOtherScore * now;
}

}  // namespace

// A score grows with the slices it is summed over; that alone is no change.
double Updates::bits_a_slice(const Alert& a, TimeNs now) {
  const std::int64_t slices = a.level.value > 0 ? (now - a.onset).value / a.level.value : 1;
  return a.score_bits / static_cast<double>(std::clamp<std::int64_t>(slices, 1, kScored));
}

void Updates::said(Alert& a) {
  if (a.status == Status::kFiring) {
    last_[a.id] = {
        sorted(a.resources), sorted(a.affected), bits_a_slice(a, a.detected), a.detected, 0, {}, false,
        !a.takers.empty()};
    if (last_.size() > kMostFollowed) last_.erase(last_.begin());
    return;
  }
  const auto at = last_.find(a.id);
  if (at == last_.end()) return;
  a.updates = at->second.updates;
  a.updated = at->second.updated;
  last_.erase(at);
}

void Updates::look(const Alert& now, TimeNs watermark, std::vector<Alert>& out) {
  if (options_.every <= DurationNs(0)) return;
  const auto at = last_.find(now.id);
  if (at == last_.end()) return;
  Last& last = at->second;
  const bool named = last.named || !now.takers.empty();
  if (watermark - last.at < options_.every && named == last.named) return;
  const bool persistent =
      options_.persistent_after > DurationNs(0) && watermark - now.onset >= options_.persistent_after;
  Last next{sorted(now.resources),
            sorted(now.affected),
            bits_a_slice(now, watermark),
            watermark,
            last.updates + 1,
            watermark,
            persistent,
            named};
  if (next.resources == last.resources && next.affected == last.affected &&
      next.persistent == last.persistent && next.named == last.named &&
      !other(last.bits_a_slice, next.bits_a_slice))
    return;
  last = std::move(next);
  Alert a = now;
  a.updates = last.updates;
  a.updated = last.updated;
  a.persistent = last.persistent;
  out.push_back(std::move(a));
}

}  // namespace margay::alert
