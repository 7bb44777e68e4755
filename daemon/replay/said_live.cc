#include "margay/replay/said_live.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "margay/base/time.h"
#include "margay/wire/alert_json.h"

namespace margay::daemon {
namespace {

constexpr std::int64_t kAway = 2;  // slices

bool same_kind(const wire::Alert& a, const wire::Alert& b) {
  const auto of_resources = [](wire::Alert::Kind k) {
    return k == wire::Alert::PERTURBATION || k == wire::Alert::STALL;
  };
  return a.kind() == b.kind() || (of_resources(a.kind()) && of_resources(b.kind()));
}

// [begin, end), widened; one that goes on has no end.
std::pair<std::int64_t, std::int64_t> time_of(const wire::Alert& a, std::int64_t wider) {
  const auto add = [](std::int64_t t, std::int64_t d) {
    std::int64_t out = 0;
    return __builtin_add_overflow(t, d, &out) ? (d > 0 ? INT64_MAX : INT64_MIN) : out;
  };
  return {add(a.onset_ns(), -wider), a.has_end_ns() ? add(a.end_ns(), wider) : INT64_MAX};
}

bool touch_in_time(const wire::Alert& a, const wire::Alert& b) {
  constexpr std::int64_t kLongest = INT64_MAX / kAway;
  const std::int64_t slice = std::clamp<std::int64_t>(std::max(a.level_ns(), b.level_ns()), 0, kLongest);
  const auto [from, to] = time_of(a, kAway * slice);
  return b.onset_ns() <= to && (!b.has_end_ns() || from <= b.end_ns());
}

bool same_place(const wire::Alert& a, const wire::Alert& b) {
  if (a.resources().empty() || b.resources().empty())
    return a.resources().empty() && b.resources().empty() && a.node() == b.node();
  const std::set<std::string> of_a(a.resources().begin(), a.resources().end());
  return std::any_of(b.resources().begin(), b.resources().end(),
                     [&](const std::string& r) { return of_a.contains(r); });
}

bool alike(const wire::Alert& a, const wire::Alert& b) {
  return same_kind(a, b) && touch_in_time(a, b) && same_place(a, b);
}

}  // namespace

SaidLive::SaidLive(std::span<const store::AlertRecord> alerts, TimeNs from, TimeNs to) {
  for (const store::AlertRecord& record : alerts) {
    auto a = wire::read_alert_untrusted(record.json);
    if (!a || a->onset_ns() >= to.value || (a->has_end_ns() && a->end_ns() <= from.value)) continue;
    live_.push_back(std::move(*a));
  }
  std::stable_sort(live_.begin(), live_.end(),
                   [](const auto& a, const auto& b) { return a.onset_ns() < b.onset_ns(); });
  if (live_.size() > kMost) live_.erase(live_.begin(), live_.end() - kMost);
}

void SaidLive::take(const alert::Alert& alert) {
  now_[alert.id] = alert::to_wire(alert);
  if (now_.size() <= kMost) return;
  now_.erase(std::min_element(now_.begin(), now_.end(), [](const auto& a, const auto& b) {
    return a.second.onset_ns() < b.second.onset_ns();
  }));
}

const wire::Alert* SaidLive::said_now(const std::string& id) const {
  const auto found = now_.find(id);
  return found == now_.end() ? nullptr : &found->second;
}

void SaidLive::compare(TimeNs watermark, wire::WhatIf& out) const {
  for (const auto& [id, a] : now_)
    if (std::none_of(live_.begin(), live_.end(), [&](const wire::Alert& b) { return alike(a, b); }))
      out.add_only_now(id);
  std::vector<const wire::Alert*> only_live;
  for (const wire::Alert& a : live_)
    if (a.detected_ns() <= watermark.value &&
        std::none_of(now_.begin(), now_.end(), [&](const auto& b) { return alike(a, b.second); }))
      only_live.push_back(&a);
  for (std::size_t i = only_live.size() - std::min(only_live.size(), kMostTold); i < only_live.size(); ++i)
    *out.add_only_live() = *only_live[i];
}

}  // namespace margay::daemon
