#include "alertmanager_sink.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "margay/sinks/settings.h"
#include "text.h"

namespace margay::sinks {
namespace {

constexpr std::size_t kLongestLabel = 512;
constexpr std::size_t kLongestAnnotation = 2048;
constexpr std::size_t kMostListed = 16;

// "MargaySourceLost": by its kind, as Prometheus names alerts.
std::string alertname(alert::Kind kind) {
  std::string name = "Margay";
  bool upper = true;
  for (const char* c = alert::to_string(kind); *c != '\0'; ++c) {
    if (*c == '_') {
      upper = true;
      continue;
    }
    name += upper && *c >= 'a' && *c <= 'z' ? static_cast<char>(*c - 'a' + 'A') : *c;
    upper = false;
  }
  return name;
}

// Everything below the base, which may end with a slash.
std::string alerts_url(std::string base) {
  while (base.ends_with('/')) base.pop_back();
  return base + "/api/v2/alerts";
}

}  // namespace

std::string alertmanager_json(const Notice& n, TimeNs now, DurationNs hold) {
  const alert::Alert& a = n.alert;
  nlohmann::ordered_json j;
  // Empty ones are not sent: Alertmanager takes a label that is empty for one that is not there.
  const auto set = [&](const char* part, const char* name, std::string value, std::size_t most) {
    value = fit(std::move(value), most);
    if (!value.empty()) j[part][name] = std::move(value);
  };
  set("labels", "alertname", alertname(a.kind), kLongestLabel);
  set("labels", "kind", alert::to_string(a.kind), kLongestLabel);
  set("labels", "severity", to_string(urgency(a.kind)), kLongestLabel);
  set("labels", "run", a.run, kLongestLabel);
  set("labels", "node", n.node, kLongestLabel);
  set("labels", "alert_id", a.id, kLongestLabel);
  set("annotations", "summary", a.message.empty() ? alert::to_string(a.kind) : a.message, kLongestAnnotation);
  set("annotations", "likely_cause", listed(a.likely_cause, kMostListed), kLongestAnnotation);
  set("annotations", "cost_s", number_text(a.cost_s), kLongestAnnotation);
  set("annotations", "false_alarms_per_day", number_text(a.false_alarms_per_day), kLongestAnnotation);
  set("annotations", "affected", listed(a.affected, kMostListed), kLongestAnnotation);
  set("annotations", "phase", a.phase, kLongestAnnotation);
  set("annotations", "link", n.link, kLongestAnnotation);
  // It refuses an end before the begin, and takes one after its own now for one that fires.
  const TimeNs began = std::min(n.began, now);
  const bool firing = a.status == alert::Status::kFiring;
  const TimeNs ends = firing ? now + hold : std::min(n.end.value_or(now), now);
  j["startsAt"] = rfc3339(began);
  j["endsAt"] = rfc3339(std::max(ends, began));
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

AlertmanagerSink::AlertmanagerSink(HttpPost post, const Clock& clock, DurationNs repeat, DurationNs hold)
    : post_(std::move(post)), clock_(clock), repeat_(repeat), hold_(hold) {}

std::string AlertmanagerSink::where() const {
  return safe_url(post_.target().url);
}

void AlertmanagerSink::begin(const Notice& notice, TimeNs now) {
  if (notice.alert.status == alert::Status::kFiring)
    remember(notice);
  else
    forget(notice.alert.id);
  if (!open_.empty() && repeat_at_ == kNever) repeat_at_ = now + repeat_;
  post_.begin("[" + alertmanager_json(notice, clock_.realtime(), hold_) + "]");
}

std::optional<Outcome> AlertmanagerSink::progress(TimeNs) {
  return post_.progress();
}
void AlertmanagerSink::cut(TimeNs) {
  post_.cut();
}

void AlertmanagerSink::adopt(const Notice& notice) {
  remember(notice);
  repeat_at_ = TimeNs(0);  // at once: it may be long since it heard of it
}

TimeNs AlertmanagerSink::repeat_at() const {
  return repeat_at_;
}

void AlertmanagerSink::begin_repeat(TimeNs now) {
  repeat_at_ = now + repeat_;
  std::string all;
  for (const Notice& n : open_)
    all += (all.empty() ? "" : ",") + alertmanager_json(n, clock_.realtime(), hold_);
  post_.begin("[" + all + "]");
}

void AlertmanagerSink::remember(const Notice& notice) {
  std::erase_if(open_, [&](const Notice& n) { return n.alert.id == notice.alert.id; });
  open_.push_back(notice);
  if (open_.size() > kMostOpen) open_.pop_front();
}

void AlertmanagerSink::forget(const std::string& id) {
  std::erase_if(open_, [&](const Notice& n) { return n.alert.id == id; });
  if (open_.empty()) repeat_at_ = kNever;
}

bool wants_alertmanager(const Settings& s) {
  return !s.alertmanager.empty();
}
Result<std::unique_ptr<Sink>> make_alertmanager(const Settings& s, const Clock& clock) {
  auto post = HttpPost::make({alerts_url(s.alertmanager), s.alertmanager_headers, s.ca_file, s.time_limit});
  if (!post) return tl::unexpected(post.error());
  return std::make_unique<AlertmanagerSink>(std::move(*post), clock);
}

}  // namespace margay::sinks
