#include "margay/sinks/settings.h"

#include <algorithm>
#include <iterator>

#include "alertmanager_sink.h"
#include "command_sink.h"
#include "journal_sink.h"
#include "webhook_sink.h"

namespace margay::sinks {
namespace {

// Everything below the base, which may end with a slash.
std::string alerts_url(std::string base) {
  while (base.ends_with('/')) base.pop_back();
  return base + "/api/v2/alerts";
}

Result<std::unique_ptr<Sink>> command(const Settings& s, const Clock&) {
  auto sink = CommandSink::make(s.command);
  if (!sink) return tl::unexpected(sink.error());
  return std::move(*sink);
}
Result<std::unique_ptr<Sink>> webhook(const Settings& s, const Clock&) {
  auto post = HttpPost::make({s.webhook, s.webhook_headers, s.ca_file, s.time_limit});
  if (!post) return tl::unexpected(post.error());
  return std::make_unique<WebhookSink>(std::move(*post));
}
Result<std::unique_ptr<Sink>> alertmanager(const Settings& s, const Clock& clock) {
  auto post = HttpPost::make({alerts_url(s.alertmanager), s.alertmanager_headers, s.ca_file, s.time_limit});
  if (!post) return tl::unexpected(post.error());
  return std::make_unique<AlertmanagerSink>(std::move(*post), clock);
}
Result<std::unique_ptr<Sink>> journal(const Settings&, const Clock&) {
  return std::make_unique<JournalSink>();
}

// Every sink: the key that asks for it, whether these settings do, and how it is made then.
struct Row {
  const char* key;
  bool (*wanted)(const Settings&);
  Result<std::unique_ptr<Sink>> (*make)(const Settings&, const Clock&);
};
constexpr Row kSinks[] = {
    {"alerts.command", [](const Settings& s) { return !s.command.empty(); }, command},
    {"alerts.webhook", [](const Settings& s) { return !s.webhook.empty(); }, webhook},
    {"alerts.alertmanager", [](const Settings& s) { return !s.alertmanager.empty(); }, alertmanager},
    {"alerts.journal", [](const Settings& s) { return s.journal; }, journal},
};

}  // namespace

bool Settings::any() const {
  return std::any_of(std::begin(kSinks), std::end(kSinks), [&](const Row& row) { return row.wanted(*this); });
}

Result<std::vector<std::unique_ptr<Sink>>> make_sinks(const Settings& s, const Clock& clock) {
  std::vector<std::unique_ptr<Sink>> sinks;
  for (const Row& row : kSinks) {
    if (!row.wanted(s)) continue;
    auto sink = row.make(s, clock);
    if (!sink) return fail(sink.error(), row.key);
    sinks.push_back(std::move(*sink));
  }
  return sinks;
}

}  // namespace margay::sinks
